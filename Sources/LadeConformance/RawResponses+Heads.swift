#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Heads.
extension TransportConformance {
    static let largeHeads = ConformanceCase("TR-16", "refuses a head above its limits before it is in memory") {
        context in
        func fields(_ count: Int) -> String { (0..<count).map { "X-\($0): 1\r\n" }.joined() }
        // `okRest` has one field more.
        for count in [499, 500, 999] {
            await context.part("\(count + 1) fields") { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n" + fields(count) + okRest)
                } check: { context, exchange, _ in
                    guard count >= 500 else { return context.expect(exchange, gives: 200, "ok") }
                    context.expect(exchange, failsWith: "too many fields") {
                        if case .headTooLarge(.fields(500)) = $0.kind { true } else { false }
                    }
                }
            }
        }
        await context.part("1,000 fields within a limit of 2,000") { context in
            await context.eachDelivery {
                try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n" + fields(1000) + okRest)
            } _: {
                $0.limits.headFields = 2000
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200, "ok")
                context.expectEqual(exchange.headers.count, 1001, "fields")
            }
        }
        let long = "X-Long: " + String(repeating: "x", count: 900) + "\r\n"
        await expectHeadTooLarge(context, "a head without end", limit: nil) { try $0.send(long) }
        await expectHeadTooLarge(context, "interim heads without end", limit: nil) {
            try $0.send("HTTP/1.1 103 Early Hints\r\n" + long + "\r\n")
        }
        for excess in [0, 1] {
            await context.part("a head \(excess) bytes above the limit") { context in
                let head = "HTTP/1.1 200 OK\r\n" + long + "Content-Length: 2\r\n\r\n"
                let limit = head.utf8.count - excess
                await context.eachDelivery {
                    try LoopbackServer(answering: head + "ok")
                } _: {
                    $0.limits.headBytes = limit
                } check: { context, exchange, _ in
                    guard excess > 0 else { return context.expect(exchange, gives: 200, "ok") }
                    context.expect(exchange, failsWith: "a head of more than \(limit) bytes") {
                        if case .headTooLarge(.bytes(limit)) = $0.kind { true } else { false }
                    }
                }
            }
        }
        await expectHeadTooLarge(context, "a smaller limit", limit: 4096) { try $0.send(long) }
        await context.part("a single line") { context in
            await context.eachDelivery {
                let line = "X-Long: " + String(repeating: "x", count: 300 << 10)
                return try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n\(line)\r\n" + okRest)
            } check: { context, exchange, _ in
                context.expect(exchange, failsWith: "a head too large") {
                    if case .headTooLarge = $0.kind { true } else { false }
                }
            }
        }
    }

    private static func expectHeadTooLarge(
        _ context: ConformanceContext,
        _ name: String,
        limit setting: Int?,
        _ send: @escaping @Sendable (ServerConnection) throws -> Void
    ) async {
        // The default is 256 KiB.
        let limit = setting ?? 256 << 10
        await context.part(name) { context in
            await context.eachDelivery {
                var options = LoopbackServer.Options()
                options.sendBuffer = 64 << 10
                return try LoopbackServer(options) { connection in
                    try connection.readRequest()
                    if !name.contains("interim") { try connection.send("HTTP/1.1 200 OK\r\n") }
                    while true { try send(connection) }
                }
            } _: {
                if let setting { $0.limits.headBytes = setting }
            } check: { context, exchange, server in
                context.expect(exchange, failsWith: "a head of more than \(limit) bytes") {
                    if case .headTooLarge(.bytes(limit)) = $0.kind { true } else { false }
                }
                // The server sends until it is disconnected: no more than it has sent can be in memory. The rest is in the
                // buffers of the system, which grow as the client reads: on Linux up to 6 MiB by default.
                try await context.within("cutting the server off") { try await server.open(atMost: 0) }
                let sent = server.connections.first?.bytesSent ?? 0
                context.expect(sent < Int64(limit) + 8 << 20, "the server could send \(sent) bytes")
            }
        }
    }

    static let interimHeads = ConformanceCase(
        "TR-17",
        "reports interim responses as events and returns the final one"
    ) {
        context in
        await context.eachDelivery {
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
            return try LoopbackServer(answering: interim + "HTTP/1.1 200 OK\r\n" + okRest)
        } check: { context, exchange, _ in
            context.expect(exchange, gives: 200, "ok")
            context.expectEqual(exchange.interimStatuses, [100, 103], "interim responses reported")
            let link = exchange.events.contains { event in
                guard case .interimResponse(103, let headers) = event else { return false }
                return headers["Link"] == "</a.css>"
            }
            context.expect(link, "the fields of the interim response were not reported")
            context.expect(
                !exchange.headers.contains("Link"),
                "the fields of the interim response leaked into the final"
            )
        }
    }

    static let unaskedUpgrade = ConformanceCase("TR-18", "fails on an unrequested switch of protocols") {
        context in
        await context.eachDelivery {
            try LoopbackServer(
                answering: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\nother",
                then: .stall
            )
        } check: { context, exchange, _ in
            context.expect(exchange, failsWith: "an error") { !$0.isCancellation }
            context.expect(exchange.status == nil, "the switch was delivered: \(exchange.ending)")
        }
    }

    static let statusRange = ConformanceCase("TR-20", "accepts status 999 and refuses 99 and 1000") { context in
        await context.part("999") { context in
            await context.eachDelivery {
                try LoopbackServer(answering: "HTTP/1.1 999 Odd\r\n" + okRest)
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 999, "ok")
            }
        }
        for status in ["99", "1000", "099", "2OO", "-200"] {
            await context.part(status) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: "HTTP/1.1 \(status) Odd\r\n" + okRest)
                } check: { context, exchange, _ in
                    context.expectMalformed(exchange)
                }
            }
        }
    }
}
