#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Known weaknesses of wire libraries, as measured.
extension TransportConformance {
    static var traps: [ConformanceCase] {
        [hangingLookUp, deadConnection, manyStreams, slowReaders, trustStore, longQueue]
    }

    private static let hangingLookUp = ConformanceCase(
        "TR-90",
        "continues all other calls when a call is cancelled in its name look-up",
        needs: [.hangingName]
    ) { context in
        guard let name = try context.hangingName?() else { return }
        defer { name.release() }
        let mayEnd = Signal()
        let server = try LoopbackServer { request in
            guard request.path == "/stream" else { return .text("ok") }
            return .stream { connection in
                // Long chunks, so that the transport is not busy with their framing.
                while !mayEnd.isRaised { try connection.sendChunk(Data(repeating: 0x61, count: 16 << 10)) }
            }
        }
        let transport = try context.transport()
        var request = try Request(.get, "http://\(name.host):\(server.port)/")
        // Only the cancellation ends it, even on a slow machine.
        request.timeouts.connect = nil
        let hanging = request
        let call = Task { await Exchange.perform(transport, hanging) }
        try await context.within("the look-up") { try await name.lookUpBegan() }
        try await context.within("reading on while a look-up hangs") {
            let response = try await transport.send(
                try server.request(.get, "/stream", delivery: .streamed),
                call: Call()
            )
            var chunks = response.body.makeAsyncIterator()
            _ = try await chunks.next()
            call.cancel()
            // A thread that waits for the resolver here would wait forever: the look-up is released at the end of this
            // case.
            for _ in 0..<100 {
                context.expect(await Exchange.perform(transport, try server.request()), gives: 200, "ok")
                _ = try await chunks.next()
            }
            mayEnd.raise()
            while try await chunks.next() != nil {}
        }
        context.expectCancelled(try await context.within("the cancelled call") { await call.value })
    }

    // MARK: - Sending again

    private static let deadConnection = ConformanceCase(
        "TR-91",
        "does not send a POST twice when a reused connection dies"
    ) { context in
        let bodies: KeyValuePairs<String, Request.Body> = [
            "bytes": .text("once"), "sequence": .writer { try await $0(Data("once".utf8)) },
        ]
        for (name, step) in [("close", ServerStep.close), ("reset", .reset)] {
            for method in [Request.Method.post, .patch] {
                for (kind, body) in bodies {
                    await context.part("\(method) of \(kind), \(name)") { context in
                        let (server, transport) = try await afterOneCall(context, step)
                        let exchange = try await context.exchange(
                            transport,
                            try server.request(method, "/", body: body)
                        )
                        // It may also be sent on a connection that was never used, which is equally correct.
                        if exchange.error == nil {
                            context.expect(exchange, gives: 200, "ok")
                        } else {
                            context.expectLost(exchange, .nothing, isSafeToRepeat: false)
                        }
                        // One more call, after which a second copy would have arrived too.
                        context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                        let sent = server.requests.filter { $0.method == method.rawValue }.count
                        context.expectEqual(sent, 1, "requests at the server")
                    }
                }
            }
            await context.part("GET, \(name)") { context in
                let (server, transport) = try await afterOneCall(context, step)
                let exchange = try await context.exchange(transport, try server.request(.get, "/again"))
                if exchange.error == nil {
                    context.expect(exchange, gives: 200, "ok")
                } else {
                    context.expectLost(exchange, .nothing)
                }
                let sent = server.requests.filter { $0.path == "/again" }.count
                context.expect(sent <= 2, "it was sent \(sent) times")
            }
        }
        await context.part("POST on a connection that was seen to close") { context in
            let server = try LoopbackServer(script: [.readRequest, .respond(.text("ok")), .close])
            let transport = try context.transport()
            for number in 0..<3 {
                let request = try server.request(.post, "/", body: .text("once"))
                context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                _ = try await context.within("the close") { try await server.connectionClosed(at: number) }
            }
        }
    }

