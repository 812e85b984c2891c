import Foundation
import Lade
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// The scripts on a real server.
@Suite(.timeLimit(.minutes(10)))
struct ScriptTests {
    /// Makes the commands of random members.
    private struct Trace {
        let random: SeededRandom
        var ends: [String: String] = [:]
        var born = ""
        /// The last window of each quota.
        var windows: [String: String] = [:]
        /// The last version and fence of credentials.
        var version = "0"
        var fence = "0"

        /// An order for credentials, of which many make no sense.
        private func credentials(_ me: String, _ base: String) -> FleetMember.Command {
            func pick(_ texts: String...) -> String { texts[Int(random.next() % UInt64(texts.count))] }
            let value = pick("a", "b", "")
            var arguments: [String]
            switch random.next() % 12 {
            case 0, 1, 2: arguments = ["sending", me, pick(fence, fence, "5"), pick("0", "1", "900000000")]
            case 3, 4:
                arguments = [
                    "put", me, pick(version, version, "", "7"), pick("a", "b"), pick("", "0", "300", "9000000"),
                ]
            case 5, 6:
                arguments = ["fail", me, pick(fence, fence, "5"), pick("user x", "y"), pick("", "-1", "100", "400")]
                arguments += ["700", "300"]
            case 7 where random.next() % 4 == 0: arguments = ["forget", me]
            default:
                arguments = [
                    pick("take", "take", "take", "offer"), me, pick(version, version, "0", "9000000000000000"),
                ]
                if arguments[2] == "9000000000000000", random.next() % 50 > 0 { arguments[2] = "1" }
                arguments += [value, pick("", "0", "400"), random.next() % 20 == 0 ? fence : "0", "500"]
                arguments += [pick("500", "40000000"), pick("0", "400", "60000000"), "4", "3000", pick("0", "1")]
            }
            let keys = [base + "t:x", base + "k", base + "m"]
            return FleetMember.Command(script: .credentials, keys: keys, arguments: arguments)
        }

        /// News of a quota, whose windows are short.
        private func quota(_ digest: String, _ base: String) -> FleetMember.Command {
            func pick(_ texts: String...) -> String { texts[Int(random.next() % UInt64(texts.count))] }
            let reading = [pick("0", "3", "20", "100"), pick("0", "40000", "1000000", "3000000"), pick("0", "2")]
            let window = pick(windows[digest] ?? "0", "7")
            return FleetMember.Command(
                script: .quota,
                keys: [base + "q:" + digest, base + "g", base + "k"],
                arguments: [
                    pick("0", "1", "5", "64"), pick("0", "1"), "250000", pick("1", "8"), pick("0", "0", "2"), window,
                    pick("0.100", "0.500"), pick("0", "5"), digest, "key " + digest, "4", pick("", "100"),
                    pick("", "333.333", "20000.000"),
                ] + (random.next() % 3 == 0 ? reading : ["", "", ""])
            )
        }

        mutating func next() -> FleetMember.Command {
            let base = "lade:1:{t}:"
            let digest = ["aa", "bb", "cc"][Int(random.next() % 3)]
            let me = "m\(random.next() % 3) i\(random.next() % 4)"
            let interval = ["333.333", "1000.000", "12345.678", "250000.000"][Int(random.next() % 4)]
            switch random.next() % 26 {
            case 20...: return quota(digest, base)
            case 5, 6, 7, 8, 9: return credentials("\(me) \(random.next() % 2)", base)
            case 0: return FleetMember.Command(script: .leave, keys: [base + "m", base + "k"], arguments: [me])
            case 1:
                return FleetMember.Command(
                    script: .gate,
                    keys: [base + "g", base + "k", base + "l:" + digest],
                    arguments: [
                        digest, "\(random.next() % 3_000)", "key " + digest, interval, "\(1 + random.next() % 3)", "2",
                    ]
                )
            case 2:
                return FleetMember.Command(
                    script: .giveBack,
                    keys: [base + "l:" + digest],
                    arguments: [ends[digest] ?? "0", "\(random.next() % 1_000).500"]
                )
            case 3, 4:
                return FleetMember.Command(
                    script: .beat,
                    keys: [base + "m", base + "k", base + "g"],
                    arguments: [
                        me, String(me.prefix(2)), "\(random.next() % 3)", "\(1 + random.next() % 9)", "2000", "20000",
                        "\(random.next() % 5)", random.next() % 2 == 0 ? born : "",
                    ]
                )
            default:
                return FleetMember.Command(
                    script: .ask,
                    keys: [base + "m", base + "k", base + "g", base + "l:" + digest],
                    arguments: [
                        me, "\(1 + random.next() % 9)", "2000", "20000", interval, "\(1 + random.next() % 3)",
                        "\(1 + random.next() % 80)", random.next() % 3 == 0 ? ends[digest] ?? "0" : "0",
                        "\(random.next() % 2)", "250000", "1000", digest, "key " + digest, "64",
                        random.next() % 2 == 0 ? born : "", random.next() % 4 == 0 ? "7" : "1",
                    ]
                )
            }
        }
    }

