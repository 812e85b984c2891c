import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing
import TransportDoubles

@testable import LadeCurl

@Suite("Coded bodies whose reader is slow", .timeLimit(.minutes(5)))
struct CodedStreamTests {
    @Test(
        "finding FT-10 continues in the middle of a piece, and loses and repeats no byte",
        arguments: [1, 4 << 10, 100 << 10],
        [false, true]
    )
    func resumes(highWater: Int, isChunked: Bool) async throws {
        let text = Coded.text(3_000_000)
        let gzip = Coded.deflated(text)
        let field = ServerField("Content-Encoding", "gzip")
        let pieces = stride(from: 0, to: gzip.count, by: 10_007).map { gzip.dropFirst($0).prefix(10_007) }
        let server = try LoopbackServer { _ in
            isChunked ? ServerResponse(fields: [field], body: .chunks(pieces.map { Data($0) })) : .bytes(gzip, [field])
        }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.limits.streamHighWater = highWater
        let transport = try CurlTransport(settings: settings)

        let response = try await transport.send(server.request(.get, "/", delivery: .streamed), call: Call())
        var body = Data()
        for try await chunk in response.body { body += chunk }

        #expect(body == text)
        #expect(response.metrics.responseBodyBytes == Int64(gzip.count))
        #expect(response.metrics.decodedBodyBytes == Int64(text.count))
        await transport.shutDown()
    }

    @Test("finding FH-13 what is no chunk ends a body in the middle of the piece at which its reader was too slow")
    func malformedAfterPause() async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n2,3\r\nef\r\n"
        let server = try LoopbackServer(answering: answer, then: .stall)
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.limits.streamHighWater = 1
        let transport = try CurlTransport(settings: settings)
        // Without time-outs: nothing else would end the body.
        var request = try server.request(.get, "/", delivery: .streamed)
        request.timeouts.idle = nil

        let response = try await transport.send(request, call: Call())
        var text = ""
        let error = await #expect(throws: LoadingError.self) {
            for try await chunk in response.body { text += String(decoding: chunk, as: UTF8.self) }
        }

        #expect(text == "abcd")
        guard case .malformedResponse(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.rule == .chunk)
        await transport.shutDown()
    }

    @Test(
        "finding FH-3 an empty body is a complete coded one only where the head says that it is empty",
        arguments: [
            ("200 OK", "Content-Length: 0\r\n\r\n", true), ("302 Found", "Connection: close\r\n\r\n", true),
            ("200 OK", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false),
            ("200 OK", "Connection: close\r\n\r\n", false),
        ]
    )
    func emptyBody(status: String, framing: String, isComplete: Bool) async throws {
        let answer = "HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\n\(framing)"
        let server = try LoopbackServer(answering: answer)
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)

        if isComplete {
            _ = try await transport.send(server.request(), call: Call())
        } else {
            let error = await #expect(throws: LoadingError.self) {
                try await transport.send(server.request(), call: Call())
            }
            #expect(error.map { if case .incompleteBody = $0.kind { true } else { false } } == true)
        }
        await transport.shutDown()
    }
}
