#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Cases with thousands of calls.
extension TransportConformance {
    static let manyInARow = ConformanceCase(
        "TR-85",
        "makes 10,000 calls in a row and leaks neither memory nor descriptors",
        needs: [.procFileSystem, .shutDown],
        measuresProcess: true
    ) { context in
        let medium = pattern(100_000)
        let server = try LoopbackServer(unrecorded) { request in
            switch request.path {
            case "/medium": .bytes(medium)
            case "/chunks": .chunks(["one", "two"], trailers: [ServerField("X-T", "1")])
            default: .text(request.text)
            }
        }
        let descriptors = try await context.descriptorsBefore()
        let transport = try context.transport()
        let round = { (number: Int) in
            let delivery: Request.Delivery = number % 2 == 0 ? .streamed : .buffered(limit: 1 << 20)
            let request =
                switch number % 5 {
                case 0: try server.request(.get, "/medium", delivery: delivery)
                case 1: try server.request(.get, "/chunks?number=\(number)", delivery: delivery)
                case 2: try server.request(.post, "/", body: .text("body \(number)"), delivery: delivery)
                case 3: try server.request(.head, "/medium", delivery: delivery)
                default:
                    try server.request(
                        .post,
                        "/",
                        body: .writer { try await $0(Data("body".utf8)) },
                        delivery: delivery
                    )
                }
            let exchange = await Exchange.perform(transport, request)
            if exchange.error != nil { context.expect(exchange, gives: 200) }
        }
        let count = context.scaled(10_000)
        for number in 0..<(count / 5) { try await round(number) }
        let before = ProcessProbe.residentBytes ?? 0
        for number in (count / 5)..<count { try await round(number) }
        let growth = (ProcessProbe.residentBytes ?? 0) - before
        if context.checksMemory {
            context.expect(growth < 8 << 20, "the process grew by \(growth >> 10) KiB after it was warm")
        }
        context.expectEqual(server.acceptedCount, 1, "connections")
        try await expectNothingLeft(context, transport, [server], descriptors)
    }

    static let shutDown = ConformanceCase(
        "TR-86",
        "ends every call as cancelled when it is shut down, and leaves nothing behind",
        needs: [.procFileSystem, .shutDown],
        measuresProcess: true
    ) { context in
        let server = try LoopbackServer { connection in
            let request = try connection.readRequest()
            if request.path == "/body" {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n1234")
            }
            try connection.stall()
        }
        let descriptors = try await context.descriptorsBefore()
        for _ in 0..<context.scaled(10) {
            let transport = try context.transport { $0.connections.perHost = 8 }
            let first = server.requestCount
            let recorders = (0..<40).map { _ in EventRecorder() }
            let calls = recorders.enumerated().map { number, recorder in
                Task {
                    let path = number % 2 == 0 ? "/body" : "/head"
                    let delivery: Request.Delivery = number % 4 == 0 ? .streamed : .buffered(limit: 1 << 20)
                    do throws(LoadingError) {
                        let request = try server.request(.get, path, delivery: delivery)
                        let response = try await transport.send(request, call: Exchange.makeCall(recorder))
                        for try await _ in response.body {}
                        context.fail("a call ended well")
                    } catch {
                        context.expect(error.isCancellation, "expected a cancellation, got \(error)")
                    }
                }
            }
            // Eight are in flight, the others wait for a connection.
            try await context.within("eight requests") { try await server.requests(atLeast: first + 8) }
            await context.shutDown?(transport)
            for call in calls { try await context.within("a call after the end") { await call.value } }
            let late = try await context.exchange(transport, try server.request())
            context.expect(late.error != nil, "a call after the end went through")
            try await context.within("closing the connections") { try await server.open(atMost: 0) }
            // Checked when everything is over: a second end would come after the first.
            let stories = recorders.map(\.story)
            let began = stories.count { $0.contains { $0.hasPrefix("exchange started") } }
            let endings = stories.map { $0.filter { $0.hasPrefix("exchange f") } }
            context.expect(began >= 8, "\(began) exchanges began, 8 connections are allowed")
            context.expect(
                endings.allSatisfy { $0 == ["exchange failed: cancelled"] || $0.isEmpty },
                "a call ended with \(Set(endings).sorted { $0.count > $1.count }.first ?? [])"
            )
            context.expect(
                endings.count { !$0.isEmpty } >= began,
                "\(began) exchanges began, \(endings.count { !$0.isEmpty }) were reported to have ended"
            )
        }
        let last = try context.transport()
        try await expectNothingLeft(context, last, [server], descriptors)
    }

