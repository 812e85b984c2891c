import Lade
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import Testing

/// The state of a member, event by event.
@Suite(.timeLimit(.minutes(5)))
struct FleetMemberTests {
    private let key = ServiceKey("api.example.com:443/v1")

    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    private func makeMember(_ change: (inout FleetMember.Settings) -> Void = { _ in }) -> FleetMember {
        var settings = FleetMember.Settings(fleet: "t", id: "id", name: "name")
        change(&settings)
        return FleetMember(settings, now: at(0))
    }

    private func joined(_ change: (inout FleetMember.Settings) -> Void = { _ in }, members: Int64 = 4) -> FleetMember {
        var member = makeMember(change)
        member.opened(at(0))
        member.reply(ScriptTests.beat(members: members), at(1))
        _ = member.take()
        return member
    }

    private var ask: RateOrder { .ask(RateAsk(key: key, count: 3, rate: .perSecond(10), holdsNone: true)) }

    /// The actions in words.
    private func words(_ member: inout FleetMember) -> [String] {
        let words = member.take().map { action in
            switch action {
            case .send(let command, _) where command.script == .beat && command.arguments[2] == "2": "send probe"
            case .send(let command, let asText): (asText ? "text " : "send ") + command.script.rawValue
            case .close: "close"
            case .move(let place): "move \(place)"
            case .refuse: "refuse"
            case .offer: ""
            case .board(let number, let reply): "reply \(number) \(reply == nil ? "none" : "some")"
            case .beatBoards: "beat boards"
            case .credentials(let number, let reply, _): "reply \(number) \(reply == nil ? "none" : "some")"
            case .news(_, let news):
                switch news {
                case .granted(_, let slots, _): "granted \(slots.count)"
                case .lost: "lost"
                case .joined(let members, _): "joined \(members)"
                case .members(let members, let active): "members \(members) \(active)"
                case .parted: "parted"
                case .alone(let members): "alone \(members)"
                case .gate: "gate"
                case .quota(_, let account, .granted(let slots, _, _, _, let isUsedUp)):
                    "quota of \(account ?? "all") \(slots.count)" + (isUsedUp ? " used up" : "")
                case .quota(_, let account, let news): "quota of \(account ?? "all") \(news)"
                case .quotaAnnounced(let key, let rest): "announced \(key) \(rest)"
                case .void: "void"
                case .event(let event): EventFacts(event).name
                }
            }
        }
        return words.filter { !$0.isEmpty }
    }

    @Test("fleet RD-15 a member beats each 300 ms, whether calls wait or not")
    func beats() {
        var member = joined()
        #expect(member.due == at(300))
        member.tick(at(300), hasDemand: true)
        #expect(words(&member) == ["send beat"])
    }

    @Test("fleet RD-06 RD-59 orders for credentials wait two seconds for the connection, and as long for a reply")
    func credentials() {
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        let record = SharedRecord(name: "t", sharer: 1, rules: rules)
        var member = makeMember()
        member.order(.forget, of: record, number: 1, at(0))
        #expect(words(&member) == [])
        #expect(member.due == at(2_000))
        member.tick(at(2_000), hasDemand: false)
        #expect(words(&member) == ["reply 1 none"])

        member.order(.forget, of: record, number: 2, at(2_500))
        member.opened(at(3_000))
        #expect(words(&member) == ["send beat", "send credentials"])
        member.reply(ScriptTests.beat(), at(3_001))
        _ = member.take()
        member.reply(.list(ScriptTests.texts(["1000000", "done"])), at(3_900))
        #expect(words(&member) == ["reply 2 some"])

        member.order(.forget, of: record, number: 3, at(3_950))
        _ = member.take()
        #expect(member.due == at(3_300))
        member.tick(at(5_950), hasDemand: false)
        #expect(words(&member).contains("reply 3 none"))
    }

