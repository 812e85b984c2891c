import Foundation
import LadeCore
import LadeTesting
import LadeWire
import SharedDoubles
import Testing

private let program = "/usr/bin/curl"

/// What `WireTransport` makes of exact bytes of a server beside what the `curl` program makes of them.
@Suite(
    "The curl program beside WireTransport",
    .timeLimit(.minutes(5)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: program))
)
struct CurlProgramTests {
    /// What became of an exchange, in terms that both have.
    private enum Outcome: Equatable {
        case answered(status: Int, fields: [String], body: String)
        /// The response ended early.
        case incomplete
        /// The connection was lost before a response.
        case lost
        case malformed
        case other(String)
    }

    /// One response, and why the outcomes are not equal; nil when they are.
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var response: Data
        var last: ServerStep = .close
        var difference: String?
        var method = Request.Method.get

        init(_ name: String, _ response: String, difference: String? = nil) {
            testDescription = name
            self.response = Data(response.utf8)
            self.difference = difference
        }

        init(_ name: String, _ response: String, last: ServerStep, difference: String? = nil) {
            self.init(name, response, difference: difference)
            self.last = last
        }

        init(_ name: String, to method: Request.Method, _ response: String, difference: String? = nil) {
            self.init(name, response, difference: difference)
            self.method = method
        }

