import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import SharedDoubles
import Testing

/// All interleavings of members that renew credentials, with the store as its model.
@Suite(.timeLimit(.minutes(5)))
struct CredentialModelTests {
    /// The number of faults of each kind.
    struct Faults: Hashable, CustomTestStringConvertible {
        var kills = 0
        var stops = 0
        var losses = 0
        /// Tokens end as soon as they are published, so that a refresh starts from one that its member never used.
        var endsTokens = false
        var testDescription: String {
            "\(kills) kills, \(stops) stops, \(losses) losses" + (endsTokens ? ", tokens that end" : "")
        }
    }

    private enum Step: Hashable {
        case idle
        /// An order is on its way to the store.
        case order(CredentialOrder, sent: Double)
        /// A reply has arrived; one that says to wait, with what the store was then.
        case reply(CredentialReply?, sent: Double, seen: CredentialModel?)
        case waiting(seen: CredentialModel, at: Double)
        /// A refresh token is on its way to the server, which it reaches before the deadline of the refresh.
        case request(Int, until: Double)
        case response(Int)
        case done
    }

    private enum Life: Hashable {
        case running
        case stopped
        case dead
    }

    private struct Member: Hashable {
        var number: Int
        var life = Life.running
        var version = 0
        var token = 0
        var refresh: SharedRefresh?
        var step = Step.idle
        /// Whether the store has lost its contents, and this member has not offered its own yet.
        var mustOffer = false
    }

    private struct World: Hashable {
        var store = CredentialModel()
        var now = 10_000_000.0
        var born = 0.0
        var members: [Member]
        /// The newest token of the server.
        var server = 0
        /// The first member that sent each token, and the end of its lease.
        var users: [Int?] = Array(repeating: nil, count: 9)
        var leaseEnds = Array(repeating: 0.0, count: 9)
        var faults: Faults
    }

    private static let goal = 2
    private static let rules: CredentialRules = {
        var settings = Authorisation.RefreshSettings()
        settings.limit = 1_000
        return CredentialRules(settings, isReusable: false, hasUser: true)
    }()

    /// The worlds that can follow; a violation ends the search.
    private struct Search {
        var states = 0
        var steps = 0
        var violations: Set<String> = []

        mutating func run(_ start: World, stopsAtFirst: Bool) {
            var seen: Set<Int> = [start.hashValue]
            var open = [start]
            while let world = open.popLast() {
                states += 1
                var hasNext = false
                for next in successors(of: world) {
                    hasNext = true
                    steps += 1
                    if seen.insert(next.hashValue).inserted { open.append(next) }
                }
                if !hasNext, world.members.contains(where: { $0.life == .running && $0.step != .done }) {
                    violations.insert("a dead end")
                }
                if stopsAtFirst, !violations.isEmpty { return }
            }
        }

        private mutating func successors(of world: World) -> [World] {
            var found: [World] = []
            for index in world.members.indices {
                for var next in moves(of: index, in: world) where next != world {
                    next.members.sort { $0.number < $1.number }
                    found.append(next)
                }
            }
            if let next = tick(world) { found.append(next) }
            if world.faults.losses > 0 {
                var next = world
                next.faults.losses -= 1
                let broken = next.store.broken
                next.store = CredentialModel()
                next.store.broken = broken
                next.born = next.now
                for index in next.members.indices {
                    next.members[index].mustOffer = next.members[index].life == .running
                }
                found.append(next)
            }
            return found
        }

        /// The steps and faults of one member.
        private mutating func moves(of index: Int, in world: World) -> [World] {
            var found: [World] = []
            let member = world.members[index]
            func add(_ change: (inout World) -> Void) {
                var next = world
                change(&next)
                found.append(next)
            }
            // An order that was sent arrives, whatever happens to its sender.
            if case .request(let token, _) = member.step { found.append(serve(token, index, world)) }
            if case .order(let order, let sent) = member.step {
                var next = world
                execute(order, sent, index, &next)
                found.append(next)
            }
            switch member.life {
            case .dead: return found
            case .stopped: add { $0.members[index].life = .running }
            case .running:
                if world.faults.kills > 0, member.step != .done {
                    add {
                        $0.members[index].life = .dead
                        $0.faults.kills -= 1
                    }
                }
                if world.faults.stops > 0, member.step != .done {
                    add {
                        $0.members[index].life = .stopped
                        $0.faults.stops -= 1
                    }
                }
                // A reply precedes the beat that finds the loss.
                let hasReply = if case .reply = member.step { true } else { false }
                if member.mustOffer, !hasReply { add { Self.offer(index, &$0) } }
                if let next = proceed(index, world) { found.append(next) }
            }
            return found
        }

        private static func arguments(_ order: CredentialOrder, _ index: Int) -> [String] {
            SharedRecord(name: "t", sharer: 1, rules: CredentialModelTests.rules).arguments(
                of: order,
                me: "m\(index) i\(index)"
            )
        }

        private mutating func execute(_ order: CredentialOrder, _ sent: Double, _ index: Int, _ world: inout World) {
            let names = world.members.map { "m\($0.number) i\($0.number)" }
            let before = Self.token(world.store.value)
            let reply = world.store.run(Self.arguments(order, index), now: world.now, born: world.born, members: names)
            if Self.token(world.store.value) < before { violations.insert("an older token replaces a newer one") }
            let read = CredentialReply(reply)
            let isWait = if case .wait = read { true } else { false }
            world.members[index].step = .reply(read, sent: sent, seen: isWait ? world.store : nil)
        }

