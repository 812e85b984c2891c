import CNghttp2
import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeWire

@Suite("The loop over HTTP/2 and simulated sockets", .timeLimit(.minutes(5)))
struct HTTP2LoopTests {
    /// One exchange, and what its sink was told.
    private struct Run {
        let exchange: Exchange
        let recorder = EventRecorder()

        init(_ number: Int, _ settings: TransportSettings, _ change: (inout Request) -> Void = { _ in }) throws {
            var request = try Request("http://127.0.0.1/\(number)")
            request.version = .http2PriorKnowledge
            request.timeouts.idle = .seconds(5)
            request.timeouts.connect = .seconds(3)
            change(&request)
            let call = Call(events: [recorder])
            exchange = try Exchange(request, call: call, rules: Exchange.Rules(settings), lane: .direct)
        }

        var hasEnded: Bool { if case .finished = exchange.phase { true } else { false } }

        /// The errors of all endings; nil for a complete response.
        var endings: [LoadingError.Kind?] {
            recorder.events.compactMap { event -> LoadingError.Kind?? in
                switch event {
                case .exchangeFinished: .some(nil)
                case .exchangeFailed(let error, _): error.kind
                default: nil
                }
            }
        }

        var received: Int64 {
            for case .exchangeFinished(let metrics) in recorder.events { return metrics.decodedBodyBytes }
            return 0
        }

        var wasRepeated: Bool {
            recorder.events.contains { if case .exchangeRepeated = $0 { true } else { false } }
        }
    }

    private func makeLoop(_ system: HTTP2System, _ settings: TransportSettings = TransportSettings()) throws -> WireLoop
    {
        try WireLoop(settings, system: system, now: { 1 })
    }

    /// Turns the loop until the exchanges have ended.
    private func turn(_ loop: WireLoop, until runs: [Run], most: Int = 20_000) {
        for _ in 0..<most {
            if runs.allSatisfy(\.hasEnded) { return }
            let continues = loop.turn()
            #expect(continues)
        }
    }

    /// Closes everything, and expects that nothing is left.
    private func finish(_ loop: WireLoop, _ system: HTTP2System) {
        system.letsTimePass = true
        for _ in 0..<1_000 where system.openSockets > 0 {
            let continues = loop.turn()
            #expect(continues)
        }
        #expect(system.openSockets == 0)
        #expect(loop.running.isEmpty)
        #expect(loop.pool.open == 0)
        loop.inbox.stop()
        #expect(!loop.turn())
    }

    private static func answer(_ system: HTTP2System, _ peer: HTTP2System.Peer, _ stream: Int32) {
        let path = peer.server.streams[stream]?.fields.first { $0.hasPrefix(":path: /") }?.dropFirst(8) ?? ""
        peer.server.respond(stream, body: Array(repeating: 1, count: 100 + (Int(path) ?? 0)))
    }

    @Test("wire WR-71 64 calls share one connection, with one send and two receives a turn at most")
    func shares() throws {
        let settings = TransportSettings()
        let system = HTTP2System(respond: Self.answer)
        let loop = try makeLoop(system)
        for round in 0..<3 {
            let runs = try (0..<64).map { try Run($0, settings) }
            for run in runs { loop.inbox.post(.submit(run.exchange)) }
            turn(loop, until: runs)
            for (number, run) in runs.enumerated() {
                #expect(run.endings == [nil], "round \(round), call \(number)")
                #expect(run.received == Int64(100 + number))
            }
        }
        #expect(system.peers.count == 1)
        #expect(system.peers[0].server.order.count == 192)
        #expect(system.mostSends <= 1)
        #expect(system.mostReceives <= 2)
        finish(loop, system)
    }

    @Test("wire WR-54 512 calls keep to the streams that the server allows, and none is refused")
    func keepsToTheLimit() throws {
        var settings = TransportSettings()
        settings.connections.perHost = 2
        let system = HTTP2System(
            server: { HTTP2Server(settings: [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 20)]) },
            respond: Self.answer
        )
        let loop = try makeLoop(system, settings)
        let runs = try (0..<512).map { try Run($0, settings) }
        for run in runs { loop.inbox.post(.submit(run.exchange)) }
        turn(loop, until: runs)