    private static func expectNothingLeft(
        _ context: ConformanceContext,
        _ transport: any Transport,
        _ servers: [LoopbackServer],
        _ descriptors: [String]
    ) async throws {
        let threads = ProcessProbe.threadCount ?? 0
        await context.shutDown?(transport)
        for server in servers {
            try await context.within("closing the connections") { try await server.open(atMost: 0) }
        }
        try await context.settles("descriptors") {
            // The Swift runtime reopens its timer occasionally; transports do not use one. A file that this process
            // inherited may be deleted meanwhile by its owner.
            let left = ProcessProbe.descriptors.filter { descriptor in
                !descriptor.hasSuffix("[timerfd]")
                    && !descriptors.contains { descriptor == $0 || descriptor == $0 + " (deleted)" }
            }
            return left.isEmpty ? nil : "left open: \(left)"
        }
        try await context.settles("threads") {
            let left = ProcessProbe.threadCount ?? 0
            // The last transport had at least one thread.
            return left < threads ? nil : "\(left) threads, there were \(threads) with the transport"
        }
    }

    /// Servers of long runs record nothing: they run in the measured process.
    static var unrecorded: LoopbackServer.Options {
        var options = LoopbackServer.Options()
        options.keptRequests = 0
        options.keptBodyBytes = 1 << 20
        options.keptConnectionBytes = 0
        return options
    }

    // MARK: - Random faults

    static let randomFaults = ConformanceCase(
        "TR-87",
        "ends each of 10,000 calls once and correctly under random faults",
        needs: [.shutDown],
        measuresProcess: true
    ) { context in
        await context.part("seed \(context.seed) (LADE_CONFORMANCE_SEED repeats it)") { context in
            let server = try LoopbackServer(unrecorded, serving: RandomFault.serve)
            let descriptors = try await context.descriptorsBefore()
            let transport = try context.transport { $0.connections.perHost = 32 }
            let workers = 64
            let calls = max(1, context.scaled(10_000) / workers)
            let played = Locked<[(plan: RandomFault.Plan, steps: RandomFault.Steps)]>([])
            try await inParallel(workers) { worker in
                let random = SeededRandom(seed: context.seed &+ UInt64(worker) &* 0x1_0000)
                for _ in 0..<calls {
                    let plan = RandomFault.Plan(random)
                    let steps = RandomFault.Steps(plan)
                    try await context.within("\(plan)") { try await plan.run(context, transport, server, steps) }
                    played.withLock { $0.append((plan, steps)) }
                }
            }
            if ProcessProbe.isAvailable {
                try await expectNothingLeft(context, transport, [server], descriptors)
            } else {
                await context.shutDown?(transport)
            }
            // Ends are counted when every call is over: a second one would come after the first.
            for (plan, steps) in played.withLock({ $0 }) {
                if let finding = steps.finding { context.fail("\(plan): \(finding)") }
            }
        }
    }
}

extension ConformanceContext {
    /// The open descriptors, after the runtime has opened its own.
    fileprivate func descriptorsBefore() async throws -> [String] {
        // The first sleep of a process makes the runtime open a timer and its descriptors; this needs a real sleep.
        try await SystemTime().sleep(for: .milliseconds(1))
        return ProcessProbe.descriptors
    }
}

/// The possible faults of one call of the random run.
enum RandomFault: String, CaseIterable, Sendable {
    case nothing, chunked, drip
    case resetBeforeHead, resetInHead, resetInBody
    case shortBody, cutChunks, closedBeforeHead
    case garbage, badLength, badChunk
    case stallBeforeHead, stallInBody
    case cancelled

    /// Sends the response that the path of each request asks for: `/fault/size`.
    static func serve(_ connection: ServerConnection) throws {
        while true {
            let request = try connection.readRequest()
            let parts = request.path.split(separator: "/")
            guard let fault = RandomFault(rawValue: String(parts[0])), let size = Int(parts[1]) else {
                try connection.reset()
            }
            try fault.respond(connection, TransportConformance.pattern(size))
        }
    }