        private static func offer(_ index: Int, _ world: inout World) {
            let member = world.members[index]
            world.members[index].mustOffer = false
            let held = CredentialOrder.Held(version: member.version, value: Secret("t\(member.token)"))
            let offer = member.refresh?.offer(held, at: instant(world.now)) ?? held
            _ = world.store.run(arguments(.offer(offer), index), now: world.now, born: world.born, members: [])
        }

        /// The number of a token in its text.
        private static func token(_ text: String) -> Int { Int(text.dropFirst()) ?? 0 }

        private static func instant(_ microseconds: Double) -> Instant {
            Instant(nanoseconds: Int64(microseconds) * 1_000)
        }

        /// The server replaces a token; a second use is only allowed after the doubt of a member that did not go on.
        private mutating func serve(_ token: Int, _ index: Int, _ world: World) -> World {
            var next = world
            if world.users[token] != nil {
                if world.now < world.leaseEnds[token] + 60_000_000 { violations.insert("a token is used twice") }
            } else {
                // A store that was lost meanwhile knows of no lease.
                (next.users[token], next.leaseEnds[token]) = (index, max(world.store.leaseEnd, world.now))
            }
            next.server += 1
            next.members[index].step = .response(next.server)
            return next
        }

        private mutating func proceed(_ index: Int, _ world: World) -> World? {
            var next = world
            let (member, now) = (world.members[index], Self.instant(world.now))
            let action: SharedRefresh.Action
            var (seen, time) = (world.store, world.now)
            switch member.step {
            case .done, .request, .order: return nil
            case .idle:
                let value = Secret("t\(member.token)")
                next.members[index].refresh = SharedRefresh(
                    CredentialModelTests.rules,
                    have: member.version,
                    value: value,
                    now: now
                )
                action = next.members[index].refresh?.begin() ?? .none
            case .waiting(let seen, let time):
                guard seen != world.store || time < world.now else { return nil }
                action = next.members[index].refresh?.woke(now) ?? .none
            case .reply(let reply, let sent, let store):
                (seen, time) = (store ?? world.store, sent)
                action = next.members[index].refresh?.reply(reply, sent: Self.instant(sent), now: now) ?? .none
            case .response(let token):
                let life: Duration? = world.faults.endsTokens ? .zero : nil
                action = next.members[index].refresh?.succeeded(Secret("t\(token)"), life: life, now) ?? .none
            }
            carryOut(action, index, (seen, time), &next)
            return next
        }

        private mutating func carryOut(
            _ action: SharedRefresh.Action,
            _ index: Int,
            _ seen: (store: CredentialModel, time: Double),
            _ world: inout World
        ) {
            func token(_ secret: Secret?) -> Int { Self.token(secret?.reveal() ?? "") }
            switch action {
            case .send(let order): world.members[index].step = .order(order, sent: world.now)
            case .wait: world.members[index].step = .waiting(seen: seen.store, at: seen.time)
            case .refresh(let from, let until):
                world.members[index].step = .request(token(from), until: Double(until.nanoseconds) / 1_000)
            case .use(let value, let version, _, _):
                if token(value) < world.members[index].token {
                    violations.insert("an older token replaces a newer one")
                }
                (world.members[index].token, world.members[index].version) = (token(value), version)
                world.members[index].refresh = nil
                world.members[index].step = token(value) < CredentialModelTests.goal ? .idle : .done
            case .end, .none: violations.insert("a member ends: \(action)")
            }
        }

        /// Time passes only while every running member waits, also for the server: all else takes no time that matters.
        private func tick(_ world: World) -> World? {
            var latest = Double.infinity
            for member in world.members {
                if case .request(_, let until) = member.step { latest = min(latest, until) }
                guard member.life == .running else { continue }
                if member.mustOffer { return nil }
                switch member.step {
                case .done, .request: break
                case .waiting(let seen, let time): if seen != world.store || time < world.now { return nil }
                default: return nil
                }
            }
            let end = world.store.leaseEnd
            let instants = [end, end + 60_000_000, world.born + 1_000_000].filter { $0 > world.now }
            guard let next = instants.min(), next <= latest else { return nil }
            var after = world
            after.now = next
            return after
        }
    }

    private static func search(
        _ faults: Faults,
        _ broken: CredentialModel.Break? = nil,
        members count: Int = 3
    ) -> Search {
        var world = World(members: (0..<count).map { Member(number: $0) }, faults: faults)
        world.store.broken = broken
        var search = Search()
        search.run(world, stopsAtFirst: broken != nil)
        return search
    }

    @Test(
        "fleet RD-123 RD-54 in all interleavings no token is used twice but after the doubt of a member that stopped",
        arguments: [
            (Faults(), 3), (Faults(kills: 1), 3), (Faults(stops: 1), 2), (Faults(losses: 1), 2),
            (Faults(endsTokens: true), 2), (Faults(kills: 1, endsTokens: true), 2),
            (Faults(losses: 1, endsTokens: true), 2),
        ]
    )
    func enumerated(faults: Faults, count: Int) {
        // All of them take minutes.
        let search = Self.search(faults, members: Soak.current.rounds(of: 3, few: count))
        print("\(faults.testDescription): \(search.states) states, \(search.steps) steps")
        #expect(search.violations.isEmpty)
        #expect(search.states > 100)
    }

    @Test(
        "fleet RD-123 rules that are broken on purpose are found",
        arguments: [
            (CredentialModel.Break.takeOverWithoutDoubt, Faults(stops: 1)), (.sendWithoutFence, Faults(stops: 1)),
            (.putWithoutBase, Faults(stops: 1)), (.leaseInNewStore, Faults(losses: 1)),
        ] as [(CredentialModel.Break, Faults)]
    )
    func broken(rule: CredentialModel.Break, faults: Faults) {
        #expect(!Self.search(faults, rule).violations.isEmpty)
    }
}