    /// A server whose first connection fails at its second request, and a transport that has used it once.
    private static func afterOneCall(
        _ context: ConformanceContext,
        _ step: ServerStep
    ) async throws -> (LoopbackServer, any Transport) {
        let response = ServerStep.respond(.text("ok"))
        let server = try LoopbackServer { index in
            index == 0
                ? [.readRequest, response, .readRequest, step]
                : [.readRequest, response, .readRequest, response, .stall]
        }
        let transport = try context.transport()
        context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
        return (server, transport)
    }

    // MARK: - HTTP/2

    private static let manyStreams = ConformanceCase(
        "TR-92",
        "makes 512 concurrent HTTP/2 calls within the limits of both sides",
        needs: [.peer("h2"), .peer("nginxTLSStreams100"), .peer("ca")]
    ) { context in
        await context.part("scripted peer") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let base = "https://localhost:\(try context.peers.port("h2"))"
            let token = context.token()
            try await context.within("512 calls") {
                try await inParallel(512) { _ in
                    let request = try Request(.get, "\(base)/ok?token=\(token)")
                    context.expect(await Exchange.perform(transport, request), gives: 200, "ok")
                }
            }
            let counts = try await context.counts(transport, base, token)
            context.expectEqual(counts["requests"], 512, "requests at the server")
            context.expect(
                (counts["connections"] ?? 99) <= 6,
                "\(counts["connections"] ?? 0) connections, 6 are allowed"
            )
        }
        await context.part("nginx") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let request = try context.request("nginxTLSStreams100")
            let connections = Locked<Set<String>>([])
            try await context.within("512 calls") {
                try await inParallel(512) { _ in
                    let exchange = await Exchange.perform(transport, request)
                    context.expect(exchange, gives: 200)
                    let number = exchange.text.split(separator: ",").first.map(String.init) ?? ""
                    connections.withLock { _ = $0.insert(number) }
                }
            }
            let count = connections.withLock { $0.count }
            context.expect(count <= 6, "\(count) connections, 6 are allowed")
        }
    }

    private static let slowReaders = ConformanceCase(
        "TR-93",
        "uses at most four times the memory of one slow HTTP/2 reader for four",
        needs: [.peer("h2"), .peer("ca"), .procFileSystem],
        measuresProcess: true
    ) { context in
        _ = try await heldBy(context, readers: 1)
        let one = try await heldBy(context, readers: 1)
        let four = try await heldBy(context, readers: 4)
        guard context.checksMemory else { return }
        // Below a few MiB the allocator dominates the measurement.
        let allowed = 4 * max(one, 4 << 20) + 8 << 20
        context.expect(four < allowed, "four readers took \(four >> 20) MiB, one took \(one >> 20) MiB")
    }

    private static func heldBy(_ context: ConformanceContext, readers: Int) async throws -> Int {
        let transport = try context.transport { $0.tls = try context.trustingPeers() }
        let base = "https://localhost:\(try context.peers.port("h2"))"
        let token = context.token()
        let size = 32 << 20
        let mayGoOn = Signal()
        ProcessProbe.resetPeak()
        let before = ProcessProbe.residentBytes ?? 0
        let reading = (0..<readers).map { _ in
            Task {
                let request = try Request(.get, "\(base)/slow?bytes=\(size)&token=\(token)", delivery: .streamed)
                let response = try await transport.send(request, call: Call())
                var chunks = response.body.makeAsyncIterator()
                var count = try await chunks.next()?.count ?? 0
                try await mayGoOn.wait()
                while let chunk = try await chunks.next() { count += chunk.count }
                return count
            }
        }
        try await context.within("the first chunks") { try await mayGoOn.arrivals(atLeast: readers) }
        // The readers are stopped; the other calls give the servers time to fill all available buffers.
        try await context.within("other calls beside slow readers") {
            for _ in 0..<500 {
                let other = try Request(.get, "\(base)/ok?token=\(token)")
                context.expect(await Exchange.perform(transport, other), gives: 200, "ok")
            }
        }
        let held = (ProcessProbe.peakBytes ?? 0) - before
        mayGoOn.raise()
        for task in reading {
            let count = try await context.within("the rest of a body") { try await task.value }
            context.expectEqual(count, size, "bytes of a slow body")
        }
        return held
    }

    // MARK: - Processor time

    private static let trustStore = ConformanceCase(
        "TR-94",
        "parses its authorities once for 1,000 TLS connections",
        needs: [.peer("nginxTLSHTTP1"), .peer("ca")],
        measuresProcess: true
    ) { context in
        let authority = FileManager.default.contents(atPath: try context.peers.text("ca")) ?? Data()
        var many = Data()
        for _ in 0..<400 { many.append(authority + Data("\n".utf8)) }
        let request = try Request(.get, "https://localhost:\(try context.peers.port("nginxTLSHTTP1"))/close")
        let transports = try [authority, many].map { bytes in
            try context.transport {
                $0.tls.trustsSystemAuthorities = false
                $0.tls.authorities = [.pem(bytes)]
            }
        }
        // One authority against four hundred, alternating, so that other load affects both equally.
        var ratios: [Double] = []
        for round in 0..<11 {
            var times: [Double] = []
            for transport in transports {
                let begin = ProcessProbe.processorTime
                for _ in 0..<(round == 0 ? 2 : context.scaled(50)) {
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, gives: 200)
                    context.expectEqual(exchange.metrics.isReusedConnection, false, "whether a connection was reused")
                }
                times.append((ProcessProbe.processorTime - begin).inSeconds)
            }
            // The first round parses.
            if round > 0 { ratios.append(times[1] / times[0]) }
        }
        let median = ratios.sorted()[ratios.count / 2]
        context.expect(median < 3, "400 authorities cost \(median) times the processor time of one on each connection")
    }

    private static let longQueue = ConformanceCase(
        "TR-95",
        "serves 2,000 waiting calls in order, at the cost of six at a time",
        measuresProcess: true
    ) { context in
        await context.part("order") { context in
            let signal = Signal()
            let server = try LoopbackServer { request in
                if request.path == "/first" { signal.waitOnThread() }
                return .text("ok")
            }
            let transport = try context.transport { $0.connections.perHost = 1 }
            let count = context.scaled(2000)
            let priorities: [Request.Priority] = [.low, .high, .normal]
            // One thread runs each call up to its wait, one after the other: so they queue in this order.
            try await VirtualTime().runAutomatically {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        context.expect(
                            await Exchange.perform(transport, try server.request(.get, "/first")),
                            gives: 200
                        )
                    }
                    for number in 0..<count {
                        var request = try server.request(.get, "/\(number)")
                        request.priority = priorities[number % 3]
                        let ready = request
                        group.addTask { context.expect(await Exchange.perform(transport, ready), gives: 200) }
                    }
                    group.addTask { signal.raise() }
                    try await group.waitForAll()
                }
            }
            let expected = [1, 2, 0].flatMap { rest in
                (0..<count).filter { $0 % 3 == rest }.map { "/\($0)" }
            }
            let got = server.requests.map(\.target)
            context.expect(got == ["/first"] + expected, "the order was \(got.prefix(20)) …")
        }
        await context.part("cost") { context in
            let server = try LoopbackServer(unrecorded) { _ in .text("ok") }
            let transport = try context.transport { $0.connections.perHost = 6 }
            let count = context.scaled(2000)
            let request = try server.request()
            let call: @Sendable (Int) async throws -> Void = { _ in
                context.expect(await Exchange.perform(transport, request), gives: 200)
            }
            var ratios: [Double] = []
            for round in 0..<6 {
                var begin = ProcessProbe.processorTime
                try await inParallel(count, call)
                let atOnce = ProcessProbe.processorTime - begin
                begin = ProcessProbe.processorTime
                try await inParallel(6) { _ in
                    for number in 0..<(count / 6) { try await call(number) }
                }
                let sixAtATime = ProcessProbe.processorTime - begin
                if round > 0 { ratios.append(atOnce.inSeconds / sixAtATime.inSeconds) }
            }
            let median = ratios.sorted()[ratios.count / 2]
            context.expect(median < 2, "a call that waits costs \(median) times one that does not")
        }
    }
}
