import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// The heads of a call as `-i` and `-D` write them, beside the real curl.
@Suite("Received heads", .timeLimit(.minutes(5)), .enabled(if: RealCurl.isThere))
struct ReceivedHeadsTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Answers to paths, as bytes on the wire.
    private static func answer(to request: ServerRequest) -> Data {
        let text: String
        switch request.path {
        case "/interim":
            text = "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Early  Hints\r\nLink: </a>\r\nlink: </b>\r\n\r\n" + ok
        case "/first": text = "HTTP/1.1 302 Over There\r\nLocation: /second\r\nContent-Length: 3\r\n\r\none"
        case "/second": text = "HTTP/1.1 301\r\nLocation: /third\r\nContent-Length: 0\r\n\r\n"
        case "/digest" where request["Authorization"] == nil:
            text =
                "HTTP/1.1 401 Who Is It\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
                + "Content-Length: 2\r\n\r\nno"
        case "/old": text = "HTTP/1.0 200 Fine\r\nX-Old: 1\r\n\r\nok"
        case "/none": text = "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"
        case "/empty": text = "HTTP/1.1 299 \r\nContent-Length: 2\r\n\r\nok"
        case "/spaces":
            text = "HTTP/1.1 200  Two  spaces \t\r\nX-A:   b  \r\nx-a:c\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok"
        case "/odd":
            return Data("HTTP/1.1 200 r".utf8) + [0xE9, 0xFF] + Data("ason é\r\nX-B: ".utf8) + [0xE9]
                + Data("\r\nContent-Length: 2\r\n\r\nok".utf8)
        case "/missing": text = "HTTP/1.1 404 Gone Fishing\r\nContent-Length: 2\r\n\r\nno"
        default: text = ok
        }
        return Data((request.method == "HEAD" ? text.cut(after: "\r\n\r\n") : text).utf8)
    }

    /// Serves as an origin and as a proxy, whose tunnels lead to itself.
    private static func serve(_ connection: ServerConnection) throws {
        while true {
            let request = try connection.readRequest()
            if request.method == "CONNECT" {
                guard request.target.hasPrefix("open") else {
                    try connection.send("HTTP/1.1 403 Not You\r\nX-Proxy: 1\r\nContent-Length: 2\r\n\r\nno")
                    try connection.close()
                }
                try connection.send("HTTP/1.0 200 Tunnel  made\r\nX-Proxy: 1\r\n\r\n")
            } else {
                try connection.send(answer(to: request))
                if request.path == "/old" { try connection.close() }
            }
        }
    }

    private struct Run: Equatable {
        var output: String
        var file: String
    }

    /// Runs either program; `H` in the words is the server's authority.
    private func run(_ words: String, byCurl: Bool, naming option: [String]) async throws -> Run {
        let server = try LoopbackServer(serving: Self.serve)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let arguments = words.replacing("H/", with: server.authority + "/").split(separator: " ").map(String.init)
        let all = (byCurl ? ["-q", "-sS"] : ["get", "--no-config", "-sS"]) + option + arguments
        let program = byCurl ? RealCurl.path : LadeProcess.path
        let outcome = try await LadeProcess(all, program: program, in: folder.path).outcome()
        let file = try? Data(contentsOf: URL(fileURLWithPath: folder.path + "FILE"))
        return Run(
            output: outcome.output.replacing(server.authority, with: "H"),
            file: String(decoding: file ?? Data(), as: UTF8.self)
        )
    }

    private static let lines: [String] = [
        "http://H/", "http://H/interim", "-L http://H/first", "http://H/first", "-I http://H/none",
        "-I -L http://H/first", "-L --max-redirs 1 http://H/first", "--digest -u ann:pw http://H/digest",
        "http://H/old", "http://H/none", "http://H/empty", "http://H/spaces", "http://H/odd", "http://H/missing",
        "-p -x http://H/ http://open.test/spaces", "-p -L -x http://H/ http://open.test/first",
        "-p -x http://H/ http://shut.test/", "-x http://H/ http://open.test/odd", "http://H/interim http://H/none",
        "-d a=b http://H/interim",
    ]

    @Test("finding CF-30 -i and -D write every head of the call as it was received", arguments: lines)
    func heads(_ words: String) async throws {
        for option in [["-i"], ["-D", "FILE"], ["-i", "-o", "FILE"], ["-D", "-"]] {
            // Statuses that are no success make no file, and curl writes two copies of a head line by line.
            let makesNoFile =
                ["/missing", "shut", "--max-redirs", "/interim http:", "-I"].contains { words.contains($0) }
                || words.contains("/first") && !words.contains("-L")
            if option == ["-i", "-o", "FILE"], makesNoFile { continue }
            if option == ["-D", "-"], words.contains("-I") { continue }
            let expected = try await run(words, byCurl: true, naming: option)
            let actual = try await run(words, byCurl: false, naming: option)
            #expect(actual == expected, "\(option) \(words)")
            #expect(expected.output.hasPrefix("HTTP/") || expected.file.hasPrefix("HTTP/"))
        }
    }

    @Test("finding CF-30 the heads of failed attempts are heads of the call")
    func retries() async throws {
        let busy = "HTTP/1.1 503 Not  Now\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
        let server = try LoopbackServer(serving: { connection in
            for text in [busy, Self.ok] {
                try connection.readHead()
                try connection.send(text)
            }
        })

        let outcome = try await LadeProcess.run("get", "--no-config", "--retry", "1", "-i", server.address())

        #expect(outcome.output == busy + Self.ok)
    }
}

extension String {
    fileprivate func cut(after end: String) -> String {
        range(of: end).map { String(self[..<$0.upperBound]) } ?? self
    }
}