    private static let persisting = "for i = 1, #KEYS do redis.call('PERSIST', KEYS[i]) end"

    @Test(
        "fleet RD-124 random traces give the same replies on the server and in the model",
        arguments: StoreServer.Kind.allCases
    )
    func model(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let seed = Soak.current.seed(for: "ScriptTests.model")
        let client = StoreClient(server.path)
        var trace = Trace(random: SeededRandom(seed: seed))
        var model = StoreModel()
        for await step in Soak.turns(Soak.current.rounds(of: 100_000, few: 3_000)) {
            let command = trace.next()
            let reply = try #require(client.run(command))
            // The model has no end of keys, which come in a run of more than a minute.
            _ = client.command(["EVAL", Self.persisting, "\(command.keys.count)"] + command.keys)
            // The model has the time of the reply; commands without one are independent of it, or nearly.
            guard case .list(let items) = reply, let now = items.first?.number else {
                guard command.script != .gate else {
                    // The end of a delay depends on the time, so the next comparison would differ by it.
                    _ = client.command(["DEL", "lade:1:{t}:g"])
                    _ = client.command(["HDEL", "lade:1:{t}:k", "gs"])
                    _ = client.command(["DEL", command.keys[2]])
                    model.forgetGates(limit: command.keys[2])
                    continue
                }
                #expect(model.run(command, now: 0) == reply, "seed \(seed), step \(step): \(command)")
                continue
            }
            let expected = Self.sorted(model.run(command, now: now))
            let given = Self.sorted(reply)
            #expect(expected == given, "seed \(seed), step \(step): \(command)")
            guard expected == given else { return }
            if command.script == .credentials, items[1].string == "lease" || items[1].string == "use" {
                let isLease = items[1].string == "lease"
                if isLease { trace.fence = items[2].string ?? "" }
                trace.version = items[isLease ? 3 : 2].string ?? ""
            }
            if command.script == .quota { trace.windows[command.arguments[8]] = items[7].number.map { "\(Int($0))" } }
            if command.script == .ask, let end = items[4].string, let born = items[10].string {
                trace.ends[command.arguments[11]] = end
                trace.born = born
            }
        }
    }

    /// The reply to a beat with its delays in one order.
    private static func sorted(_ reply: StoreReply) -> StoreReply {
        guard case .list(var items) = reply, items.count == 7, case .list(let delays) = items[6] else { return reply }
        let triples = stride(from: 0, to: delays.count, by: 3).map { Array(delays[$0..<$0 + 3]) }
        items[6] = .list(triples.sorted { $0[0].string ?? "" < $1[0].string ?? "" }.flatMap(\.self))
        return .list(items)
    }

