#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Responses that never come, or fail mid-body.
extension TransportConformance {
    static let silence = ConformanceCase("TR-22", "times out on a server that never responds") { context in
        await context.part("time-out") { context in
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .stall])
            } request: {
                $0.timeouts.idle = .milliseconds(200)
            } check: { context, exchange, server in
                context.expectTimeout(exchange, .idle)
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
            }
        }
        await context.part("cancelled") { context in
            let server = try LoopbackServer(script: [.readRequest, .stall])
            let transport = try context.transport()
            let request = try server.request()
            let task = Task { await Exchange.perform(transport, request) }
            _ = try await context.within("the request") { try await server.request(at: 0) }
            task.cancel()
            context.expectCancelled(try await context.within("the cancellation") { await task.value })
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
    }

    static let resets = ConformanceCase("TR-23", "reports how much had arrived when the connection was reset") {
        context in
        for (name, bytes, progress) in [
            ("before the head", "", LoadingError.ResponseProgress.nothing),
            ("in the head", "HTTP/1.1 200 OK\r\nContent-Le", .head),
        ] {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(script: [.readRequest, .send(bytes), .reset])
                } check: { context, exchange, _ in
                    context.expectLost(exchange, progress)
                    context.expect(exchange.status == nil, "a head was delivered")
                }
            }
        }
        await context.part("in the body, buffered") { context in
            let server = try LoopbackServer(
                script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .reset]
            )
            let exchange = try await context.exchange(try context.transport(), try server.request())
            context.expectLost(exchange, .body(received: 4), isSafeToRepeat: false)
        }
        await context.part("in the body, streamed") { context in
            let signal = Signal()
            let server = try LoopbackServer(
                script: [
                    .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .wait(for: signal),
                    .reset,
                ]
            )
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            let exchange = try await context.within("the exchange") {
                var exchange = Exchange()
                do throws(LoadingError) {
                    let response = try await transport.send(request, call: Call())
                    exchange.status = response.status
                    var chunks = response.body.makeAsyncIterator()
                    while let chunk = try await chunks.next() {
                        exchange.body.append(chunk)
                        if exchange.body.count == 4 { signal.raise() }
                    }
                } catch {
                    exchange.error = error
                }
                return exchange
            }
            context.expectEqual(exchange.text, "1234", "what had arrived")
            context.expectLost(exchange, .body(received: 4), isSafeToRepeat: false)
        }
    }
}
