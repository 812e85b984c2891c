#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Calls that are cancelled from outside of their task, by their scope.
extension TransportConformance {
    static let givenUp = ConformanceCase(
        "TR-62",
        "ends a call with its scope as with its task, and leaves the task alone"
    ) { context in
        for (name, delivery) in deliveries {
            await context.part("before the head, \(name)") { context in
                let server = try LoopbackServer(script: [.readRequest, .stall])
                let call = ScopedExchange(try context.transport(), try server.request(.get, "/", delivery: delivery))
                _ = try await context.within("the request") { try await server.request(at: 0) }
                call.scope.cancel()
                try await context.expectGivenUp(call)
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
            }
        }
        await context.part("in its buffered body") { context in
            let response = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"
            let server = try LoopbackServer(script: [.readRequest, .send(response), .stall])
            let call = ScopedExchange(try context.transport(), try server.request())
            try await context.within("the response") { try await server.sent(atLeast: Int64(response.utf8.count)) }
            call.scope.cancel()
            try await context.expectGivenUp(call)
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("while its body is written") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let (never, ended) = (Signal(), Signal())
            let body = Request.Body.writer { _ in
                defer { ended.raise() }
                try await never.wait()
            }
            let call = ScopedExchange(try context.transport(), try server.request(.post, "/", body: body))
            try await context.within("the writer") { try await never.arrivals(atLeast: 1) }
            call.scope.cancel()
            try await context.expectGivenUp(call)
            try await context.within("the end of the writer") { try await ended.wait() }
        }
        await context.part("before it began") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let transport = try context.transport { $0.connections.perHost = 1 }
            let scope = Call.Scope()
            scope.cancel()
            try await context.expectGivenUp(ScopedExchange(transport, try server.request(.get, "/late"), scope))
            // By the time of this response the other request would have arrived too.
            context.expect(try await context.exchange(transport, try server.request()), gives: 204)
            // A transport that observes only its task may have begun before it was notified.
            guard transport.observesScope else { return }
            context.expectEqual(server.requests.map(\.path), ["/"], "paths at the server")
        }
        await context.part("while it waits for a connection") { context in
            let server = try LoopbackServer(script: [.readRequest, .stall])
            let transport = try context.transport { $0.connections.perHost = 1 }
            let first = ScopedExchange(transport, try server.request())
            _ = try await context.within("the request") { try await server.request(at: 0) }
            let second = ScopedExchange(transport, try server.request())
            second.scope.cancel()
            try await context.expectGivenUp(second)
            first.scope.cancel()
            try await context.expectGivenUp(first)
            context.expectEqual(server.requestCount, 1, "requests at the server")
        }
        await context.part("after its end") { context in
            let mayRespond = Signal()
            let server = try LoopbackServer(
                script: [
                    .readRequest, .respond(.text("ok")), .readRequest, .wait(for: mayRespond), .respond(.text("ok")),
                ]
            )
            let transport = try context.transport { $0.connections.perHost = 1 }
            let first = ScopedExchange(transport, try server.request())
            let (exchange, _) = try await context.within("the first call") { await first.task.value }
            context.expect(exchange, gives: 200, "ok")
            let second = ScopedExchange(transport, try server.request())
            _ = try await context.within("the request") { try await server.request(at: 1) }
            // A late effect of the cancellation must not reach the second call, which uses the same connection.
            first.scope.cancel()
            mayRespond.raise()
            let (other, _) = try await context.within("the second call") { await second.task.value }
            context.expect(other, gives: 200, "ok")
        }
    }
}

/// An exchange in its own task, with the scope that cancels it.
private struct ScopedExchange {
    let scope: Call.Scope
    let task: Task<(exchange: Exchange, isTaskCancelled: Bool), Never>

    init(_ transport: any Transport, _ request: Request, _ scope: Call.Scope = Call.Scope()) {
        self.scope = scope
        task = Task { (await Exchange.perform(transport, request, scope: scope), Task.isCancelled) }
    }
}

extension ConformanceContext {
    /// Records a deviation unless the exchange was cancelled by its scope, and its task was not.
    fileprivate func expectGivenUp(_ call: ScopedExchange) async throws {
        let (exchange, isTaskCancelled) = try await within("the cancelled call") { await call.task.value }
        expectCancelled(exchange)
        expect(!isTaskCancelled, "its task was cancelled")
    }
}