    @Test("fleet RD-09 RD-30 every key of a script is declared, has the tag of the fleet, and names no account")
    func keys() throws {
        var settings = FleetMember.Settings(fleet: "shows", id: "id", name: "name")
        settings.declared = 1
        var member = FleetMember(settings, now: Instant(nanoseconds: 0))
        let commands = Self.commands(of: &member)
        #expect(Set(commands.map(\.script)) == Set(StoreScript.allCases))
        #expect(commands.allSatisfy { $0.keys.allSatisfy { $0.hasPrefix("lade:1:{shows}:") } })
        for script in StoreScript.allCases {
            for part in script.text.split(separator: "redis.").dropFirst() {
                // The key of every command is an argument of the script.
                #expect(
                    part.hasPrefix("call('TIME'") || part.contains("KEYS[") || part.contains("key"),
                    "\(script): \(part.prefix(60))"
                )
            }
        }
    }

    @Test("fleet RD-10 RD-11 instants are whole microseconds, and every key expires")
    func expiry() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        var member = FleetMember(FleetMember.Settings(fleet: "t", id: "i", name: "n"), now: Instant(nanoseconds: 0))
        for command in Self.commands(of: &member) where command.script != .leave { _ = client.run(command) }
        guard case .list(let keys) = client.command(["KEYS", "*"]) else {
            Issue.record("no keys")
            return
        }
        #expect(keys.count == 8)
        for key in keys {
            let left = try #require(client.command(["PTTL", key.string ?? ""])?.number)
            // Tokens are kept for 30 days after their end.
            let isToken = key.string?.contains(":t:") == true
            // A run is kept for 7 days.
            let isRun = key.string?.contains(":r:") == true || key.string?.contains(":rw:") == true
            let most = isToken ? 30 * 86_400_000.0 + 600_000 : isRun ? 7 * 86_400_000.0 : 3_700_000
            #expect(left > 0 && left <= most, "\(key)")
        }
        let born = try #require(client.command(["HGET", "lade:1:{t}:k", "born"])?.string)
        #expect(born.count == 16 && born.allSatisfy(\.isNumber))
    }

    @Test("fleet RD-12 an error of an old store says which versions can be used")
    func old() {
        #expect(StoreRefusal("ERR syntax error script: x", isFirst: true)?.reason.contains("Redis 6.2") == true)
        #expect(StoreRefusal("ERR Write commands not allowed from script: TIME", isFirst: true) != nil)
        #expect(StoreRefusal("ERR syntax error script: x", isFirst: false) == nil)
    }

    /// The rights of a member's user.
    static let rights =
        ("+evalsha +eval +script|load +time +hmget +hget +hset +hdel +hlen +hgetall +hincrby +del +type +zadd +zrem "
        + "+zrange +zscore +zcard +zcount +zremrangebyscore +pexpire +pttl").split(separator: " ").map(String.init)

    @Test("fleet RD-45 what a member says of its last slot moves the limit no further than its own slots reach")
    func witness() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        func ask(_ witness: String) throws -> [StoreReply] {
            let command = FleetMember.Command(
                script: .ask,
                keys: ["m", "k", "g", "l:aa"].map { "lade:1:{t}:" + $0 },
                arguments: [
                    "m i", "1", "1000000", "60000000", "10000.000", "1", "1", witness, "1", "250000", "0", "aa", "key",
                    "64", "", "1",
                ]
            )
            guard case .list(let items)? = client.run(command) else { return [] }
            return items
        }
        _ = try ask("0")
        let items = try ask("9000000000000000")
        let (now, base) = (try #require(items.first?.number), try #require(items.dropFirst().first?.number))
        // The horizon and one interval.
        #expect(base > now && base <= now + 260_000)
        #expect(items[7] == .integer(1))
    }

    @Test("fleet RD-115 the fields in the store are those of every version with this number")
    func fields() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        var member = FleetMember(FleetMember.Settings(fleet: "t", id: "i", name: "n"), now: Instant(nanoseconds: 0))
        let commands = Self.commands(of: &member).filter { $0.script != .leave }
        for command in commands { _ = client.run(command) }
        func fields(_ key: String) -> [String] {
            guard case .list(let fields)? = client.command(["HKEYS", key]) else { return [] }
            return fields.compactMap(\.string).sorted()
        }
        let limit = try #require(commands.first { $0.script == .ask }?.keys.last)
        #expect(fields(limit) == ["it", "iv", "iw", "name", "seen", "tat", "top"])
        let quota = try #require(commands.first { $0.script == .quota }?.keys.first)
        #expect(fields(quota) == ["early", "got", "last", "left", "limit", "name", "rest", "seen", "w"])
        let record = try #require(commands.first { $0.script == .credentials }?.keys.first)
        #expect(fields(record) == ["by", "c", "end", "fn", "st", "tk", "v", "val"])
        let run = try #require(commands.first { $0.script == .board }?.keys)
        #expect(fields(run[0]) == ["c", "ck", "d", "e", "es", "la", "li", "n", "rs", "st", "w", "x", "z"])
        #expect(fields(run[1]) == ["t"])
        #expect(fields("lade:1:{t}:k") == ["born", "gs", "least", "seen"])
        #expect(client.command(["ZRANGE", "lade:1:{t}:m", "0", "-1"]) == .list([.text(Array("n i".utf8))]))
        let delays = client.command(["HGETALL", "lade:1:{t}:g"])
        guard case .list(let items)? = delays, items.count == 4, let value = items[1].string else {
            Issue.record("\(String(describing: delays))")
            return
        }
        // The end, the number in the sequence, and the service.
        #expect(value.split(separator: " ").count == 3 && value.hasSuffix(" api.example.com:443/v1"))
        // A quota that has been read.
        #expect(items[2].string == quota.split(separator: ":").last.map { "q" + $0 })
    }

    @Test("fleet RD-113 RD-07 a user with the least rights is enough, and one with fewer is named")
    func rightsOfScripts() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        let line = ["ACL", "SETUSER", "lade", "on", ">secret", "~lade:1:{t}:*"] + Self.rights
        #expect(client.command(line) == .status("OK"))
        let other = StoreClient(server.path)
        #expect(other.command(["AUTH", "lade", "secret"]) == .status("OK"))
        var member = FleetMember(FleetMember.Settings(fleet: "t", id: "i", name: "n"), now: Instant(nanoseconds: 0))
        for command in Self.commands(of: &member) {
            let reply = try #require(other.run(command))
            if case .error(let text) = reply { Issue.record("\(command.script): \(text)") }
        }
        #expect(client.command(["ACL", "SETUSER", "lade", "-zadd"]) == .status("OK"))
        var next = FleetMember(FleetMember.Settings(fleet: "t", id: "i", name: "n"), now: Instant(nanoseconds: 0))
        guard case .error(let text)? = Self.commands(of: &next).first.flatMap({ other.run($0) }) else {
            Issue.record("not refused")
            return
        }
        guard case .right? = StoreRefusal(text, isFirst: true) else {
            Issue.record("\(text)")
            return
        }
    }

    /// A command of each kind, as a member sends it.
    static func commands(of member: inout FleetMember) -> [FleetMember.Command] {
        let now = Instant(nanoseconds: 0)
        var found: [FleetMember.Command] = []
        func take() {
            for action in member.take() { if case .send(let command, _) = action { found.append(command) } }
        }
        member.opened(now)
        take()
        member.reply(Self.beat(), now)
        let rate = RateLimits.Rate(perSecond: 10)
        let key = ServiceKey("api.example.com:443/v1")
        member.order(.ask(RateAsk(key: key, count: 3, rate: rate, holdsNone: true)), of: 1, now)
        take()
        member.reply(Self.ask(count: 2), now)
        member.order(.gate(key, for: .seconds(1), rate: rate), of: 1, now)
        member.order(.giveBack(key, count: 1), of: 1, now)
        var quota = QuotaAsk(key: key, account: "me@example.com")
        quota.reading = QuotaAsk.Reading(remaining: 20, reset: .seconds(30), inFlight: 0)
        (quota.count, quota.limit, quota.interval) = (2, 100, .seconds(1))
        member.order(.quota(quota), of: 1, now)
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        let record = SharedRecord(name: "tokens", sharer: 1, rules: rules)
        member.order(.put(base: nil, Secret("t"), life: .seconds(600)), of: record, number: 1, now)
        let board = BoardRecord(name: "run", worker: "n", lease: .seconds(30))
        let run = BoardRun(digest: "d", text: "t")
        member.order(.open(run, .join, epoch: 1, lost: nil), of: board, number: 2, now)
        member.leave(now)
        take()
        return found
    }

    static func texts(_ texts: [String]) -> [StoreReply] { texts.map { .text(Array($0.utf8)) } }

    /// The reply to a beat at so many milliseconds after a second of the store.
    static func beat(
        members: Int64 = 1,
        active: Int64? = nil,
        second: Int = 1_000,
        after milliseconds: Int = 0,
        born: Int = 1,
        gates: [String] = []
    ) -> StoreReply {
        .list(
            Self.texts(["\(second * 1_000 + milliseconds)000"]) + [.integer(members), .integer(active ?? members)]
                + Self.texts(["\(born)"])
                + [.integer(0), .integer(0), .list(Self.texts(gates))]
        )
    }

    static func ask(count: Int64, second: Int = 1_000) -> StoreReply {
        .list(
            Self.texts(["\(second)000000", "\(second)000000", "100000.000"]) + [.integer(count)]
                + Self.texts(["\(second)000000"]) + [.integer(1), .integer(1), .integer(0), .integer(0)]
                + Self.texts(["0", "1"])
        )
    }
}