    private func respond(_ connection: ServerConnection, _ body: Data) throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let half = Data(body.prefix(body.count / 2))
        switch self {
        case .nothing, .cancelled: try connection.respond(.bytes(body))
        case .chunked:
            try connection.send(chunked)
            try connection.send(TransportConformance.chunked(body, of: 1000))
        case .drip: try connection.send(Data(head.utf8) + body, inPiecesOf: max(1, body.count / 40))
        case .resetBeforeHead: try connection.reset()
        case .resetInHead:
            try connection.send(String(head.prefix(30)))
            try connection.reset()
        case .resetInBody:
            try connection.send(Data(head.utf8) + half)
            try connection.reset()
        case .shortBody:
            try connection.send(Data(head.utf8) + half)
            try connection.close()
        case .cutChunks:
            try connection.send(chunked)
            try connection.sendChunk(half)
            try connection.close()
        case .closedBeforeHead: try connection.close()
        case .garbage:
            try connection.send("FOOBAR \(body.count)\r\n\r\n")
            try connection.close()
        case .badLength:
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab")
            try connection.stall()
        case .badChunk:
            try connection.send(chunked)
            try connection.sendChunk(half)
            try connection.send("zz\r\n")
            try connection.stall()
        case .stallBeforeHead: try connection.stall()
        case .stallInBody:
            try connection.send(Data(head.utf8) + half)
            try connection.stall()
        }
    }

    /// One call: its fault, its form, and the step at which it is cancelled.
    struct Plan: Sendable, CustomStringConvertible {
        let fault: RandomFault
        let size: Int
        let isStreamed: Bool
        let upload: Int?
        /// The number of the step that cancels the call.
        let cancelStep: Int

        init(_ random: SeededRandom) {
            func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
            fault = RandomFault.allCases[pick(RandomFault.allCases.count)]
            // Never empty, so that half of it is neither nothing nor everything.
            size = [2, 100, 5000, 70_000, 300_000][pick(5)]
            isStreamed = pick(2) == 0
            upload = pick(3) == 0 ? pick(20_000) : nil
            cancelStep = pick(6)
        }

        var description: String {
            "\(upload == nil ? "GET" : "POST \(upload ?? 0)") /\(fault.rawValue)/\(size) \(isStreamed ? "streamed" : "buffered")"
                + (fault == .cancelled ? " cancelled at step \(cancelStep)" : "")
        }

        func run(
            _ context: ConformanceContext,
            _ transport: any Transport,
            _ server: LoopbackServer,
            _ steps: Steps
        ) async throws {
            var request = try server.request(
                upload == nil ? .get : .post,
                "/\(fault.rawValue)/\(size)",
                body: upload.map { .bytes(TransportConformance.pattern($0)) },
                delivery: isStreamed ? .streamed : .buffered(limit: 1 << 20)
            )
            if fault == .stallBeforeHead || fault == .stallInBody { request.timeouts.idle = .milliseconds(50) }
            let ready = request
            let task = Task { await perform(transport, ready, steps) }
            steps.own { task.cancel() }
            let exchange = await task.value
            if exchange.error?.isCancellation == true { steps.mayHaveNoExchange() }
            if let finding = finding(in: exchange) { context.fail("\(self): \(finding)") }
        }

        private func perform(_ transport: any Transport, _ request: Request, _ steps: Steps) async -> Exchange {
            var exchange = Exchange()
            steps.pass()
            do throws(LoadingError) {
                let response = try await transport.send(request, call: Call(events: [steps]))
                exchange.status = response.status
                steps.pass()
                var chunks = response.body.makeAsyncIterator()
                while let chunk = try await chunks.next() {
                    exchange.body.append(chunk)
                    steps.pass()
                }
            } catch {
                exchange.error = error
            }
            return exchange
        }

        private func finding(in exchange: Exchange) -> String? {
            let isWhole = exchange.error == nil && exchange.body == TransportConformance.pattern(size)
            let isRight =
                switch (fault, exchange.error?.kind) {
                case (.nothing, nil), (.chunked, nil), (.drip, nil): isWhole
                case (.cancelled, nil): isWhole
                case (.cancelled, .cancelled): true
                case (.resetBeforeHead, .connectionLost(.nothing, _)): true
                case (.closedBeforeHead, .connectionLost(.nothing, _)): true
                case (.resetInHead, .connectionLost(.head, _)): true
                case (.resetInBody, .connectionLost(.body, _)): true
                case (.shortBody, .incompleteBody(let received, let expected)):
                    received == Int64(size / 2) && expected == Int64(size)
                case (.cutChunks, .incompleteBody(let received, nil)): received == Int64(size / 2)
                case (.garbage, .malformedResponse), (.badLength, .malformedResponse), (.badChunk, .malformedResponse):
                    true
                case (.stallBeforeHead, .timedOut(.idle)), (.stallInBody, .timedOut(.idle)): true
                default: false
                }
            return isRight ? nil : "it ended with \(exchange.ending)"
        }
    }

    /// Counts the steps and the ends of a call, and cancels it at one of the steps.
    final class Steps: Call.Observer {
        private struct State {
            var passed = 0
            var endings = 0
            var isDue = false
            var wasCancelled = false
            var cancel: (@Sendable () -> Void)?
        }

        private let state = Locked(State())
        private let cancelAt: Int

        init(_ plan: Plan) {
            cancelAt = plan.fault == .cancelled ? plan.cancelStep : .max
        }

        func own(_ cancel: @escaping @Sendable () -> Void) {
            let isDue = state.withLock { state in
                state.cancel = cancel
                return state.isDue
            }
            if isDue { cancel() }
        }

        func pass() {
            let cancel = state.withLock { state -> (@Sendable () -> Void)? in
                defer { state.passed += 1 }
                guard state.passed == cancelAt else { return nil }
                state.isDue = true
                return state.cancel
            }
            cancel?()
        }

        func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .exchangeFinished, .exchangeFailed: state.withLock { $0.endings += 1 }
            default: pass()
            }
        }

        /// A call that was cancelled before it began may have had no exchange.
        func mayHaveNoExchange() {
            state.withLock { $0.wasCancelled = true }
        }

        /// The deviation in the number of its ends, after everything is over.
        var finding: String? {
            state.withLock { state in
                let isRight = state.endings == 1 || (state.endings == 0 && state.wasCancelled)
                return isRight ? nil : "it was reported to have ended \(state.endings) times"
            }
        }
    }
}