    @Test("fleet RD-75 RD-06 the leases of boards are extended each third of their time, whether pages arrive or not")
    func boards() {
        let record = BoardRecord(name: "run", worker: "w", lease: .seconds(30))
        var member = joined()
        member.order(.claim(epoch: 1), of: record, number: 1, at(100))
        #expect(words(&member) == ["send board"])
        member.reply(.list(ScriptTests.texts(["1000000", "nothing", "complete"])), at(101))
        #expect(words(&member) == ["reply 1 some"])
        // The beat of the member itself has no reply here.
        member.tick(at(10_099), hasDemand: true)
        #expect(!words(&member).contains("beat boards"))
        member.tick(at(10_100), hasDemand: true)
        #expect(words(&member) == ["beat boards"])
        member.order(.beat(epoch: 1, fences: [:], merge: nil), of: record, number: 2, at(10_100))
        #expect(words(&member) == ["send board"])
        member.tick(at(12_100), hasDemand: true)
        #expect(words(&member).contains("reply 2 none"))
        // A new connection extends them first.
        member.opened(at(13_000))
        member.tick(at(13_000), hasDemand: true)
        #expect(words(&member).contains("beat boards"))

        member.order(.claim(epoch: 1), of: record, number: 3, at(13_010))
        _ = member.take()
        member.reply(ScriptTests.beat(), at(13_020))
        _ = member.take()
        // A lease of another epoch, or of no number, is none.
        member.reply(
            .list(ScriptTests.texts(["1000000", "lease", "0", "-1", "4", "0", "1", "1", "", "-", "-"])),
            at(13_030)
        )
        #expect(words(&member).contains("close") && !member.isJoined)
    }

    @Test("fleet RD-06 a late reply closes the connection, and what it may have granted is lost")
    func lateReply() {
        var member = joined()
        member.order(ask, of: 1, at(10))
        _ = member.take()
        #expect(member.due == at(110))
        member.tick(at(110), hasDemand: true)
        #expect(words(&member) == ["close", "lost", "parted"])
    }

    @Test("fleet RD-08 a script that the store does not know is sent as text with the same arguments")
    func unknownScript() {
        var member = joined()
        member.order(ask, of: 1, at(10))
        _ = member.take()
        member.reply(.error("NOSCRIPT No matching script"), at(11))
        #expect(words(&member) == ["text ask"])
        member.reply(ScriptTests.ask(count: 3), at(12))
        #expect(words(&member).contains("granted 3"))
    }

    @Test("fleet RD-39 a member is alone 1.3 s after the last contact, with the most members known")
    func alone() {
        var member = joined(members: 8)
        member.closed(at(500))
        #expect(words(&member) == ["parted"])
        member.tick(at(1_300), hasDemand: true)
        #expect(words(&member).isEmpty)
        member.tick(at(1_301), hasDemand: true)
        #expect(words(&member) == ["alone 8", "fleetAlone"])
        #expect(member.isAlone)
        member.opened(at(2_000))
        member.reply(ScriptTests.beat(members: 2, after: 2_000), at(2_001))
        #expect(words(&member) == ["send probe", "joined 2", "fleetRejoined", "send beat"])
    }

    @Test("fleet RD-42 a member that calls at its share probes the store, and counts only when it joins")
    func probes() {
        var member = joined(members: 8)
        member.order(ask, of: 1, at(10))
        member.tick(at(200), hasDemand: true)
        member.tick(at(1_301), hasDemand: true)
        _ = member.take()
        member.opened(at(2_000))
        for beat in 0..<2 {
            member.reply(ScriptTests.beat(members: 7, after: 2_000 + beat * 300), at(2_001 + Int64(beat) * 300))
            member.tick(at(2_300 + Int64(beat) * 300), hasDemand: true)
        }
        #expect(words(&member) == ["send probe", "send probe", "send probe"])
        member.reply(ScriptTests.beat(members: 7, after: 2_600), at(2_601))
        #expect(words(&member) == ["joined 7", "fleetRejoined", "send beat"])
    }

    @Test("fleet RD-01 RD-39 the declared number of members counts for one that is alone")
    func declared() {
        var member = joined({ $0.declared = 20 }, members: 1)
        member.closed(at(500))
        member.tick(at(2_000), hasDemand: true)
        #expect(words(&member).contains("alone 20"))
    }

    @Test("fleet RD-40 a member without contact has no share, and one may hold its calls")
    func hold() {
        var member = makeMember()
        member.closed(at(10))
        member.tick(at(60_000), hasDemand: true)
        #expect(words(&member).isEmpty)
        var holding = joined({ $0.sharesAlone = false })
        holding.closed(at(10))
        holding.tick(at(60_000), hasDemand: true)
        #expect(words(&holding) == ["parted"])
    }

