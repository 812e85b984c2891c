#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Connections that are kept open.
extension TransportConformance {
    static let idleClose = ConformanceCase("TR-56", "survives the close of an idle connection") { context in
        let response = ServerStep.respond(.text("ok"))
        await context.part("seen before the call") { context in
            let server = try LoopbackServer(script: [.readRequest, response, .close])
            let transport = try context.transport()
            for number in 0..<5 {
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                _ = try await context.within("the close") { try await server.connectionClosed(at: number) }
            }
        }
        for (name, step) in [("close", ServerStep.close), ("reset", .reset)] {
            for (method, body) in [(Request.Method.get, nil), (.put, Request.Body.text("again"))] {
                await context.part("in a race with the call: \(method), \(name)") { context in
                    let server = try LoopbackServer { index in
                        index == 0 ? [.readRequest, response, .readRequest, step] : [.readRequest, response, .stall]
                    }
                    let transport = try context.transport()
                    context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                    let request = try server.request(method, "/", body: body)
                    context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                    // A request with a body may also be sent on a connection that was never used.
                    let counts = body == nil ? 3...3 : 2...3
                    let count = server.requestCount
                    context.expect(counts.contains(count), "\(count) requests at the server, the repeated one included")
                    context.expectEqual(server.requests.last?.text, body == nil ? "" : "again", "the repeated body")
                    // The transport alone decides about a repetition, and libcurl opens no connection for its own.
                    context.expectEqual(server.acceptedCount, 2, "connections")
                }
            }
        }
        await context.part("a server that is quick to close") { context in
            let port = try context.peers.port("nginxShortKeepAlive")
            let transport = try context.transport()
            let request = try Request(.get, "http://127.0.0.1:\(port)/small.json")
            for _ in 0..<context.scaled(500) {
                let exchange = try await context.exchange(transport, request)
                guard exchange.error == nil else { return context.expect(exchange, gives: 200) }
            }
        }
    }
}
