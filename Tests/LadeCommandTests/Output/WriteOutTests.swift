import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What is printed after a call, and of it.
@Suite("lade get -w and --select", .timeLimit(.minutes(5)))
struct WriteOutTests: GetSuite {
    @Test("writes variables, fields and escapes after the body, and to files as well")
    func variables() async throws {
        let server = try server { request in
            request.path == "/bad" ? .status(404) : .text("hello", [ServerField("X-A", "b")])
        }
        let format =
            #"\n%{http_code} %{size_download} %{method} %{http_version} %header{x-a} %{num_redirects}%%\t%{nl}"#
        let wrong = try await LadeProcess.run("-w", format, server.address())
        #expect(wrong.status == 1)
        #expect(wrong.talkLines.count == 2)
        let good = format.replacing("%{nl}", with: "|")
        let outcome = try await LadeProcess.run("-w", good, server.address("/x"))
        #expect(outcome.output == "hello\n200 5 GET 1.1 b 0%\t|")
        let bad = try await LadeProcess.run("-w", "%{response_code} %{exitcode}", server.address("/bad"))
        #expect(bad.status == 4)
        #expect(bad.output == "404 4")
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try await LadeProcess.run("-O", "-w", "%{filename_effective}", server.address("/x"), in: folder.path)
        #expect(file.output == "x")
        let time = try await LadeProcess.run("-w", "%{time_total}", "-o", "/dev/null", server.address("/x"))
        #expect(time.output.split(separator: ".").last?.count == 6)
        let odd = try self.server { _ in .text("hi", [ServerField("X-Odd", "\u{9B}2J")]) }
        let shown = try await LadeProcess.run("-w", #"%header{X-Odd}\n"#, odd.address(), to: .terminal)
        #expect(shown.output == "hi\r\n\\x9B2J\r\n")
        let lost = try LoopbackServer(script: [])
        lost.stopAccepting()
        #expect(try await LadeProcess.run("-w", "%{http_code}", lost.address()).output == "000")
    }

    /// What the calls of the next test have.
    private func facts(status: Response.Status?) throws -> WriteOut.Facts {
        var facts = WriteOut.Facts(request: try Request(.post, "http://h.test/a"))
        if let status {
            let headers: Headers = ["Content-Type": "a/b", "Location": "/there"]
            let request = try Request(.get, "https://h.test/b")
            var response = Response(status: status, headers: headers, request: request)
            response.version = .http2
            facts.response = response
        }
        facts.path = "file"
        (facts.redirects, facts.attempts, facts.elapsed) = (1, 3, .microseconds(2_000_030))
        (facts.connections, facts.usesProxy) = (1, true)
        facts.metrics.decodedBodyBytes = 5_000
        facts.metrics.nameLookup = .microseconds(1)
        facts.metrics.connect = .microseconds(12)
        facts.metrics.secureConnect = .microseconds(123_456)
        facts.metrics.requestStarted = .microseconds(1_000_000)
        facts.metrics.firstByte = .microseconds(1_500_000)
        facts.metrics.total = .seconds(2)
        (facts.metrics.requestHeadBytes, facts.metrics.requestBodyBytes) = (100, 20)
        (facts.metrics.responseHeadBytes, facts.metrics.responseBodyBytes) = (300, 4_000)
        (facts.metrics.remoteAddress, facts.metrics.remotePort) = ("127.0.0.1", 81)
        return facts
    }

    @Test("finding LX-10 of several types the last and of several addresses the first is written, as by curl")
    func severalFields() throws {
        var facts = try facts(status: 302)
        facts.response?.headers.add("Content-Type", "c/d")
        facts.response?.headers.add("Location", "/elsewhere")

        let text = try WriteOut("%{content_type} %{redirect_url}").text(facts)

        #expect(text == "c/d https://h.test/there")
    }

    @Test("writes each variable", arguments: WriteOut.Variable.allCases)
    func variable(_ variable: WriteOut.Variable) throws {
        // After a redirect, after a success, and without a response.
        let expected =
            switch variable {
            case .connectionCount: ["1", "1", "1"]
            case .headers:
                Array(repeating: "{\"content-type\":[\"a/b\"],\n\"location\":[\"/there\"]\n}", count: 2) + ["{\n}"]
            case .json: ["", "", ""]
            case .tunnelStatus: ["000", "000", "000"]
            case .localAddress: ["", "", ""]
            case .localPort: ["0", "0", "0"]
            case .proxyUsed: ["1", "1", "1"]
            case .delivered: ["5000", "5000", "0"]
            case .redirectTime: ["0.000030", "0.000030", "2.000030"]
            case .contentType: ["a/b", "a/b", ""]
            case .errorMessage: ["", "", "lost"]
            case .exitCode: ["0", "0", "7"]
            case .filename: ["file", "file", "file"]
            case .status, .responseCode: ["302", "200", "000"]
            case .version: ["2", "2", "0"]
            case .method: ["GET", "GET", "POST"]
            case .redirects: ["1", "1", "1"]
            case .retries: ["2", "2", "0"]
            case .redirectURL: ["https://h.test/there", "", ""]
            case .headerCount: ["2", "2", "0"]
            case .referer: ["", "", ""]
            case .number: ["0", "0", "0"]
            case .remoteAddress: ["127.0.0.1", "127.0.0.1", ""]
            case .remotePort: ["81", "81", "0"]
            case .scheme: ["https", "https", "http"]
            case .downloaded: ["4000", "4000", "0"]
            case .headSize: ["300", "300", "0"]
            case .requestSize: ["100", "100", "0"]
            case .uploaded: ["20", "20", "0"]
            case .downloadSpeed: ["2000", "2000", "0"]
            case .uploadSpeed: ["10", "10", "0"]
            case .secureConnect: ["0.123456", "0.123456", "0.000000"]
            case .connect: ["0.000012", "0.000012", "0.000000"]
            case .nameLookup: ["0.000001", "0.000001", "0.000000"]
            case .preTransfer: ["1.000000", "1.000000", "0.000000"]
            case .firstByte: ["1.500000", "1.500000", "0.000000"]
            case .total: ["2.000030", "2.000030", "2.000030"]
            case .url: ["http://h.test/a", "http://h.test/a", "http://h.test/a"]
            case .finalURL: ["https://h.test/b", "https://h.test/b", "http://h.test/a"]
            }
        var lost = try facts(status: nil)
        lost.error = CommandError(what: "lost", advice: "", code: .network)
        (lost.attempts, lost.metrics) = (1, Response.Metrics())
        let format = try WriteOut("%{\(variable.rawValue)}")

        let texts = try [facts(status: 302), facts(status: 200), lost].map(format.text)

        if variable == .json {
            #expect(texts.allSatisfy { JSONValue.isValid($0) })
        } else {
            #expect(texts == expected)
        }
    }

    @Test("collects the last exchange, every redirect and the number of attempts")
    func collector() throws {
        let collector = FactCollector()
        let call = Call(id: Call.ID(1), events: [collector])
        var metrics = Response.Metrics()
        for event in [Call.Event.attemptStarted(1), .attemptStarted(2), .attemptStarted(1)] { call.record(event) }
        for _ in 0..<2 {
            call.record(.redirectFollowed(status: 302, from: "a", to: "b", method: .get))
            metrics.responseBodyBytes += 5
            call.record(.exchangeFinished(metrics))
        }
        var facts = try facts(status: nil)

        collector.complete(&facts)

        #expect(facts.attempts == 2)
        #expect(facts.redirects == 2)
        #expect(facts.metrics.responseBodyBytes == 10)
    }

    @Test(
        "says in two lines what is wrong with a format or a pointer",
        arguments: [
            ["-w", "%{htp_code}"], ["-w", "%{http_code"], ["-w", "%header{x"], ["--select", "items"],
            ["--select", "/a~2"],
            ["--select", "/a", "-o", "x"], ["-r", "-O"],
        ]
    )
    func refuses(arguments: [String]) async throws {
        let outcome = try await LadeProcess(["get", "http://127.0.0.1:1/"] + arguments).outcome()
        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2, "\(outcome.talk)")
    }