    @Test("fleet RD-47 a store that was too slow must respond three times in a row")
    func slow() {
        var member = joined()
        member.tick(at(300), hasDemand: true)
        member.tick(at(400), hasDemand: true)
        _ = member.take()
        member.opened(at(500))
        member.reply(ScriptTests.beat(), at(501))
        member.tick(at(800), hasDemand: true)
        member.reply(ScriptTests.beat(), at(801))
        #expect(!words(&member).contains { $0.hasPrefix("joined") })
        member.tick(at(1_100), hasDemand: true)
        member.reply(ScriptTests.beat(), at(1_101))
        #expect(words(&member).contains("joined 1"))
    }

    @Test("fleet RD-09 a node of a cluster that names another is left for it, and what an ask was granted is lost")
    func moved() {
        var member = joined()
        member.order(ask, of: 1, at(10))
        _ = member.take()
        member.reply(.error("MOVED 866 127.0.0.1:7001"), at(11))
        #expect(words(&member) == ["move 127.0.0.1:7001", "lost", "parted"])
    }

    @Test("fleet RD-06 the first reply of a connection has a second, and later ones four times the shortest")
    func farStore() {
        var member = makeMember()
        member.opened(at(0))
        member.reply(ScriptTests.beat(), at(250))
        _ = member.take()
        member.tick(at(300), hasDemand: true)
        #expect(words(&member) == ["send beat"])
        member.tick(at(1_290), hasDemand: true)
        #expect(words(&member).allSatisfy { $0 == "send beat" })
        member.tick(at(1_300), hasDemand: true)
        #expect(words(&member).first == "close")
    }

    @Test("fleet RD-47 a store that takes more than 200 ms is reported once")
    func coarse() {
        var member = makeMember()
        member.opened(at(0))
        var events: [String] = []
        for number in 0..<5 as Range<Int64> {
            member.reply(ScriptTests.beat(second: 1_000), at(300 * number + 250))
            member.tick(at(300 * number + 300), hasDemand: true)
            events += words(&member).filter { $0 == "fleetCoarse" }
        }
        #expect(events == ["fleetCoarse"])
    }

    @Test("fleet RD-48 a member that is alone for longer than its share is kept says so once")
    func split() {
        var member = joined(members: 8)
        member.closed(at(500))
        member.tick(at(1_400), hasDemand: true)
        #expect(words(&member).contains("alone 8"))
        #expect(member.due == at(60_001))
        member.tick(at(60_001), hasDemand: true)
        #expect(words(&member) == ["fleetSplit"])
        member.tick(at(61_000), hasDemand: true)
        #expect(words(&member).isEmpty)
    }

    @Test("fleet RD-13 a member without calls for a minute leaves, and joins again with its next ask")
    func idle() {
        var member = joined({ $0.lapse = .seconds(1) })
        var now: Int64 = 300
        while now < 60_300 {
            member.tick(at(now), hasDemand: false)
            let sent = words(&member)
            if sent == ["send leave"] { break }
            member.reply(ScriptTests.beat(members: 4, second: 1_000), at(now + 1))
            _ = member.take()
            now += 300
        }
        #expect(now >= 60_000 && now <= 60_300)
        member.reply(.integer(1), at(now + 1))
        member.order(ask, of: 1, at(now + 1_000))
        #expect(words(&member) == ["send beat", "send ask"])
    }

    @Test("fleet RD-14 a member whose name is heard takes a name of its own")
    func clash() {
        var member = makeMember()
        member.opened(at(0))
        _ = member.take()
        guard case .list(var items) = ScriptTests.beat() else { return }
        items[5] = .integer(1)
        member.reply(.list(items), at(1))
        #expect(words(&member).suffix(3) == ["send leave", "fleetFault", "send beat"])
        #expect(member.settings.name == "name-id")
    }

    @Test("fleet RD-34 RD-111 a delay of another member is passed on, and one with a wrong digest is not")
    func gates() {
        var member = makeMember()
        member.opened(at(0))
        member.reply(ScriptTests.beat(gates: ["00", "1030000000", key.description]), at(1))
        #expect(!words(&member).contains("gate"))
        var other = makeMember()
        var commands = ScriptTests.commands(of: &other)
        commands.removeAll { $0.script != .gate }
        let digest = commands[0].arguments[0]
        member.tick(at(301), hasDemand: true)
        member.reply(ScriptTests.beat(gates: [digest, "1030000000", key.description]), at(302))
        #expect(words(&member).contains("gate"))
    }

