import Foundation
import LadeConformance
import LadeCore
import LadeCurl
import LadeExchange
import LadeTesting
import LadeWire
import Testing

/// Responses that a hostile peer has damaged at random: whatever comes, each call ends once and in time, and nothing of one
/// call's response reaches another.
///
/// `make hostile` runs it for longer. LadeCurl is held to the same. `LADE_HOSTILE_RUNS` is the number of calls to each peer, `LADE_HOSTILE_SEED` repeats a run.
@Suite("Hostile peers", .timeLimit(.minutes(10)))
struct HostilePeersTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let runs = environment["LADE_HOSTILE_RUNS"].flatMap { Int($0) } ?? 150
    private static let seed =
        environment["LADE_HOSTILE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...UInt64(UInt32.max))

    /// What one call gave.
    private struct Outcome: Sendable {
        var token: String
        var seen: String
        var endings: Int
    }

    @Test(
        "damaged answers end each call once, and reach no other call",
        .timeLimit(.minutes(30)),
        arguments: ["hostileHTTP", "hostileTLS", "hostileH2"],
        ["LadeWire", "LadeCurl"]
    )
    func damagedAnswers(_ peer: String, to name: String) async throws {
        let peers = ConformancePeers.fromEnvironment()
        guard peers.contains(peer) else {
            if Self.environment["CI"] == "true" { Issue.record("\(peer) is missing (LADE_PEERS)") }
            try Test.cancel("needs the peer \(peer) (LADE_PEERS)")
        }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.authorities = [.file(try peers.text("ca"))]
        let (transport, shutDown) = try Self.transport(name, settings)
        let scheme = peer == "hostileHTTP" ? "http" : "https"
        let base = "\(scheme)://localhost:\(try peers.port(peer))"
        let outcomes = Locked<[Outcome]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in stride(from: worker, to: Self.runs, by: 8) {
                        let outcome = try await Self.call(transport, base, number)
                        outcomes.withLock { $0.append(outcome) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let all = outcomes.withLock { $0 }
        #expect(all.count == Self.runs)
        let tokens = Set(all.map(\.token))
        for outcome in all {
            #expect(outcome.endings == 1, "seed \(Self.seed), \(outcome.token): \(outcome.endings) endings")
            let strangers = Set(outcome.seen.split { !$0.isLetter && !$0.isNumber }.map(String.init))
                .intersection(tokens).subtracting([outcome.token])
            #expect(strangers.isEmpty, "seed \(Self.seed): \(outcome.token) got an answer of \(strangers)")
        }
        // And the transport still works.
        let response = try await transport.send(try Request(.get, base + "/ok"), call: Call(id: Call.ID(1)))
        #expect(response.status == 200)
        await shutDown()
    }

    private static func transport(
        _ name: String,
        _ settings: TransportSettings
    ) throws -> (any Transport, shutDown: () async -> Void) {
        if name == "LadeCurl" {
            let transport = try CurlTransport(settings: settings)
            return (transport, { await transport.shutDown() })
        }
        let transport = try WireTransport(settings: settings)
        return (transport, { await transport.shutDown() })
    }

    private static func call(_ transport: any Transport, _ base: String, _ number: Int) async throws -> Outcome {
        // Damage to one token must not make another: SplitMix64 of the seed and the number.
        var mixed = seed &+ UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        let token = "t" + String(mixed ^ (mixed >> 31), radix: 16) + "x"
        let methods = [Request.Method.get, .get, .get, .head, .post]
        let delivery = number % 2 == 0 ? Request.Delivery.buffered(limit: 1 << 20) : .streamed
        let method = methods[number % methods.count]
        let body = method == .post ? Request.Body.text("body of \(number)") : nil
        let address = "\(base)/fuzz?seed=\(seed)-\(number)&token=\(token)"
        var request = try Request(method, address, body: body, delivery: delivery)
        // Servers that stall are among them.
        request.timeouts.idle = .milliseconds(300)
        request.timeouts.whole = .seconds(10)
        let recorder = EventRecorder()
        var seen = ""
        do {
            let response = try await transport.send(
                request,
                call: Call(id: Call.ID(UInt64(number + 2)), events: [recorder])
            )
            for field in response.headers { seen += " \(field.name) \(field.value) " }
            for try await chunk in response.body { seen += String(decoding: chunk, as: UTF8.self) }
        } catch {
            // Most responses are broken; what came before the break counts.
        }
        let endings = recorder.events.count { event in
            switch event {
            case .exchangeFinished, .exchangeFailed: true
            default: false
            }
        }
        return Outcome(token: token, seen: seen, endings: endings)
    }
}