    @Test("prints the part of an answer that --select names, as it was written")
    func selection() async throws {
        let server = try server()
        let address = server.address()
        #expect(try await LadeProcess.run(address, "--select", "/shows/0/n").output == "1.10\n")
        #expect(try await LadeProcess.run(address, "--select", "/shows/0/title").output == "\"Über\\u001b[31m\"\n")
        #expect(try await LadeProcess.run(address, "-r", "--select", "/shows/0/title").output == "Über\u{1B}[31m\n")
        let terminal = try await LadeProcess.run(address, "-r", "--select", "/shows/0/title", to: .terminal)
        #expect(terminal.output == "Über\\x1B[31m\r\n")
        let nothing = try await LadeProcess.run(address, "--select", "/shows/1")
        #expect(nothing.status == 13)
        #expect(nothing.talkLines.first == "lade: The response has nothing at /shows/1.")
        let text = try self.server { _ in .text("no JSON") }
        #expect(try await LadeProcess.run(text.address(), "--select", "/a").status == 13)
        let long = try await LadeProcess.run(address, "--select", "/shows/0/n", "--max-size", "10")
        #expect(long.status == 13)
        #expect(long.output == "")
        #expect(long.talk.contains("larger than 10 bytes"))
        let failed = try self.server { _ in .json(#"{"error":1}"#, status: 400) }
        #expect(try await LadeProcess.run(failed.address(), "--select", "/a").output == #"{"error":1}"#)
    }

    @Test(
        "finds values by pointers",
        arguments: [
            (#"{"a":[1, {"b" : "x"}]}"#, "/a/1/b", "\"x\""), (#"{"a":1,"a":2}"#, "/a", "2"), (" 1.50 ", "", "1.50"),
            (#"{"a/b~":{"":[]}}"#, "/a~1b~0/", "[]"), (#"{"\u00e4":1}"#, "/ä", "1"), ("\u{FEFF}[null]", "/0", "null"),
            (#"{"0":1}"#, "/0", "1"), ("[1]", "/1", nil), ("[1]", "/00", nil), ("[1]", "/-", nil), ("{}", "/a", nil),
            ("1", "/a", nil), ("[]", "/0", nil), (#"{"a\"b":"c\\","d":"\"}","e":1}"#, "/e", "1"),
            (#"["\\","]\"",[{}]]"#, "/2/0", "{}"),
        ] as [(String, String, String?)]
    )
    func pointers(json: String, pointer: String, value: String?) throws {
        let selection = JSONSelection(pointer: try JSONPointer(pointer), isRaw: false)
        guard let value else {
            #expect(throws: JSONSelection.Fault.nothingThere) { try selection.part(of: Data(json.utf8)) }
            return
        }
        #expect(try selection.part(of: Data(json.utf8)) == JSONSelection.Part(text: value + "\n", isJSON: true))
    }

    @Test("refuses what is no JSON, wherever it breaks", arguments: ["", "{", "[1,]", "{\"a\":1", "1 2", "\u{FF}"])
    func damage(json: String) throws {
        let selection = JSONSelection(pointer: [], isRaw: true)
        #expect(throws: JSONSelection.Fault.noJSON) { try selection.part(of: Data(json.utf8)) }
    }
}