        init(_ name: String, _ head: String, body: Data, difference: String? = nil) {
            self.init(name, head, difference: difference)
            response += body
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let two = "Content-Length: 2\r\n\r\nok"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
    /// “ok” in gzip.
    private static let gzipped = Data([
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 207, 6, 0, 71, 221, 220, 121, 2, 0, 0, 0,
    ])

    static let rows: [Row] = [
        Row("a length", ok + two),
        Row("no content", "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n"),
        Row("not modified", "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n"),
        Row("a body until the end", ok + "\r\nuntil the end"),
        Row("HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nuntil the end"),
        Row("HTTP/1.0 with a length", "HTTP/1.0 200 OK\r\n" + two),
        Row("without a reason", "HTTP/1.1 200 \r\n" + two),
        Row("without a space", "HTTP/1.1 200\r\n" + two),
        Row("a client's error", "HTTP/1.1 404 Not Found\r\n" + two),
        Row("a server's error", "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\n" + two),
        Row("a redirect", "HTTP/1.1 302 Found\r\nLocation: /x\r\n" + two),
        Row("an unknown status", "HTTP/1.1 299 Odd\r\n" + two),
        Row("an interim response", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + two),
        Row("two interim responses", "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\n\r\n" + ok + two),
        Row("repeated fields", ok + "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\nx-a: 4\r\n" + two),
        Row("an empty field", ok + "X-A:\r\n" + two),
        Row("bytes above 127", ok + "X-A: caf\u{E9}\r\n" + two),
        Row("to HEAD", to: .head, ok + "Content-Length: 5\r\n\r\n"),
        Row("chunks", chunked + "2\r\nok\r\n3\r\nabc\r\n0\r\n\r\n"),
        Row("no chunk", chunked + "0\r\n\r\n"),
        Row("chunks of upper and lower case digits", chunked + "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
        Row("a chunk's extension", chunked + "2;a=b\r\nok\r\n0\r\n\r\n"),
        Row("leading zeros of a chunk", chunked + "0002\r\nok\r\n000\r\n\r\n"),
        Row(
            "another coding",
            ok + "Content-Encoding: x-none\r\n" + two,
            difference: "the wire refuses a coding that it cannot decode"
        ),
        Row(
            "gzip",
            ok + "Content-Encoding: gzip\r\nContent-Length: \(gzipped.count)\r\n\r\n",
            body: gzipped,
            difference: "curl decodes on request only"
        ),
        Row("a truncated body", ok + "Content-Length: 5\r\n\r\nok"),
        Row("a reset within a body", ok + "Content-Length: 5\r\n\r\nok", last: .reset),
        Row("truncated chunks", chunked + "5\r\nok"),
        Row("no last chunk", chunked + "2\r\nok\r\n"),
        Row("nothing", ""),
        Row("a reset before a response", "", last: .reset),
        Row("another protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
        Row("another version", "HTTP/3.7 200 OK\r\n" + two),
        Row("a status of two digits", "HTTP/1.1 20 OK\r\n" + two),
        Row("a status of four digits", "HTTP/1.1 2000 OK\r\n" + two),
        Row("a length that is no number", ok + "Content-Length: two\r\n\r\nok"),
        Row("a negative length", ok + "Content-Length: -2\r\n\r\nok"),
        Row("a chunk that is no number", chunked + "xy\r\nok\r\n0\r\n\r\n"),
        Row("a NUL in a field", ok + "X-A: a\0b\r\n" + two),
        Row("a line that is no field", ok + "no colon\r\n" + two),
        Row(
            "a body longer than its length",
            ok + "Content-Length: 1\r\n\r\nok"
        ),
        Row(
            "a length above 63 bits",
            ok + "Content-Length: 99999999999999999999\r\n\r\nok",
            difference: "curl ignores it, and reads until the end"
        ),
        Row(
            "two lengths",
            ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            difference: "curl 7.88 takes one of them"
        ),
        Row(
            "a length and chunks",
            ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            difference: "curl ignores the length; a proxy may have done the opposite (RFC 9112 §6.1)"
        ),
        Row("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", difference: "curl accepts them"),
        Row("a folded field", ok + "X-A: 1\r\n 2\r\n" + two, difference: "curl unfolds it"),
        Row("a space before a colon", ok + "X-A : 1\r\n" + two, difference: "curl accepts it"),
        Row(
            "an upgrade",
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
            difference: "curl treats it as an interim response"
        ),
        Row(
            "trailers",
            chunked + "2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
            difference: "curl shows them behind the body"
        ),
    ]

    @Test("wire WR-10 the curl program finds the same status, fields, body and kind of error", arguments: rows)
    func same(row: Row) async throws {
        let server = try LoopbackServer(script: [.readRequest, .send(row.response), row.last])
        let address = "http://127.0.0.1:\(server.port)/"
        let byCurl = try await Self.curl(address, row)
        let transport = try WireTransport(settings: Self.settings)
        let own = await Self.wire(transport, address, row)
        await transport.shutDown()
        if let difference = row.difference {
            #expect(own != byCurl, "the outcomes are equal although “\(difference)” is listed")
        } else {
            #expect(own == byCurl)
        }
    }

    private static var settings: TransportSettings {
        var settings = TransportSettings()
        settings.proxy = .direct
        return settings
    }

    // MARK: - Both programs

    private static func wire(_ transport: WireTransport, _ address: String, _ row: Row) async -> Outcome {
        do {
            let response = try await transport.send(Request(row.method, address), call: Call())
            let bytes = try await response.body.collect(limit: 1 << 20)
            return .answered(
                status: response.status.code,
                fields: response.headers.map { "\($0.name): \($0.value)" },
                body: String(decoding: bytes, as: UTF8.self)
            )
        } catch {
            switch error.kind {
            case .incompleteBody, .connectionLost(.body, _): return .incomplete
            case .connectionLost: return .lost
            case .malformedResponse: return .malformed
            default: return .other("\(error)")
            }
        }
    }

    private static func curl(_ address: String, _ row: Row) async throws -> Outcome {
        let (status, output) = try await runCurl([address] + (row.method == .head ? ["-I"] : ["-i"]))
        switch status {
        case 0: return answered(output)
        case 18: return .incomplete
        // Received bytes tell whether a response had begun.
        case 52,
            56 where output.isEmpty:
            return .lost
        case 56 where !output.contains("chunked") || !output.contains("\r\n\r\n"): return .incomplete
        case 1, 8, 56, 43: return .malformed
        default: return .other("curl: \(status)")
        }
    }

    /// Reads what `curl -i` prints: heads, then the body.
    private static func answered(_ output: String) -> Outcome {
        var rest = output[...]
        while let end = rest.range(of: "\r\n\r\n") {
            let lines = rest[..<end.lowerBound].components(separatedBy: "\r\n")
            rest = rest[end.upperBound...]
            let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            guard status >= 200 else { continue }
            return .answered(
                status: status,
                fields: lines.dropFirst().map { $0.hasSuffix(":") ? $0 + " " : $0 },
                body: String(rest)
            )
        }
        return .other("curl printed no head")
    }

    private static func runCurl(_ words: [String]) async throws -> (status: Int32, output: String) {
        let output = Pipe()
        let process = try ChildProcess(
            program,
            ["-q", "-s", "--http1.1", "--noproxy", "*", "-m", "60"] + words,
            output: output.fileHandleForWriting.fileDescriptor
        )
        // What these responses print fits into the pipe.
        let status = try await process.ended()
        try output.fileHandleForWriting.close()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        return (status, String(decoding: bytes, as: UTF8.self))
    }
}