    @Test("fleet RD-36 RD-37 readings of other members reach the accounts that they concern")
    func quotas() {
        var member = joined()
        var ask = QuotaAsk(key: key, account: "a")
        ask.count = 2
        member.order(.quota(ask), of: 1, at(10))
        guard case .send(let command, _)? = member.take().first else {
            Issue.record("nothing is sent")
            return
        }
        #expect(command.script == .quota && !command.arguments.contains("a"))
        let digest = command.arguments[8]
        func reply(_ known: Int64, _ count: Int64, usedUp: Int64 = 0) -> StoreReply {
            .list(
                ScriptTests.texts(["1000010000"]) + [.integer(known), .integer(count)]
                    + ScriptTests.texts(["1000010000", "1000.000", "1030000000"]) + [.integer(usedUp), .integer(1)]
            )
        }
        member.reply(reply(1, 2), at(11))
        #expect(words(&member) == ["quota of a 2"])
        member.order(.quota(ask), of: 1, at(12))
        _ = member.take()
        member.reply(reply(0, 0), at(13))
        #expect(words(&member) == ["quota of a none"])
        member.tick(at(301), hasDemand: true)
        let notices = ["q" + digest, "x" + digest, "x00"].flatMap { [$0, "1030000000", key.description] }
        member.reply(ScriptTests.beat(members: 4, after: 301, gates: notices), at(302))
        let found = words(&member)
        #expect(found.contains { $0.hasPrefix("announced") } && found.contains { $0.hasPrefix("quota of a usedUp") })
        #expect(found.count == 3, "\(found)")
        // More slots than were asked for are a fault.
        member.order(.quota(ask), of: 1, at(303))
        _ = member.take()
        member.reply(reply(1, 3), at(304))
        #expect(words(&member).first == "fleetFault")
    }

    @Test("fleet RD-43 RD-46 a lost store and a clock that jumps are reported")
    func losses() {
        var member = joined()
        member.tick(at(300), hasDemand: true)
        member.reply(ScriptTests.beat(members: 4, after: 300, born: 2), at(301))
        #expect(words(&member).contains("fleetLost"))
        member.tick(at(600), hasDemand: true)
        member.reply(ScriptTests.beat(members: 4, second: 2_000, born: 2), at(601))
        #expect(words(&member).contains("fleetClockJumped"))
    }

    @Test("fleet RD-111 replies at random end no process, and grant no more than was asked for")
    func hostile() {
        let random = SeededRandom(seed: 4)
        func reply(_ depth: Int) -> StoreReply {
            switch random.next() % 7 {
            case 0: .integer(Int64(bitPattern: random.next()))
            case 1: .text(Array("\(random.next() % 100_000)".utf8))
            case 2: .text([UInt8(truncatingIfNeeded: random.next())])
            case 3: .error("ERR x")
            case 4: .nothing
            default:
                depth == 2
                    ? .integer(1) : .list((0..<[7, 11, 3][Int(random.next() % 3)]).map { _ in reply(depth + 1) })
            }
        }
        var member = makeMember()
        var now: Int64 = 0
        for _ in 0..<20_000 {
            now += Int64(random.next() % 50)
            switch random.next() % 4 {
            case 0: member.opened(at(now))
            case 1: member.order(ask, of: 1, at(now))
            case 2: member.reply(random.next() % 3 == 0 ? ScriptTests.ask(count: 3) : reply(0), at(now))
            default: member.tick(at(now), hasDemand: true)
            }
            for word in words(&member) where word.hasPrefix("granted") { #expect(word <= "granted 3") }
        }
    }

    @Test("fleet RD-22 slots are never early, and late by the shortest way of a reply at most")
    func clock() {
        let random = SeededRandom(seed: 2)
        var clock = StoreClock()
        var now = 1_000_000_000.0
        for step in 0..<2_000 {
            let (there, back) = (random.unit() * 5e6 + 2e5, random.unit() * 5e6 + 2e5)
            let sent = Instant(nanoseconds: Int64(now))
            let store = (now + there) / 1_000 + 5e9
            let received = Instant(nanoseconds: Int64(now + there + back))
            #expect(clock.note(store.rounded(.down), sent: sent, received: received) == nil)
            now += there + back + 3e8
            guard step > 200, let local = clock.local(now / 1_000 + 5e9) else { continue }
            let error = Double(local.nanoseconds) - now
            #expect(error >= -1_000 && error < 1_500_000, "step \(step): \(error)")
        }
    }
}
