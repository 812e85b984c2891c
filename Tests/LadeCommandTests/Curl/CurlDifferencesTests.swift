import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// What a translated line does otherwise than curl, and the options that users of other tools meet first.
@Suite("Differences from curl", .timeLimit(.minutes(5)))
struct CurlDifferencesTests {
    private static let differences = [
        "| the exit code says the class of the status, also", "`User-Agent: lade/…`",
        "the file has its name only when it is complete",
        "ends with the result of the first that failed", "a redirect changes the method as RFC 9110 says",
        "such a redirect is refused",
        "stay behind when scheme, host or port change", "the first request has the body", "idempotent methods",
        "bare LF", "percent-encoded",
        "sent in chunks",
        "`Expect: 100-continue`", "`Content-Length: 0`", "407", "`20010203` is a date", "made harmless",
        "a space in an address",
        "another `Content-Type` than `multipart/form-data`", "unknown variables", "progress only on a terminal",
        "configuration of `lade`", "sends no `Host`", "one `Cookie` field has all pairs", "one too many",
        "the body of the last", "and the exit code says the class of the status |", "write the head of a 304",
        "a response that asks for more is the result", "a second response for the same file",
        "`--no-clobber` with `-C -`", "as `application/octet-stream`", "a comment of its own",
        "nothing is sent",
    ]

    private static let laterDifferences = [
        "`Proxy-Connection: Keep-Alive`", "`%{num_connects}` counts", "asked with HTTP/1.0", "asked with HTTP/1.1",
        "Digest, or Basic", "trailers are not shown", "nothing of it is shown", "500 fields", "contradictory framing",
        "folded header field", "with a user name", "two slashes", "zone of an IPv6 address",
        "8,190 bytes",
        "control characters are sent", "belong to the host of the address", "400 days at most", "single quotes",
        "`download`", "416 does not say", "`-H 'Name : value'`", "frames the body", "limits each request",
        "30 s of silence",
        "`--json @-`", "`%{json}`", "as `%20`", "in upper case", "the address 127.0.0.1", "fields of `--json`",
        "`--netrc` with `--digest`", "begins at the first address", "makes an empty file", "`-i` with `--max-filesize`",
        "two equal parameters", "`username*`", "gzip members", "user and the password of the address", "`%{scheme}`",
        "leaves out the folder", "a request for a tunnel", "begins elsewhere or contradicts",
        "mean something else by version",
    ]

    @Test(
        "finding CL-10 each difference that lines of curl meet stands in the documentation",
        arguments: laterDifferences
    )
    func laterDocumented(text: String) throws { try documented(text: text) }

    @Test("finding CF-25 each intended difference stands in the documentation", arguments: differences)
    func documented(text: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let page = try String(contentsOf: root.appending(path: "Documentation/ComingFromCurl.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "## Differences of translated lines").last)
        #expect(section.components(separatedBy: "\n## ")[0].contains(text))
    }

    @Test(
        "finding CF-25 what is wrong before anything is sent is shown in spite of -s",
        arguments: ["-d @nofile", "-T nofile", "-I -X GET", "--netrc-file nofile", "-F a=@nofile"]
    )
    func loudRefusal(options: String) async throws {
        let server = try LoopbackServer { _ in .text("hi") }
        let outcome = try await LadeProcess.run("get", "--from-curl", "curl -s \(options) \(server.address())")
        #expect(outcome.status != 0)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("nofile") || outcome.talk.contains("--head with --request GET"))
        #expect(server.requestCount == 0)
    }

    @Test("finding UF-7 a word in capitals before the address is the method")
    func methods() async throws {
        let server = try LoopbackServer { .text("\($0.method) \($0.text)") }
        #expect(try await LadeProcess.run("PUT", server.address(), "a=b").output == #"PUT {"a":"b"}"#)
        #expect(try await LadeProcess.run("get", "PURGE", server.address()).output == "PURGE ")
        #expect(try await LadeProcess.run("-v", "DELETE", server.address()).output == "DELETE ")
        #expect(try await LadeProcess.run("PUT").status == 1)
    }

    @Test("finding UF-7 a pipe that is not read is mentioned once, and -f with items is refused")
    func hints() async throws {
        let server = try LoopbackServer { .text("\($0.method) \($0.text)") }
        let unread = try await LadeProcess.run("get", server.address(), input: "body")
        #expect(unread.output == "GET ")
        #expect(unread.talkLines.count == 1)
        #expect(unread.talk.contains("write - after the address"))
        let read = try await LadeProcess.run("get", server.address(), "-", input: "body")
        #expect(read.output == "POST body")
        #expect(read.talk == "")
        let silent = try await LadeProcess.run("get", "-s", server.address(), input: "body")
        #expect(silent.talk == "")
        let form = try await LadeProcess.run("get", "-f", server.address(), "a=1")
        #expect(form.status == 1)
        #expect(form.talk.contains("--form"))
    }

    @Test("finding UF-8 --offline prints the request and sends nothing")
    func offline() async throws {
        let server = try LoopbackServer { _ in .text("hi") }
        let outcome = try await LadeProcess.run(
            "--offline",
            server.address("/x?token=s3cret"),
            "-u",
            "me:s3cret",
            "a=b"
        )
        #expect(outcome.status == 0)
        #expect(server.requestCount == 0)
        #expect(outcome.output.hasPrefix("POST /x?token=<redacted> HTTP/1.1\r\n"))
        #expect(outcome.output.contains("\r\nAuthorization: <redacted>\r\n"))
        #expect(outcome.output.hasSuffix("\r\n\r\n{\"a\":\"b\"}"))
        #expect(!outcome.output.contains("s3cret"))
    }

    @Test("finding UF-8 -v shows a short request body, unless it names a secret")
    func verboseBody() async throws {
        let server = try LoopbackServer { _ in .text("hi") }
        #expect(try await LadeProcess.run("-v", server.address(), "a=b").talkLines.contains(#"> {"a":"b"}"#))
        let secret = try await LadeProcess.run("-v", server.address(), "password=s3cret")
        #expect(!secret.talk.contains("s3cret"))
        let asked = try await LadeProcess.run("-v", "--show-secrets", server.address(), "password=s3cret")
        #expect(asked.talk.contains("s3cret"))
    }

    @Test("finding UF-8 -Z makes the calls at the same time, and --limit-rate receives the whole body")
    func parallel() async throws {
        let server = try LoopbackServer { .text(String(repeating: "x", count: 10) + "\($0.target)\n") }
        let addresses = (0..<5).map { server.address("/\($0)") }
        let outcome = try await LadeProcess(["get", "-Z", "--limit-rate", "10M"] + addresses).outcome()
        #expect(outcome.status == 0)
        let expected = (0..<5).map { String(repeating: "x", count: 10) + "/\($0)" }
        #expect(outcome.output.split(separator: "\n").map(String.init).sorted() == expected)
    }

    @Test("finding WF-12 --max-time ends a download that --limit-rate holds back, like curl")
    func limitsHeldBackBodies() async throws {
        // The whole body is here at once; the rate needs 8 s for it.
        let server = try LoopbackServer { _ in .text(String(repeating: "x", count: 400_000)) }
        let line = ["--limit-rate", "50k", "--max-time", "1"]
        let outcome = try await LadeProcess(["get", "-sS"] + line + [server.address()]).outcome()
        #expect(outcome.status == ExitCode.timedOut.rawValue)
    }
}
