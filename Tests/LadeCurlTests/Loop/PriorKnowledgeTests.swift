import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeCurl

/// HTTP/2 in clear with prior knowledge.
@Suite("HTTP/2 with prior knowledge", .timeLimit(.minutes(5)))
struct PriorKnowledgeTests {
    /// Answers each request with 200 and `ok`, over HTTP/2 without TLS.
    private static func serve(_ connection: ServerConnection) throws {
        var bytes = Data()
        func take(_ count: Int) throws -> [UInt8] {
            while bytes.count < count { bytes.append(try connection.receive()) }
            defer { bytes = Data(bytes.dropFirst(count)) }
            return Array(bytes.prefix(count))
        }
        // The preface; then SETTINGS of the server without values.
        _ = try take(24)
        try connection.send(Data([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        while true {
            let head = try take(9)
            _ = try take(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
            switch (head[3], head[4] & 1) {
            case (4, 0): try connection.send(Data([0, 0, 0, 4, 1, 0, 0, 0, 0]))
            // HEADERS with ":status: 200", and DATA with END_STREAM, on the stream of the request.
            case (1, _):
                try connection.send(
                    Data([0, 0, 1, 1, 4] + head[5...] + [0x88] + [0, 0, 2, 0, 1] + head[5...]) + Data("ok".utf8)
                )
            default: break
            }
        }
    }

    private static func send(_ transport: CurlTransport, _ server: LoopbackServer, _ delivery: Request.Delivery)
        async throws
    {
        var request = try server.request()
        request.version = .http2PriorKnowledge
        request.delivery = delivery
        let response = try await transport.send(request, call: Call())
        #expect(response.version == .http2)
        #expect(String(decoding: try await response.body.collect(limit: 10), as: UTF8.self) == "ok")
    }

    @Test(
        "finding RF-5 every request with prior knowledge of HTTP/2 has a connection of its own",
        arguments: [Request.Delivery.streamed, .buffered(limit: 10)]
    )
    func manyRequests(_ delivery: Request.Delivery) async throws {
        let server = try LoopbackServer(serving: Self.serve)
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 2
        let transport = try CurlTransport(settings: settings)

        for _ in 0..<3 { try await Self.send(transport, server, delivery) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await Self.send(transport, server, delivery) } }
            try await group.waitForAll()
        }

        #expect(server.connections.count == 11)
        await transport.shutDown()
    }
}
