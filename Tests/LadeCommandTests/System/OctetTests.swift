import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Octets from the arguments, the environment, files and the terminal: they arrive as they are, or nothing is sent.
@Suite("Octets that are no text", .timeLimit(.minutes(5)))
struct OctetTests {
    /// Runs a line of bash, in which `lade` is the program and `H` the server; its `$'…'` makes any octet.
    private func run(
        _ line: String,
        _ server: LoopbackServer,
        in folder: TemporaryFolder
    ) async throws -> LadeProcess.Outcome {
        let text = line.replacing("H/", with: server.address("/"))
        return try await LadeProcess.run(
            "-c",
            "lade() { '\(LadeProcess.path)' \"$@\"; }; \(text)",
            program: "/bin/bash",
            in: folder.path,
            environment: ["LC_ALL": "C"]
        )
    }

    private func server() throws -> LoopbackServer {
        try LoopbackServer { request in
            .text(request.target + " " + request.body.map { String($0) }.joined(separator: " "))
        }
    }

    @Test(
        "finding CL-4 an argument that is no UTF-8 is refused by its number, and nothing is sent or made",
        arguments: [
            (#"lade get -d $'a=\xfc' H/"#, 3), (#"lade get -o $'\xfc.txt' H/"#, 3), (#"lade get H/ $'n=\xc3'"#, 3),
            (#"lade $'H/\xff'"#, 1), (#"lade get -H $'X: \xe2\x82' H/"#, 3), (#"lade get -u $'a:\xfc' H/"#, 3),
            (#"lade get H/ --secret-env $'\xfc'"#, 4), (#"lade pages H/ -o $'\xed\xa0\x80'"#, 4),
            (#"lade $'\xfc'"#, 1), (#"lade get --from-curl $'curl -d \xfc H/'"#, 3),
        ]
    )
    func arguments(line: String, number: Int) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        let outcome = try await run(line, server, in: folder)
        #expect(outcome.status == 1 && outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(outcome.talk.contains("argument \(number) is no text in UTF-8"), "\(outcome.talk)")
        #expect(server.requestCount == 0 && folder.names == [])
    }

    @Test(
        "finding CL-4 a variable that is no UTF-8 is refused by its name",
        arguments: [
            #"HOME=$'/\xfc' lade get H/"#, #"http_proxy=$'http://\xfc:1@127.0.0.1:1' lade get H/"#,
            #"HUSH=$'\xfc' lade get --auth bearer --secret-env HUSH H/"#, #"NETRC=$'\xfc' lade get --netrc H/"#,
            #"HUSH=$'\xfc' lade get --auth basic:me --secret-env HUSH H/"#,
        ]
    )
    func variables(line: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        // The function is no program, to which the shell would pass the variable.
        let outcome = try await run(line.replacing(" lade ", with: " '\(LadeProcess.path)' "), server, in: folder)
        #expect(outcome.status == 1 && outcome.talkLines.count == 2, "\(outcome.talk)")
        let name = String(line.prefix { $0 != "=" })
        #expect(outcome.talk.contains("the variable \(name) is no text in UTF-8"), "\(outcome.talk)")
        #expect(server.requestCount == 0)
    }

    @Test(
        "finding CL-4 what is a text in a file is refused with its line where it is no UTF-8",
        arguments: [
            ("lade get -H @latin H/", "line 2"), ("lade get -w @latin H/", "latin"),
            ("lade get --etag-compare latin H/", "line 2"), ("lade get -F 'a=b;headers=@latin' H/", "line 2"),
            ("lade get --secret-fd 3 --auth bearer H/ 3<latin", "secret"), ("lade get -K latin H/", "line 2"),
            ("chmod 600 latin; lade get --netrc-file latin H/", "line 2"), ("lade get 'H/' 'X-A:@latin'", "X-A"),
            ("lade get 'http://%FC:pw@127.0.0.1:1/'", "the user in the address"),
            ("lade get -x 'http://%FC:pw@127.0.0.1:1' H/", "--proxy"),
        ]
    )
    func files(line: String, part: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        try Data("X-A: b\nX-B: \u{FC}\n".unicodeScalars.map { UInt8($0.value) })
            .write(to: URL(filePath: folder.path + "latin"))
        let outcome = try await run(line, server, in: folder)
        #expect(outcome.status != 0 && outcome.talk.contains(part), "\(outcome.status) \(outcome.talk)")
        #expect(server.requestCount == 0)
    }

    @Test(
        "finding CL-4 what is octets stays octets",
        arguments: [
            ("lade get --data-binary @latin H/", "/ 97 61 252"), ("lade get -d @latin H/", "/ 97 61 252"),
            ("lade get -G -d @latin H/", "/?a=%FC "), ("lade get --data-urlencode @latin H/", "/ 97 37 51 68 37 70 67"),
            (#"lade get --from-curl "curl -d \$'a=\\xfc' H/""#, "/ 97 61 252"),
            ("lade get --url-query +a=%FC H/", "/?a=%FC "),
        ]
    )
    func octets(line: String, output: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        try Data([0x61, 0x3D, 0xFC]).write(to: URL(filePath: folder.path + "latin"))
        let outcome = try await run(line, server, in: folder)
        #expect(outcome.status == 0, "\(outcome.talk)")
        if line.contains("urlencode") {
            #expect(outcome.output.hasPrefix("/ 97 ") && outcome.output.hasSuffix("37 70 67"), "\(outcome.output)")
        } else {
            #expect(outcome.output == output)
        }
    }

    @Test("finding CL-4 a printed line of curl has the octets of the body", .enabled(if: RealCurl.isThere))
    func printed() async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        let printed = try await run(#"lade get --curl --from-curl "curl -d \$'a=\\xfc' H/""#, server, in: folder)
        #expect(printed.status == 0 && server.requestCount == 0, "\(printed.talk)")
        _ = try await run(
            printed.output.replacing("curl ", with: "\(RealCurl.path) -q -s ", maxReplacements: 1),
            server,
            in: folder
        )
        #expect(try await server.request(at: 0).body == Data([0x61, 0x3D, 0xFC]))
    }

    @Test("finding CL-4 a name of escapes that are no UTF-8 keeps them, so that names that differ stay different")
    func names() async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        let outcome = try await run("lade get -O 'H/%FC' -O 'H/%FD' --next -OJ 'H/%FE'", server, in: folder)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(folder.names == ["%FC", "%FD", "%FE"])
    }

    @Test("finding CL-4 values of fields are written as the octets that arrived", .enabled(if: RealCurl.isThere))
    func received() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let head = Data(
            "HTTP/1.1 200 OK\r\nETag: \"t\u{FC}\"\r\nX-A: \u{FC}\r\nContent-Type: a/\u{FC}\r\n".unicodeScalars.map {
                UInt8($0.value)
            }
        )
        let rest = Data("Content-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        let format = "%header{x-a} %{content_type} %header{x-a:all:,} %{header_json}"
        var results: [[Data]] = []
        for isOurs in [true, false] {
            let server = try LoopbackServer(script: [.readRequest, .send(head + rest)])
            let line = "-s --etag-save tag -w '\(format)' -o out H/ > written"
            let outcome = try await run(
                isOurs ? "lade get " + line : "\(RealCurl.path) -q " + line,
                server,
                in: folder
            )
            #expect(outcome.status == 0, "\(outcome.talk)")
            results.append(["tag", "written"].compactMap { FileManager.default.contents(atPath: folder.path + $0) })
        }
        #expect(results[0][0] == results[1][0] && results[0][0].contains(0xFC))
        #expect(results[0][1].starts(with: [0xFC, 0x20, 0x61, 0x2F, 0xFC, 0x20, 0xFC, 0x20]))
    }

    @Test("finding CL-4 the name of a file behind --variable is refused where it is no UTF-8")
    func nameOfVariable() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // The name that a repair would make of it.
        _ = try folder.file("\u{FFFD}", "other")
        var variables = CurlVariables()
        #expect(throws: CommandError.self) { try variables.set(Array("v@\(folder.path)".utf8) + [0xFC]) }
    }

    // MARK: - Prompts

    private static let setsid = "/usr/bin/setsid"
    private static var hasSetsid: Bool { FileManager.default.isExecutableFile(atPath: setsid) }

    @Test(
        "finding CL-7 a terminal that gives no line gives no password, and nothing is sent",
        .enabled(if: hasSetsid),
        arguments: [("\u{4}", 1), ("abc\u{4}\u{4}", 1), ("\n", 0), ("abc\n", 0)] as [(String, Int32)]
    )
    func ends(typed: String, status: Int32) async throws {
        let server = try LoopbackServer { _ in .status(204) }
        let proxied = ["-x", server.authority, "-U", "ann"]
        for options in [["-u", "ann"], ["--auth", "basic:ann"], proxied, proxied + ["--proxy-digest"]] {
            let before = server.requestCount
            let arguments = ["--wait", "--ctty", LadeProcess.path, "get"] + options + [server.address()]
            let process = try LadeProcess(arguments, program: Self.setsid, to: .terminal)
            let place = options.contains("-U") ? "the proxy 127.0.0.1" : "127.0.0.1"
            try await process.output(atLeast: "Password of ann at \(place): ".count)
            try process.type(typed)
            let outcome = try await process.outcome()
            #expect(outcome.status == status, "\(outcome.talk)")
            #expect(server.requestCount == before + (status == 0 ? 1 : 0))
            if status != 0 { #expect(outcome.talk.contains("the terminal gave no password"), "\(outcome.talk)") }
        }
    }

    @Test("finding CL-7 a job in the background asks for no password, and nothing is sent", .enabled(if: hasSetsid))
    func background() async throws {
        let server = try LoopbackServer { _ in .status(204) }
        let line = "set -m; '\(LadeProcess.path)' get -u ann \(server.address()) & wait $!; exit $?"
        let process = try LadeProcess(
            ["--wait", "--ctty", "/bin/bash", "-c", line],
            program: Self.setsid,
            to: .terminal
        )
        let outcome = try await process.outcome()
        #expect(outcome.status == 1 && outcome.talk.contains("in the background"), "\(outcome.talk)")
        #expect(server.requestCount == 0)
    }

    @Test(
        "finding CL-7 an entry of .netrc without a password is a question, and nothing is sent without an answer",
        .enabled(if: hasSetsid)
    )
    func netrcWithoutPassword() async throws {
        let server = try LoopbackServer { .text($0["Authorization"] ?? "-") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (name, text) in [
            ("bare", "machine 127.0.0.1 login ann"), ("empty", "machine 127.0.0.1 login ann password \"\""),
        ] {
            let path = try folder.file(name, text)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        func ask(_ arguments: [String]) async throws -> LadeProcess.Outcome {
            // Without a terminal nothing can be asked.
            let words = ["--wait", LadeProcess.path, "get"] + arguments
            return try await LadeProcess(words, program: Self.setsid, in: folder.path).outcome()
        }
        for options in [[], ["-u", "ann"]] {
            let bare = try await ask(["--netrc-file", "bare"] + options + [server.address()])
            #expect(bare.status == 1 && bare.talk.contains("no terminal"), "\(bare.talk)")
        }
        #expect(server.requestCount == 0)
        let basic = "Basic " + Data("ann:".utf8).base64EncodedString()
        #expect(try await ask(["--netrc-file", "empty", server.address()]).output == basic)
        #expect(try await ask(["--from-curl", "curl --netrc-file bare \(server.address())"]).output == basic)
    }

    @Test("finding CL-7 a line is what ends with its end, from a terminal that works")
    func lines() throws {
        for (text, line) in [("abc\n", "abc"), ("\n", ""), ("a\r\n", "a"), ("abc", nil), ("", nil)]
            as [(String, String?)]
        {
            var ends: [Int32] = [0, 0]
            #if canImport(Glibc)
                let type = Int32(SOCK_STREAM.rawValue)
            #else
                let type = SOCK_STREAM
            #endif
            #expect(socketpair(AF_UNIX, type, 0, &ends) == 0)
            let (terminal, user) = (Descriptor(number: ends[0]), Descriptor(number: ends[1]))
            try user.write(text.utf8)
            #expect(shutdown(user.number, Int32(SHUT_WR)) == 0)
            #expect(try PasswordPrompt.line(from: terminal, after: "? ") == line.map { Array($0.utf8) })
            try terminal.close()
            #expect(throws: SystemError.self) { try PasswordPrompt.line(from: terminal, after: "? ") }
            try user.close()
        }
    }
}