        #expect(runs.allSatisfy { $0.endings == [nil] })
        #expect(system.peers.count <= 2)
        finish(loop, system)
    }

    @Test("wire WR-54 a further connection opens no more streams than the server has allowed on another one")
    func remembersTheLimit() throws {
        let settings = TransportSettings()
        let system = HTTP2System(
            server: { HTTP2Server(settings: [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 8)]) },
            respond: Self.answer
        )
        let loop = try makeLoop(system, settings)
        // The second time, all connections of the first have been closed.
        for _ in 0..<2 {
            for count in [1, 40] {
                let runs = try (0..<count).map { try Run($0, settings) }
                for run in runs { loop.inbox.post(.submit(run.exchange)) }
                turn(loop, until: runs)
                #expect(runs.allSatisfy { $0.endings == [nil] })
            }
            #expect(system.openSockets > 1)
            system.letsTimePass = true
            for _ in 0..<1_000 where system.openSockets > 0 { #expect(loop.turn()) }
            system.letsTimePass = false
        }
        finish(loop, system)
    }

    @Test("wire WR-49 WR-55 requests that GOAWAY excludes move to another connection, unnoticed")
    func moves() throws {
        let settings = TransportSettings()
        let system = HTTP2System { system, peer, stream in
            if system.peers.count == 1, stream == 3 { peer.server.goAway(last: 1) }
            if system.peers.count > 1 || stream == 1 { Self.answer(system, peer, stream) }
        }
        let loop = try makeLoop(system)
        let runs = try (0..<5).map { try Run($0, settings) }
        for run in runs { loop.inbox.post(.submit(run.exchange)) }
        turn(loop, until: runs)

        #expect(runs.allSatisfy { $0.endings == [nil] })
        #expect(runs.allSatisfy { !$0.wasRepeated })
        #expect(system.peers.count == 2)
        finish(loop, system)
    }

    /// What the server does after it has begun to answer.
    enum Change: CaseIterable {
        case excludes, excludesWithError, refuses, requiresHTTP1, resets, ends

        fileprivate func happen(_ peer: HTTP2System.Peer, _ stream: Int32) {
            switch self {
            case .excludes: peer.server.goAway(last: stream - 2)
            case .excludesWithError: peer.server.goAway(last: stream - 2, NGHTTP2_INTERNAL_ERROR)
            case .refuses: peer.server.reset(stream, NGHTTP2_REFUSED_STREAM)
            case .requiresHTTP1: peer.server.reset(stream, NGHTTP2_HTTP_1_1_REQUIRED)
            case .resets: peer.server.reset(stream, NGHTTP2_NO_ERROR)
            case .ends: peer.end()
            }
        }
    }

    /// How far the response has come.
    enum Beginning: CaseIterable {
        case interim, head, body
    }

    @Test(
        "finding WF-14 once a head has arrived nothing below the caller sends the request again, whatever ends it",
        arguments: Change.allCases,
        Beginning.allCases
    )
    func neverAppends(change: Change, beginning: Beginning) throws {
        for method in [Request.Method.get, .post] {
            let settings = TransportSettings()
            var sendings = 0
            let system = HTTP2System { system, peer, stream in
                let fields = peer.server.streams[stream]?.fields ?? []
                guard fields.contains(":path: /2") else { return Self.answer(system, peer, stream) }
                sendings += 1
                guard sendings == 1 else { return peer.server.respond(stream, 404, body: Array("answer".utf8)) }
                switch beginning {
                case .interim: peer.server.inform(stream, 103)
                case .head: peer.server.respond(stream, body: [], ends: false)
                case .body: peer.server.respond(stream, body: Array("part".utf8), ends: false)
                }
                peer.flush()
                change.happen(peer, stream)
            }
            let loop = try makeLoop(system, settings)
            // On a connection that has carried another exchange.
            let first = try Run(1, settings)
            loop.inbox.post(.submit(first.exchange))
            turn(loop, until: [first])
            let run = try Run(2, settings) { $0.method = method }
            loop.inbox.post(.submit(run.exchange))
            turn(loop, until: [run])

            #expect(sendings == 1, "\(method)")
            try #require(run.endings.count == 1)
            let progress: LoadingError.ResponseProgress =
                beginning == .interim ? .head : .body(received: beginning == .body ? 4 : 0)
            switch run.endings[0] {
            case .incompleteBody(let received, nil)? where change == .ends:
                #expect(.body(received: received) == progress)
            case .connectionLost(progress, isSafeToRepeat: false)?: break
            case let error: Issue.record("\(String(describing: error)) after \(progress)")
            }
            #expect(!run.wasRepeated)
            finish(loop, system)
        }
    }

    @Test("wire WR-48 a refused stream fails its call alone, and says that sending again is safe")
    func refusals() throws {
        let settings = TransportSettings()
        let system = HTTP2System { system, peer, stream in
            if stream == 3 {
                peer.server.reset(stream, NGHTTP2_REFUSED_STREAM)
            } else {
                Self.answer(system, peer, stream)
            }
        }
        let loop = try makeLoop(system)
        let runs = try (0..<3).map { try Run($0, settings) }
        for run in runs { loop.inbox.post(.submit(run.exchange)) }
        turn(loop, until: runs)

        #expect(runs[0].endings == [nil])
        #expect(runs[1].endings == [.connectionLost(.nothing, isSafeToRepeat: true)])
        #expect(runs[2].endings == [nil])
        #expect(system.peers.count == 1)
        finish(loop, system)
    }

    @Test("wire WR-58 a cancelled call ends its stream, and the others of the connection continue")
    func cancels() throws {
        let settings = TransportSettings()
        let system = HTTP2System { system, peer, stream in if stream != 1 { Self.answer(system, peer, stream) } }
        let loop = try makeLoop(system)
        let runs = try (0..<3).map { try Run($0, settings) }
        for run in runs { loop.inbox.post(.submit(run.exchange)) }
        turn(loop, until: Array(runs.dropFirst()))
        loop.inbox.post(.cancel(runs[0].exchange))
        let next = try Run(9, settings)
        loop.inbox.post(.submit(next.exchange))
        turn(loop, until: runs + [next])

        #expect(runs.map(\.endings) == [[.cancelled], [nil], [nil]])
        #expect(next.endings == [nil])
        #expect(system.peers.count == 1)
        #expect(system.peers[0].server.streams[1]?.resetCode == NGHTTP2_CANCEL.rawValue)
        finish(loop, system)
    }

    @Test("wire WR-52 wherever the connection ends, each call ends once, and is complete only if its stream ended")
    func cuts() throws {
        let settings = TransportSettings()
        func run(cut: Int?, piece: Int) throws -> (runs: [Run], system: HTTP2System) {
            let system = HTTP2System(respond: Self.answer)
            system.cut = cut
            system.piece = piece
            let loop = try makeLoop(system)
            let runs = try (0..<3).map { try Run($0, settings) }
            for run in runs { loop.inbox.post(.submit(run.exchange)) }
            turn(loop, until: runs)
            #expect(runs.allSatisfy { $0.endings.count == 1 }, "cut at \(String(describing: cut))")
            finish(loop, system)
            return (runs, system)
        }
        let whole = try run(cut: nil, piece: .max)
        #expect(whole.runs.map(\.endings) == [[nil], [nil], [nil]])
        let all = whole.system.peers[0].arrived

        for cut in 0...all {
            let (runs, _) = try run(cut: cut, piece: [Int.max, 7, 1][cut % 3])
            for (number, run) in runs.enumerated() where run.endings == [nil] {
                #expect(run.received == Int64(100 + number), "cut at \(cut)")
            }
            if cut == all { #expect(runs.allSatisfy { $0.endings == [nil] }) }
            if cut < 20 { #expect(runs.allSatisfy { $0.endings != [nil] }) }
        }
    }

    @Test("wire WR-53 a server that sends no settings ends in the time-out of connecting")
    func neverOpens() throws {
        let settings = TransportSettings()
        let system = HTTP2System(respond: { _, _, _ in })
        system.piece = 0
        system.letsTimePass = true
        let loop = try makeLoop(system)
        let run = try Run(0, settings)
        loop.inbox.post(.submit(run.exchange))
        turn(loop, until: [run])

        #expect(run.endings == [.timedOut(.connect)])
        finish(loop, system)
    }

    @Test("an upload arrives whole, and the response counts")
    func uploads() throws {
        let settings = TransportSettings()
        let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let system = HTTP2System(respond: Self.answer)
        let loop = try makeLoop(system)
        let run = try Run(7, settings) {
            $0.method = .put
            $0.body = .bytes(bytes)
        }
        loop.inbox.post(.submit(run.exchange))
        turn(loop, until: [run])

        #expect(run.endings == [nil])
        #expect(system.peers[0].server.streams[1].map { Data($0.body) } == bytes)
        finish(loop, system)
    }

    @Test(
        "wire WR-41 a complete response counts at the idle limit when the upload is not read, also if the socket is full",
        arguments: [false, true]
    )
    func idleUploads(isFull: Bool) throws {
        let settings = TransportSettings()
        let system = HTTP2System(server: {
            let server = HTTP2Server(settings: [(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20)], windowsReturn: false)
            server.raiseWindow(by: 1 << 20)
            return server
        }) { _, _, _ in }
        let loop = try makeLoop(system)
        let run = try Run(7, settings) {
            $0.method = .put
            $0.body = .bytes(Data(count: 4 << 20))
        }
        loop.inbox.post(.submit(run.exchange))
        for _ in 0..<100 where system.peers.first?.server.streams[1]?.hasHead != true { _ = loop.turn() }
        let server = try #require(system.peers.first?.server)
        system.isFull = isFull
        server.respond(1, body: Array("early".utf8))
        system.letsTimePass = true
        turn(loop, until: [run])

        #expect(run.endings == [nil])
        #expect(run.received == 5)
        // The idle limit is 5 s, and it runs once.
        #expect(system.time > 5_000_000_000 && system.time < 6_000_000_000, "\(system.time)")
        if !isFull {
            for _ in 0..<10 { _ = loop.turn() }
            #expect(server.streams[1]?.resetCode == NGHTTP2_CANCEL.rawValue)
        }
        finish(loop, system)
    }
}
