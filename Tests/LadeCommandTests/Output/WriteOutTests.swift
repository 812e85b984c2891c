import Foundation
import Lade
import LadeTesting
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
        let lost = try LoopbackServer(script: [])
        lost.stopAccepting()
        #expect(try await LadeProcess.run("-w", "%{http_code}", lost.address()).output == "000")
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
        #expect(nothing.talkLines.first == "lade: The answer has nothing at /shows/1.")
        let text = try self.server { _ in .text("no JSON") }
        #expect(try await LadeProcess.run(text.address(), "--select", "/a").status == 13)
        let failed = try self.server { _ in .json(#"{"error":1}"#, status: 400) }
        #expect(try await LadeProcess.run(failed.address(), "--select", "/a").output == #"{"error":1}"#)
    }

    @Test(
        "finds values by pointers",
        arguments: [
            (#"{"a":[1, {"b" : "x"}]}"#, "/a/1/b", "\"x\""), (#"{"a":1,"a":2}"#, "/a", "2"), (" 1.50 ", "", "1.50"),
            (#"{"a/b~":{"":[]}}"#, "/a~1b~0/", "[]"), (#"{"\u00e4":1}"#, "/ä", "1"), ("\u{FEFF}[null]", "/0", "null"),
            (#"{"0":1}"#, "/0", "1"), ("[1]", "/1", nil), ("[1]", "/00", nil), ("[1]", "/-", nil), ("{}", "/a", nil),
            ("1", "/a", nil), ("[]", "/0", nil),
        ] as [(String, String, String?)]
    )
    func pointers(json: String, pointer: String, value: String?) throws {
        let selection = JSONSelection(pointer: try JSONPointer(pointer), isRaw: false)
        guard let value else {
            #expect(throws: JSONSelection.Fault.nothingThere) { try selection.text(of: Data(json.utf8)) }
            return
        }
        #expect(try selection.text(of: Data(json.utf8)) == value + "\n")
    }

    @Test("refuses what is no JSON, wherever it breaks", arguments: ["", "{", "[1,]", "{\"a\":1", "1 2", "\u{FF}"])
    func damage(json: String) throws {
        let selection = JSONSelection(pointer: [], isRaw: true)
        #expect(throws: JSONSelection.Fault.noJSON) { try selection.text(of: Data(json.utf8)) }
    }
}
