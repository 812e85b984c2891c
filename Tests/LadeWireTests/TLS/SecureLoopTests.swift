import COpenSSL
import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeWire

@Suite("The loop over TLS and simulated sockets", .timeLimit(.minutes(5)))
struct SecureLoopTests {
    /// What became of one exchange.
    private struct Outcome: Equatable {
        var endings = 0
        var error: LoadingError.Kind?
        var bytes: Int64 = 0
        var isTolerated = false
        var isSecured = false
    }

    private static let short = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    private static let closing = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
    private static let endless = "HTTP/1.1 200 OK\r\n\r\nabc"

    /// Runs exchanges one after the other, and lets time pass until the connections are closed.
    ///
    /// - Parameters:
    ///   - system: The servers.
    ///   - settings: The settings of the transport.
    ///   - count: The number of exchanges.
    ///   - turns: The turns between the end of an exchange and the next one; nil until everything has arrived.
    /// - Returns: The outcomes.
    /// - Throws: When the loop cannot be made.
    private func run(
        _ system: SecureSystem,
        _ settings: TransportSettings,
        exchanges count: Int = 1,
        turns: Int? = nil
    ) throws -> [Outcome] {
        let loop = try WireLoop(settings, system: system, now: { 1 })
        var outcomes: [Outcome] = []
        for _ in 0..<count {
            let recorder = EventRecorder()
            var request = try Request("https://127.0.0.1/")
            request.timeouts.idle = .seconds(5)
            request.timeouts.connect = .seconds(3)
            let exchange = try Exchange(
                request,
                call: Call(events: [recorder]),
                rules: Exchange.Rules(settings),
                lane: .direct
            )
            loop.inbox.post(.submit(exchange))
            var later = 0
            system.letsTimePass = true
            for _ in 0..<100_000 where later < turns ?? 5 {
                #expect(loop.turn())
                guard case .finished = exchange.phase else { continue }
                system.letsTimePass = false
                if turns != nil || system.isQuiet { later += 1 }
            }
            #expect(later == turns ?? 5, "the exchange did not end")
            outcomes.append(outcome(recorder))
        }
        system.letsTimePass = true
        for _ in 0..<1_000 where system.openSockets > 0 { #expect(loop.turn()) }
        #expect(system.openSockets == 0)
        loop.inbox.stop()
        #expect(!loop.turn())
        return outcomes
    }

    private func outcome(_ recorder: EventRecorder) -> Outcome {
        var outcome = Outcome()
        for event in recorder.events {
            switch event {
            case .exchangeFinished(let metrics):
                outcome.endings += 1
                outcome.bytes = metrics.decodedBodyBytes
                outcome.isSecured = metrics.secureConnect != nil
            case .exchangeFailed(let error, let metrics):
                outcome.endings += 1
                outcome.error = error.kind
                outcome.bytes = metrics.decodedBodyBytes
            case .malformationTolerated: outcome.isTolerated = true
            default: break
            }
        }
        return outcome
    }

    @Test(
        "wire WR-26 an end, a reset or silence within the handshake has its error, and no request was sent",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func handshakeEnds(version: CInt) throws {
        let realm = try Realm()
        let server = try realm.server(version)
        let plan = SecureSystem.Plan(server: server, responses: [[.text(Self.short)]])
        let whole = SecureSystem([plan])
        #expect(try run(whole, realm.settings) == [Outcome(endings: 1, bytes: 3, isSecured: true)])
        let count = try #require(whole.peers.first).handshakeBytes
        #expect(count > 200)
        for cut in stride(from: 0, to: count - 8, by: 4) {
            var plan = plan
            plan.cut = cut
            // An end, a reset and silence in turn.
            plan.isReset = [false, true, nil][cut % 3]
            let system = SecureSystem([plan])
            let outcome = try #require(try run(system, realm.settings).first)
            #expect(outcome.endings == 1)
            let expected: LoadingError.Kind =
                plan.isReset == nil ? .timedOut(.connect) : .cannotConnect(host: "127.0.0.1", reason: .handshakeFailed)
            #expect(outcome.error == expected, "cut at \(cut)")
            #expect(system.peers.map(\.requests) == [0])
        }
    }

    @Test("wire WR-34 ends each exchange once and rightly, wherever the connection ends after the handshake")
    func responseEnds() throws {
        let realm = try Realm()
        let plan = SecureSystem.Plan(server: try realm.server(), responses: [[.text(Self.short)]])
        let whole = SecureSystem([plan])
        _ = try run(whole, realm.settings)
        let peer = try #require(whole.peers.first)
        for cut in peer.handshakeBytes...peer.sent {
            var plan = plan
            plan.cut = cut
            plan.isReset = [false, true, nil][cut % 3]
            plan.piece = [Int.max, 50, 7, 1][cut % 4]
            let outcome = try #require(try run(SecureSystem([plan]), realm.settings).first)
            #expect(outcome.endings == 1)
            #expect((outcome.error == nil) == (cut == peer.sent), "cut at \(cut): \(String(describing: outcome))")
            #expect(outcome.bytes == (cut == peer.sent ? 3 : 0))
        }
    }

    @Test(
        "wire WR-30 a body that ends with its connection needs close_notify",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func unannounced(version: CInt) throws {
        let realm = try Realm()
        let server = try realm.server(version)
        func outcome(_ steps: [SecureSystem.Step], _ text: String = Self.endless, tolerates: Bool = false) throws
            -> Outcome
        {
            var settings = realm.settings
            if tolerates { settings.tolerances = .missingCloseNotify }
            let plan = SecureSystem.Plan(server: server, responses: [[.text(text)] + steps])
            return try #require(try run(SecureSystem([plan]), settings).first)
        }
        let whole = Outcome(endings: 1, bytes: 3, isSecured: true)
        #expect(try outcome([.closeNotify]) == whole)
        #expect(try outcome([.closeNotify, .end]) == whole)
        #expect(try outcome([.closeNotify, .reset]) == whole)
        let cut = try outcome([.end])
        #expect(cut.error == .incompleteBody(received: 3, expected: nil))
        let reset = try outcome([.reset])
        #expect(reset.error == .connectionLost(.body(received: 3), isSafeToRepeat: false))
        let tolerated = try outcome([.end], tolerates: true)
        #expect(tolerated == Outcome(endings: 1, bytes: 3, isTolerated: true, isSecured: true))
        // One that is complete by its own framing does not.
        #expect(try outcome([.end], Self.short) == whole)
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
        #expect(try outcome([.closeNotify], short).error == .incompleteBody(received: 3, expected: 10))
    }

    @Test(
        "wire WR-30 sends no request after the server's close_notify, and closes after bytes that belong to none",
        arguments: [
            [SecureSystem.Step.text(short), .closeNotify], [.text(short + "surplus")],
            [.text(short), .text("surplus")],
            [.text(short), .end],
        ]
    )
    func notReused(steps: [SecureSystem.Step]) throws {
        let realm = try Realm()
        let server = try realm.server()
        for piece in [1, Int.max] {
            let system = SecureSystem([
                SecureSystem.Plan(
                    server: server,
                    responses: [steps, [.text("HTTP/1.1 500 No\r\n\r\n")]],
                    piece: piece
                ),
                SecureSystem.Plan(server: server, responses: [[.text(Self.short)]]),
            ])
            let outcomes = try run(system, realm.settings, exchanges: 2)
            #expect(outcomes == Array(repeating: Outcome(endings: 1, bytes: 3, isSecured: true), count: 2))
            #expect(system.peers.map(\.requests) == [1, 1])
        }
    }

    @Test("FH-1 a connection with a part of a record is not used for another request")
    func partialRecord() throws {
        let realm = try Realm()
        let server = try realm.server()
        let system = SecureSystem([
            SecureSystem.Plan(server: server, responses: [[.text(Self.short), .text("surplus")]], piece: 1),
            SecureSystem.Plan(server: server, responses: [[.text(Self.short)]]),
        ])
        let outcomes = try run(system, realm.settings, exchanges: 2, turns: 3)
        #expect(outcomes.map(\.error) == [nil, nil])
        #expect(system.peers.map(\.requests) == [1, 1])
    }

    @Test("wire WR-32 tickets and key updates leave an idle connection as it is")
    func idle() throws {
        let realm = try Realm()
        let steps: [SecureSystem.Step] = [.text(Self.short), .ticket, .keyUpdate, .ticket]
        for piece in [1, 7, Int.max] {
            let plan = SecureSystem.Plan(server: try realm.server(), responses: [steps, steps, steps], piece: piece)
            let system = SecureSystem([plan])
            let outcomes = try run(system, realm.settings, exchanges: 3)
            #expect(outcomes.map(\.error) == [nil, nil, nil])
            #expect(system.peers.map(\.requests) == [3])
            // The time of a handshake is that of the first exchange.
            #expect(outcomes.map(\.isSecured) == [true, false, false])
        }
    }

    @Test("wire WR-31 announces the end of each established connection")
    func announces() throws {
        let realm = try Realm()
        let server = try realm.server()
        for text in [Self.short, Self.closing] {
            let system = SecureSystem([SecureSystem.Plan(server: server, responses: [[.text(text)]])])
            _ = try run(system, realm.settings)
            #expect(system.peers.map(\.wasEndAnnounced) == [true])
        }
    }

    @Test("wire WR-29 the second connection to a host resumes a session, and another host does not")
    func resumes() throws {
        let realm = try Realm()
        for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
            let server = try realm.server(version)
            let plan = SecureSystem.Plan(server: server, responses: [[.text(Self.closing)]])
            let system = SecureSystem([plan, plan, plan])
            _ = try run(system, realm.settings, exchanges: 3)
            #expect(system.peers.map(\.isResumed) == [false, true, true])
        }
    }

    @Test(
        "finding PT-3 the key of TLS sessions has scheme, host, port and destination, and no session is offered for another"
    )
    func sessionKeys() throws {
        let realm = try Realm()
        let destinations: [(String, Request.Destination?)] = [
            ("https://127.0.0.1/", nil), ("https://127.0.0.1:444/", nil),
            ("https://127.0.0.1/", .host("10.0.0.1", port: 443)), ("https://127.0.0.1/", .host("10.0.0.1", port: 444)),
            ("https://127.0.0.1/", .host("10.0.0.2", port: 443)), ("https://127.0.0.1/", .unixSocket(path: "/s")),
        ]
        func exchange(_ index: Int, _ recorder: EventRecorder = EventRecorder()) throws -> Exchange {
            var request = try Request(destinations[index].0)
            request.destination = destinations[index].1
            let call = Call(events: [recorder])
            return try Exchange(request, call: call, rules: Exchange.Rules(realm.settings), lane: .direct)
        }
        let keys = try destinations.indices.map { try TLSPeer(exchange($0)).sessionKey }
        #expect(Set(keys).count == destinations.count)
        let same = try Exchange(
            Request("https://127.0.0.1:443/x?y"),
            call: Call(),
            rules: Exchange.Rules(realm.settings),
            lane: .direct
        )
        #expect(try TLSPeer(same).sessionKey == keys[0])

        // Every server would take the session of any other.
        let plan = SecureSystem.Plan(server: try realm.server(), responses: [[.text(Self.closing)]])
        let system = SecureSystem(Array(repeating: plan, count: 2 * destinations.count))
        let loop = try WireLoop(realm.settings, system: system, now: { 1 })
        for index in Array(destinations.indices) + Array(destinations.indices) {
            let recorder = EventRecorder()
            loop.inbox.post(.submit(try exchange(index, recorder)))
            for _ in 0..<10_000 where outcome(recorder).endings == 0 { #expect(loop.turn()) }
            #expect(outcome(recorder).isSecured)
        }
        let isResumed = system.peers.map(\.isResumed)
        #expect(isResumed == destinations.map { _ in false } + destinations.map { _ in true })
        system.letsTimePass = true
        for _ in 0..<1_000 where system.openSockets > 0 { #expect(loop.turn()) }
        loop.inbox.stop()
        #expect(!loop.turn())
    }

    @Test("wire WR-72 new connections share one store that is read once, and resume from the second on")
    func newConnections() throws {
        let realm = try Realm()
        let file = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).pem")
        try realm.authority.pem.write(to: file)
        var settings = realm.settings
        settings.tls.authorities = [.file(file.path)]
        // Another transport has read the authorities; from now on nothing can.
        let store = try TrustStore.shared(TrustStore.Sources(settings.tls), now: 0)
        try FileManager.default.removeItem(at: file)
        for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
            // The second server knows none of the sessions of the first.
            let plans = try (0..<2).flatMap { _ in
                let server = try realm.server(version)
                return Array(
                    repeating: SecureSystem.Plan(server: server, responses: [[.text(Self.closing)]]),
                    count: 10
                )
            }
            let system = SecureSystem(plans)
            let outcomes = try run(system, settings, exchanges: plans.count)
            #expect(outcomes == plans.map { _ in Outcome(endings: 1, bytes: 3, isSecured: true) })
            #expect(system.peers.map(\.isResumed) == plans.indices.map { $0 % 10 != 0 })
        }
        withExtendedLifetime(store) {}
    }

    @Test("wire WR-72 as many connections resume at the same time as a host may have")
    func resumesAtOnce() throws {
        let realm = try Realm()
        var settings = realm.settings
        settings.connections.perHost = 8
        let plan = SecureSystem.Plan(server: try realm.server(), responses: [[.text(Self.closing)]])
        let system = SecureSystem(Array(repeating: plan, count: 16))
        let loop = try WireLoop(settings, system: system, now: { 1 })
        for _ in 0..<2 {
            let recorders = (0..<8).map { _ in EventRecorder() }
            for recorder in recorders {
                let request = try Request("https://127.0.0.1/")
                let call = Call(events: [recorder])
                let exchange = try Exchange(request, call: call, rules: Exchange.Rules(settings), lane: .direct)
                loop.inbox.post(.submit(exchange))
            }
            for _ in 0..<10_000 where !recorders.allSatisfy({ outcome($0).endings == 1 }) { #expect(loop.turn()) }
            #expect(recorders.map(outcome) == recorders.map { _ in Outcome(endings: 1, bytes: 3, isSecured: true) })
        }
        #expect(system.peers.count == 16)
        #expect(system.peers.suffix(8).map(\.isResumed) == Array(repeating: true, count: 8))
        system.letsTimePass = true
        for _ in 0..<1_000 where system.openSockets > 0 { #expect(loop.turn()) }
        loop.inbox.stop()
        #expect(!loop.turn())
    }

    @Test("FH-1 bytes within TLS before the request are no part of the response")
    func bytesBeforeRequest() throws {
        let realm = try Realm()
        // Before TLS 1.3, the server ends the handshake, and can send with the same bytes.
        let plan = SecureSystem.Plan(server: try realm.server(TLS1_2_VERSION), before: [.text(Self.short)])
        for piece in [Int.max] {
            var plan = plan
            plan.piece = piece
            let system = SecureSystem([plan])
            let outcome = try #require(try run(system, realm.settings).first)
            #expect(outcome.error == .malformedResponse(LoadingError.MalformedResponse(.beforeRequest).at(0)))
            #expect(system.peers[0].requests == 0)
        }
    }

    @Test(
        "wire WR-28 a client certificate that the server requires is named, and not a lost connection",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ]
    )
    func clientCertificate(version: CInt) throws {
        let realm = try Realm()
        let server = try TLSServer(realm.identity, version: version, clients: realm.authority)
        let system = SecureSystem([SecureSystem.Plan(server: server)])
        #expect(try run(system, realm.settings).map(\.error) == [.clientCertificateRequired])
        #expect(system.peers.count == 1)
    }

    @Test("names the server that is not trusted, and tells it")
    func untrusted() throws {
        let realm = try Realm()
        var settings = realm.settings
        settings.tls.authorities = []
        let system = SecureSystem([SecureSystem.Plan(server: try realm.server())])
        let cause = LoadingError.TrustCause(host: "127.0.0.1", cause: .untrustedRoot)
        #expect(try run(system, settings).map(\.error) == [.untrustedServer(cause)])
        #expect(system.peers[0].requests == 0)
    }
}
