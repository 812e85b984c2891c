import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What lines of curl use most: variables, positions, jars that begin, dates, targets, proxies that ask for a proof.
@Suite("Features of translated lines", .timeLimit(.minutes(5)))
struct CurlFeaturesTests {
    private func settings(_ line: String) throws(CommandError) -> GetSettings {
        var settings = GetSettings()
        try CurlReader.read(line, into: &settings)
        return settings
    }

    private func run(_ line: String, in folder: TemporaryFolder) async throws -> LadeProcess.Outcome {
        try await LadeProcess.run("get", "--no-config", "--from-curl", line, in: folder.path)
    }

    // MARK: - Variables

    @Test(
        "finding CL-9 variables are expanded as curl documents",
        arguments: [
            ("x{{v}}y", "xa b\"y"), ("{{v:url}}", "a%20b%22"), ("{{v:json}}", #"a b\""#), ("{{v:b64}}", "YSBiIg=="),
            ("{{coded:64dec}}", "white-whale"), ("{{v:64dec}}", "[64dec-fail]"), ("<{{space:trim}}>", "<in>"),
            ("{{none}}|", "|"), (#"\{{v}} {{v}}"#, #"{{v}} a b""#), (#"\{{v}}"#, #"\{{v}}"#), ("{{ v }}", "{{ v }}"),
            ("{{v", "{{v"), ("{{}}", "{{}}"), ("{{a-b}}{{part}}", "{{a-b}}34"), ("{{rest}}{{beyond}}", "345"),
            ("{{v:b64:url}}", "YSBiIg%3D%3D"), ("{{second}}", "again"), ("{{given}}", "default"),
        ]
    )
    func expands(text: String, expected: String) throws {
        var variables = CurlVariables()
        let given = [
            "v=a b\"", "coded=d2hpdGUtd2hhbGU=", "space= \t in\n ", "part[3-4]=012345", "rest[3-]=012345",
            "beyond[9-12]=0123",
            "second=once", "second=again", "%LADE_NO_SUCH_VARIABLE=default", "alias=x",
        ]
        for argument in given { try variables.set(Array((argument == "alias=x" ? "given=default" : argument).utf8)) }
        #expect(
            String(decoding: try variables.expanded(Array(text.utf8), of: "expand-data"), as: UTF8.self) == expected
        )
    }

    @Test(
        "finding CL-9 what is no variable is refused before anything is sent",
        arguments: [
            "--variable v", "--variable a-b=c", "--variable =c", "--variable v[3-2]=x", "--variable v[a]=x",
            "--variable %LADE_NO_SUCH_VARIABLE", "--variable v=x --expand-data '{{v:super}}'",
            "--variable v=x --expand-data '{{v:}}'", "--variable v=x --expand-include",
            "--variable z=AA== --expand-data '{{z:64dec}}'", "--expand-nothing x", "--variable v@/no/such/file",
        ]
    )
    func refusesVariables(options: String) {
        #expect(throws: CommandError.self) { try settings("curl \(options) http://h/") }
    }

    @Test("finding CL-9 variables are octets, may come from files, and stay for the next operation")
    func variablesOfFiles() async throws {
        let server = try LoopbackServer { .text("\($0.target) \($0.text)\n") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try Data([0x20, 0xFF, 0x41, 0x0A]).write(to: URL(filePath: folder.path + "v"))
        _ = try folder.file("config", "variable = name=config\nexpand-url = \"\(server.address("/{{name}}"))\"\n")
        let line =
            "curl --variable v@v --expand-data '{{v:trim:url}}' \(server.address("/a")) --next "
            + "--expand-data '{{v:trim}}' \(server.address("/b")) --next -K config"
        let outcome = try await run(line, in: folder)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(outcome.output == "/a %FFA\n/b \u{FFFD}A\n/config \n")
        #expect(try await server.request(at: 1).body == Data([0xFF, 0x41]))
    }

    // MARK: - Positions

    private static func rest(_ request: ServerRequest) -> ServerResponse {
        let body = "0123456789"
        if request.path == "/whole" { return .text(body) }
        guard let range = request["Range"], let first = Int(range.dropFirst("bytes=".count).dropLast()),
            first < body.count
        else { return .status(416, [ServerField("Content-Range", "bytes */\(body.count)")]) }
        let part = String(body.dropFirst(first))
        return .text(
            part,
            status: 206,
            [ServerField("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")]
        )
    }

    @Test("finding CL-9 -C NUMBER asks for the rest, and adds it to the file")
    func continuesAt() async throws {
        let server = try LoopbackServer { Self.rest($0) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", "abc")
        let shown = try await run("curl -s -C 4 \(server.address("/f"))", in: folder)
        #expect(shown.output == "456789")
        #expect(try await server.request(at: 0)["Range"] == "bytes=4-")
        #expect(try await run("curl -s -C 8 -o f \(server.address("/f"))", in: folder).status == 0)
        #expect(folder.text("f") == "abc89")
        #expect(try await run("curl -s -C 3 -O \(server.address("/g"))", in: folder).status == 0)
        #expect(folder.text("g") == "3456789")
        // As many bytes as there are: nothing is missing.
        #expect(try await run("curl -s -C 10 -o f \(server.address("/f"))", in: folder).status == 0)
        #expect(try await run("curl -s -f -C 10 -o f \(server.address("/whole"))", in: folder).status == 0)
        // A server that sends the whole: the file stays.
        let refused = try await run("curl -sS -C 5 -o f \(server.address("/whole"))", in: folder)
        #expect(refused.status != 0)
        #expect(refused.talkLines.count == 2)
        #expect(folder.text("f") == "abc89")
        #expect(try await run("curl -s -C 0 \(server.address("/whole"))", in: folder).output == "0123456789")
        #expect(try await run("curl -s -C - \(server.address("/whole"))", in: folder).output == "0123456789")
    }

    @Test(
        "finding CL-1 with -C NUMBER a file gets the rest that begins there, and nothing else",
        arguments: ["", "-i", "-f", "-s"],
        [
            ("206", "bytes 0-4/10"), ("206", "bytes 6-9/10"), ("206", "bytes 5-9/10, bytes 0-4/10"),
            ("206", "pages 5-9/10"),
            ("206", "bytes 5"), ("206", ""), ("200", ""), ("404", ""), ("503", "bytes 0-4/10"), ("416", "bytes */20"),
        ]
    )
    func otherRests(option: String, answer: (status: String, range: String)) async throws {
        let server = try LoopbackServer { _ in
            let fields = answer.range.isEmpty ? [] : [ServerField("Content-Range", answer.range)]
            return .text("012345678", status: Int(answer.status) ?? 0, fields)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", "abcde")
        let outcome = try await run("curl -sS -C 5 \(option) -o f \(server.address("/f"))", in: folder)
        let whole = answer.status == "404" ? [4] : answer.status == "503" ? [5] : [4, 7, 14] as [Int32]
        #expect(whole.contains(outcome.status) && outcome.talkLines.count == 2, "\(outcome.status) \(outcome.talk)")
        #expect(folder.text("f") == "abcde" && folder.names == ["f"])
        // Nothing is missing: the file has as many bytes as the resource.
        let all = try await run("curl -sS -C 9 \(option) -o f \(server.address("/f"))", in: folder)
        #expect((all.status == 0) == (answer.status == "200") && folder.text("f") == "abcde", "\(all.talk)")
        let shown = try await run("curl -sS -C 5 \(server.address("/f"))", in: folder)
        #expect(shown.status != 0 && shown.output.isEmpty, "\(shown.output)")
    }

    @Test("finding CL-9 -C NUMBER leaves out the beginning of an upload")
    func uploadsTheRest() async throws {
        let server = try LoopbackServer { .text("\($0["Content-Range"] ?? "-") \($0.text)") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", "0123456789")
        #expect(try await run("curl -s -T f -C 4 \(server.address())", in: folder).output == "bytes 4-9/10 456789")
        #expect(try await run("curl -s -T f -C - \(server.address())", in: folder).output == "bytes 0-9/10 0123456789")
        for options in ["-d x -C 4", "-C x", "-C -1", "-C 4 --no-clobber -o f", "-T f -C 11"] {
            let before = server.requestCount
            #expect(try await run("curl -s \(options) \(server.address())", in: folder).status != 0, "\(options)")
            #expect(server.requestCount == before, "\(options)")
        }
    }

    // MARK: - Cookies, dates, fields

    @Test(
        "finding CL-9 -b of a file that does not exist begins a jar",
        arguments: ["-b jar -c jar", "-b none", "-b '' -c jar"]
    )
    func beginsJar(options: String) async throws {
        let server = try LoopbackServer { .text("\($0["Cookie"] ?? "-") ", [ServerField("Set-Cookie", "a=b; Path=/")]) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await run("curl -s \(options) \(server.address("/1")) \(server.address("/2"))", in: folder)
        #expect(outcome.output == "- a=b ")
        #expect(folder.names.contains("jar") == options.contains("-c"))
    }

    @Test("finding CL-9 -j leaves out the session cookies of files")
    func junksSessionCookies() async throws {
        let server = try LoopbackServer { .text($0["Cookie"] ?? "-") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file(
            "jar",
            "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tc\td\n"
        )
        #expect(try await run("curl -s -j -b jar \(server.address())", in: folder).output == "c=d")
    }

    @Test(
        "finding CL-10 behind a redirect .netrc has the user of that host, unless the line has other credentials",
        arguments: [
            ("", "Basic YW5uOm9uZQ==", "Basic Ym9iOnR3bw=="), ("--oauth2-bearer t", "Bearer t", "-"),
            ("-u me:pw", "Basic bWU6cHc=", "-"), ("-H 'Authorization: x'", "x", "-"),
        ]
    )
    func netrcOfRedirects(options: String, first: String, second: String) async throws {
        let end = try LoopbackServer { .text($0["Authorization"] ?? "-") }
        let port = end.authority.split(separator: ":")[1]
        let server = try LoopbackServer { request in
            .status(
                302,
                [
                    ServerField("Location", "http://localhost:\(port)/"),
                    ServerField("X-Got", request["Authorization"] ?? "-"),
                ]
            )
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file(
            "netrc",
            "machine 127.0.0.1 login ann password one\nmachine localhost login bob password two\n"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let line = "curl -s -4 -L --netrc-file netrc \(options) \(server.address())"
        #expect(try await run(line, in: folder).output == second)
        #expect(try await server.request(at: 0)["Authorization"] == first)
    }

    @Test("finding CL-5 with --digest the password of .netrc is proved, and never sent")
    func netrcOfDigest() async throws {
        let digest = ServerField("WWW-Authenticate", #"Digest realm="r", nonce="n", qop="auth""#)
        let end = try LoopbackServer { _ in .status(401, [digest]) }
        let port = end.authority.split(separator: ":")[1]
        let server = try LoopbackServer { request in
            request["Authorization"] == nil
                ? .status(401, [digest]) : .status(302, [ServerField("Location", "http://localhost:\(port)/")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file(
            "netrc",
            "machine 127.0.0.1 login ann password one\nmachine localhost login bob password two\n"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        for scheme in ["--digest", "--anyauth"] {
            let line = "curl -s -4 -L \(scheme) --netrc-file netrc \(server.address())"
            _ = try await run(line, in: folder)
        }
        let sent = (server.requests + end.requests).map { $0["Authorization"] ?? "-" }
        #expect(sent.count == 6)
        #expect(sent.allSatisfy { $0 == "-" || $0.hasPrefix("Digest username=\"ann\"") }, "\(sent)")
        #expect(server.requests.map { $0["Authorization"] == nil } == [true, false, true, false])
    }

    @Test("finding CL-5 --resolve is for look-ups of this machine, those of proxies among them")
    func resolvesWithProxies() throws {
        let url = try #require(URL(string: "http://h.test:8/"))
        func hosts(_ options: String) throws -> [String: [HostDirectory.Address]] {
            try settings("curl --resolve h.test:8:127.0.0.1 \(options) http://h.test:8/").connection.resolvedHosts(
                for: url
            )
        }
        let known = ["h.test": [HostDirectory.Address("127.0.0.1")]]
        #expect(try hosts("") == known)
        #expect(try hosts("-x p.test:1") == [:])
        #expect(try hosts("-x socks5h://p.test:1") == [:])
        #expect(try hosts("-x socks5://p.test:1") == known)
        #expect(try hosts("-x p.test:1 --noproxy h.test") == known)
        let line = try settings("curl --resolve p.test:1:127.0.0.9 -x p.test:1 http://h.test/")
        guard case .proxy(let proxy) = try line.connection.transportSettings().proxy else {
            Issue.record("no proxy")
            return
        }
        #expect(proxy.host == "127.0.0.9")
    }

    @Test("finding CL-10 a condition that the command itself compares is a 304 for -w", .enabled(if: RealCurl.isThere))
    func withheldStatus() async throws {
        let server = try LoopbackServer { _ in
            .text("old", [ServerField("Last-Modified", "Tue, 13 Jun 2000 12:10:00 GMT")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for options in ["", "-o f"] {
            let line = "-s -z 20100101 -w '%{http_code} %{response_code}' \(options) \(server.address())"
            let theirs = try await LadeProcess.run(
                "-c",
                "\(RealCurl.path) -q \(line)",
                program: "/bin/bash",
                in: folder.path
            )
            #expect(try await run("curl " + line, in: folder).output == theirs.output)
            #expect(theirs.output == "304 304")
        }
    }

    @Test(
        "finding CL-9 dates are read as curl reads them",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("dec 12 12:00:00 1999 GMT", "Sun, 12 Dec 1999 12:00:00 GMT"),
            ("Nov 6 1994", "Sun, 06 Nov 1994 00:00:00 GMT"),
            ("06-Nov-94", "Sun, 06 Nov 1994 00:00:00 GMT"), ("1994 Nov 6", "Sun, 06 Nov 1994 00:00:00 GMT"),
            ("94 6 Nov", "Sun, 06 Nov 1994 00:00:00 GMT"), ("6 November 94 08:49", "Sun, 06 Nov 1994 08:49:00 GMT"),
            ("20040912 15:05:58 -0700", "Sun, 12 Sep 2004 22:05:58 GMT"), ("20040912", "Sun, 12 Sep 2004 00:00:00 GMT"),
            ("Sat, 11 Sep 2004 21:32:11 +0200", "Sat, 11 Sep 2004 19:32:11 GMT"),
            ("12 Dec 1999 12:00 CET", "Sun, 12 Dec 1999 11:00:00 GMT"),
            ("06 Nov 1583", "Sun, 06 Nov 1583 00:00:00 GMT"),
            ("31 Feb 1999", nil), ("12:00", nil), ("Dec 12", nil), ("12 Dec 1999 25:00", nil), ("12 Dec 1999 x", nil),
            ("12 Dec 1999 12:00:00:00", nil), ("Dec Dec 12 1999", nil), ("20041399", nil), ("06 Nov 1582", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func dates(text: String, expected: String?) throws {
        guard let expected else {
            #expect(throws: CommandError.self) { try TimeCondition(text) }
            return
        }
        #expect(try TimeCondition(text).field == .set("If-Modified-Since", expected))
        #expect(try TimeCondition("-" + text).field == .set("If-Unmodified-Since", expected))
    }

    @Test(
        "finding CL-10 lines of -H are read as curl reads them",
        arguments: [
            ("X-A: b", "X-A: b"), ("X-A;", "X-A: "), ("X-A ;", "X-A: "), ("X-A;ignored", nil), ("X-A;  ", nil),
            ("X-A:  ", nil),
            ("abc", nil), (":x", nil), (";", nil), ("X-A:b;", "X-A: b;"),
        ] as [(String, String?)]
    )
    func headerLines(line: String, field: String?) async throws {
        let server = try LoopbackServer { request in
            .text(request.fields.filter { $0.name.hasPrefix("X-") }.map(\.description).joined(separator: "|"))
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("h", line + "\n")
        #expect(try await run("curl -s -H '\(line)' \(server.address())", in: folder).output == field ?? "")
        #expect(try await run("curl -s -H @h \(server.address())", in: folder).output == field ?? "")
    }

    @Test("finding CL-9 --no-NAME takes a switch back, under either of its names")
    func takesBack() throws {
        #expect(try !settings("curl --include --no-include http://h/").output.includesHead)
        #expect(try !settings("curl --show-headers --no-include http://h/").output.includesHead)
        #expect(try settings("curl --no-include -i http://h/").output.includesHead)
        let line = try settings("curl -fsL --no-location --no-fail --no-silent --no-http0.9 --no-ntlm http://h/")
        #expect(!line.policy.followsRedirects && !line.output.failsWithoutBody && !line.output.isSilent)
        #expect(throws: CommandError.self) { try settings("curl --no-data http://h/") }
        #expect(throws: CommandError.self) { try settings("curl --no-such-option http://h/") }
    }

    @Test(
        "finding CL-9 lists and ranges with a name, which curl reads by version, are refused",
        arguments: ["{<n>a,b}", "[<n>1-3]"]
    )
    func namedPatterns(pattern: String) {
        #expect(throws: CommandError.self) { try settings("curl 'http://h/\(pattern)'").calls() }
    }

    @Test("finding CL-9 %header{} has all values of a field with a text between them")
    func headerValues() async throws {
        let server = try LoopbackServer { _ in .text("", [ServerField("X-A", "1"), ServerField("x-a", "2")]) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (format, expected) in [
            ("%header{x-a:all:, }", "1, 2"), (#"%header{x-a:all:-{\}-}"#, "1-{}-2"), ("%header{x-a}", "1"),
            ("%header{x-b:all:,}|", "|"), ("%header{X-A:all:}", "12"),
        ] {
            #expect(try await run("curl -s -w '\(format)' \(server.address())", in: folder).output == expected)
        }
    }

    @Test("finding CL-9 the values of a field are those of each response, up to one without it")
    func headerValuesOfRedirects() async throws {
        let server = try LoopbackServer { request in
            let value = [ServerField("X-A", "\(request.path)"), ServerField("X-A", "also")]
            return switch request.path {
            case "/1": .status(302, value + [ServerField("Location", "/2"), ServerField("X-B", "first")])
            case "/2": .status(302, value + [ServerField("Location", "/3")])
            default: .text("", value + [ServerField("X-B", "last")])
            }
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (format, expected) in [
            ("%header{x-a:all:,}", "/1,also,/2,also,/3,also"), ("%header{x-b:all:,}", "first"),
            ("%header{x-b}", "last"),
        ] {
            #expect(try await run("curl -s -L -w '\(format)' \(server.address("/1"))", in: folder).output == expected)
        }
    }

    // MARK: - What was written

    @Test("finding CL-9 -w knows connections, ends, fields and components")
    func writesOut() async throws {
        let server = try LoopbackServer { request in
            request.path == "/moved"
                ? .status(302, [ServerField("Location", "/there")])
                : .text("hello", [ServerField("X-A", "\"1\""), ServerField("X-a", "2")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        func written(_ format: String, _ path: String = "/p?q#f", _ options: String = "") async throws -> String {
            let line = "curl -s -o /dev/null -w '\(format)' \(options) http://u:p@\(server.authority)\(path)"
            let outcome = try await run(line, in: folder)
            #expect(outcome.status == 0 || outcome.status == 3, "\(outcome.talk)")
            return outcome.output
        }
        #expect(try await written("%{num_connects} %{http_connect} %{size_delivered} %{proxy_used}") == "1 000 5 0")
        #expect(try await written("%{num_connects} %{num_redirects}", "/moved", "-L") == "1 1")
        let port = String(server.authority.split(separator: ":")[1])
        #expect(
            try await written(
                "%{url.scheme} %{url.user} %{url.password} %{url.host} %{url.port} %{url.path} %{url.query} %{url.fragment}"
            )
                == "http u p 127.0.0.1 \(port) /p q f"
        )
        #expect(try await written("%{urle.path}", "/moved", "-L") == "/there")
        let fields =
            try JSONSerialization.jsonObject(with: Data(try await written("%{header_json}").utf8))
            as? [String: [String]]
        #expect(fields?["x-a"] == ["\"1\"", "2"])
        let all = try JSONSerialization.jsonObject(with: Data(try await written("%{json}").utf8)) as? [String: Any]
        #expect(all?["http_code"] as? Int == 200)
        #expect(all?["method"] as? String == "GET")
        #expect(all?["redirect_url"] is NSNull)
        #expect(try await written("%{redirect_url}", "/moved").hasSuffix("/there"))
        let ends = try await written("%{local_ip} %{local_port} %{remote_ip}").split(separator: " ")
        #if os(Linux)
            #expect(ends.first == "127.0.0.1" && ends.last == "127.0.0.1")
            #expect(ends.count == 3 && Int(ends[1]).map { $0 > 0 } == true)
        #endif
    }

    @Test("finding CL-9 %{redirect_url} has the path of the root where the target has none")
    func redirectWithoutPath() async throws {
        let server = try LoopbackServer { _ in .status(302, [ServerField("Location", "https://h.test?q")]) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        #expect(
            try await run("curl -s -w '%{redirect_url}' \(server.address())", in: folder).output == "https://h.test/?q"
        )
    }

    // MARK: - Connections

    @Test(
        "finding CL-9 --connect-to is for its host and port, and the first that fits counts",
        arguments: [
            ("::127.0.0.1:1", "http://h.test/", "127.0.0.1:1"),
            ("h.test::127.0.0.1:", "http://h.test:8/", "127.0.0.1:"),
            ("H.test:80:x.test:", "http://h.test/", "x.test:"), (":81:x.test:", "http://h.test/", nil),
            ("other:80:x.test:", "http://h.test/", nil), ("h.test:80::9", "http://h.test/", "h.test:9"),
            ("::h.test:80", "http://h.test/", nil), ("::H.TEST:", "http://h.test/", nil),
            ("[::1]:80:[fc00::1]:7", "http://[::1]/", "fc00::1:7"), ("", "http://h.test/", nil),
            (":::", "http://h.test/", nil),
        ] as [(String, String, String?)]
    )
    func connectTargets(value: String, address: String, expected: String?) throws {
        let targets = [try ConnectTarget(curlValue: value), try ConnectTarget(curlValue: "never.test:1:x:1")]
            .compactMap(\.self)
        let found = ConnectTarget.destination(of: try #require(URL(string: address)), among: targets)
        let shown: String? =
            switch found {
            case .host(let host, let port)?: "\(host):\(port.map(String.init) ?? "")"
            default: nil
            }
        #expect(shown == expected)
    }

    @Test(
        "finding CL-9 --connect-to of another form is refused",
        arguments: ["a:1:b:2:3", "a:b:c:d", "a", "a:99999::", "a:1:b"]
    )
    func refusesTargets(value: String) {
        #expect(throws: CommandError.self) { try settings("curl --connect-to '\(value)' http://h/") }
    }

    @Test("finding CL-9 --resolve has stars and takes entries back")
    func resolves() throws {
        let url = try #require(URL(string: "http://h.test:8/"))
        func hosts(_ options: String) throws -> [String: [HostDirectory.Address]] {
            try settings("curl \(options) http://h.test:8/").connection.resolvedHosts(for: url)
        }
        #expect(try hosts("--resolve '*:8:127.0.0.1'") == ["h.test": [HostDirectory.Address("127.0.0.1")]])
        #expect(try hosts("--resolve '*:9:127.0.0.1'") == [:])
        #expect(
            try hosts("--resolve '*:8:127.0.0.1' --resolve +H.test:8:127.0.0.2") == [
                "h.test": [HostDirectory.Address("127.0.0.2")]
            ]
        )
        #expect(try hosts("--resolve h.test:8:127.0.0.1 --resolve -h.test:8") == [:])
    }

    @Test("finding CL-5 options mean what they mean for curl, not what is nearest")
    func meanings() throws {
        // The limit of tries is no limit of the transfer.
        let retried = try settings("curl --retry 3 --retry-max-time 10 http://h/")
        #expect(retried.policy.deadline == nil)
        #expect(retried.policy.retryTime == .seconds(10))
        // The limit of a transfer contains its redirects.
        #expect(try settings("curl -L -m 5 http://h/").policy.deadline == .seconds(5))
        #expect(try settings("curl -L -m 5 --retry 1 http://h/").connection.timeouts.whole == .seconds(5))
        // This machine looks up names for socks5, the proxy for socks5h.
        #expect(try settings("curl -x socks5://p http://h/").connection.proxy?.resolvesNames == false)
        #expect(try settings("curl --socks5 p http://h/").connection.proxy?.resolvesNames == false)
        #expect(try settings("curl -x socks5h://p http://h/").connection.proxy?.resolvesNames == true)
        #expect(try settings("curl --socks5-hostname p http://h/").connection.proxy?.resolvesNames == true)
        // Pins are demanded of the hosts of redirects too.
        let pin = String(repeating: "A", count: 43) + "="
        let pins = try settings("curl --pinnedpubkey sha256//\(pin) https://h/").connection.pinSet()
        #expect(
            pins.pins(for: "h") == [pin] && pins.pins(for: "other.test") == [pin]
                && pins.pins(for: "127.0.0.1") == [pin]
        )
        #expect(try settings("curl --suppress-connect-headers http://h/").output.hidesTunnelHeads)
        // A destination is for its own host.
        #expect(try settings("curl --connect-to a:1:b:2 http://h/").connection.destination == nil)
    }

    @Test(
        "finding CL-5 --retry-max-time lets no try begin after it, and no delay end after it",
        arguments: [
            (0, nil, true), (9, nil, true), (10, nil, false), (11, nil, false), (0, 5, true), (6, 5, false),
            (0, 200, false),
        ] as [(Int, Int?, Bool)]
    )
    func retryTime(elapsed: Int, pause: Int?, isRetried: Bool) throws {
        let time = VirtualTime()
        let settings = try settings("curl --retry 3 --retry-max-time 10 http://h/")
        var service = Service.Settings()
        service.time = time
        try settings.policy.apply(to: &service, for: .call)
        let policy = service.retries
        time.advance(by: .seconds(elapsed))
        let attempt = RetryPolicy.Attempt(
            try Request("http://h.test/"),
            .response(503, delay: pause.map { Duration.seconds($0) })
        )
        let action = policy.decision(attempt).action
        #expect((action == .retry(after: .seconds(pause ?? 0))) == isRetried, "\(action)")
        #expect(isRetried || action == .giveUp)
    }

    // MARK: - Redirects

    @Test("finding CL-9 --post301 and the others keep a POST, and --follow changes every method with a body")
    func redirectsOfPosts() async throws {
        let server = try LoopbackServer { request in
            guard request.path == "/end" else {
                return .status(Int(request.path.dropFirst()) ?? 500, [ServerField("Location", "/end")])
            }
            return .text("\(request.method) \(request.text) \(request["Referer"] ?? "-")")
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for (options, status, expected) in [
            ("-L -d x", 301, "GET  -"), ("-L -d x --post301", 301, "POST x -"), ("-L -d x --post301", 302, "GET  -"),
            ("-L -d x --post302", 302, "POST x -"), ("-L -d x --post303", 303, "POST x -"),
            ("-L -d x", 308, "POST x -"),
            ("--follow -X IGLOO -d x", 302, "GET  -"), ("--follow -X IGLOO -d x", 308, "IGLOO x -"),
            ("--follow -X DELETE", 303, "GET  -"), ("--follow -X DELETE", 302, "DELETE  -"),
            ("-L -e ';auto'", 302, "GET  http://\(server.authority)/302"),
            ("-L -e 'http://r/;auto'", 302, "GET  http://\(server.authority)/302"),
            ("-L -e http://r/", 302, "GET  http://r/"),
        ] {
            let outcome = try await run("curl -s \(options) \(server.address("/\(status)"))", in: folder)
            #expect(outcome.output == expected, "\(options) \(status)")
        }
    }

    // MARK: - Heads

    @Test("finding CL-9 -0 and --request-target write the request line, and the body has a length")
    func requestLines() async throws {
        let server = try LoopbackServer { .text("\($0.method) \($0.target) \($0.version) \($0.text)") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        #expect(try await run("curl -s -0 \(server.address("/x"))", in: folder).output == "GET /x HTTP/1.0 ")
        #expect(
            try await run("curl -s --http1.0 -d a \(server.address("/x"))", in: folder).output == "POST /x HTTP/1.0 a"
        )
        #expect(
            try await run("curl -s --request-target '*' -X OPTIONS \(server.address("/x"))", in: folder).output
                == "OPTIONS * HTTP/1.1 "
        )
        for options in ["-0 -T -", "--request-target 'a b'", "--request-target $'a\\r\\nX: y'", "--request-target ''"] {
            #expect(try await run("curl -s \(options) \(server.address("/x"))", in: folder).status != 0, "\(options)")
        }
        #expect(server.requestCount == 3)
    }

    @Test("finding CL-9 --skip-existing sends nothing, --out-null writes nothing")
    func outputs() async throws {
        let server = try LoopbackServer { _ in .text("new") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", "old")
        #expect(try await run("curl -s --skip-existing -o f \(server.address())", in: folder).status == 0)
        #expect(server.requestCount == 0)
        #expect(folder.text("f") == "old")
        #expect(try await run("curl -s --skip-existing -o g \(server.address())", in: folder).status == 0)
        #expect(folder.text("g") == "new")
        let both = try await run("curl -s --out-null -o - \(server.address()) \(server.address())", in: folder)
        #expect(both.output == "new")
    }

    // MARK: - Proxies

    /// A proxy of http that demands a proof by one scheme.
    private func proxy(_ challenges: [String]) throws -> LoopbackServer {
        try LoopbackServer { request in
            if let proof = request["Proxy-Authorization"], !proof.contains("nonce=\"old\"") {
                return .text(request.method == "CONNECT" ? "" : "\(request.target) \(proof)")
            }
            let isStale = request["Proxy-Authorization"] != nil
            let fields = challenges.map { text in
                ServerField("Proxy-Authenticate", isStale ? text.replacing("old", with: "new") + ", stale=true" : text)
            }
            return .status(407, fields)
        }
    }

    @Test("finding CL-9 a proxy's challenge gets the proof that it asks for")
    func proxyProofs() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let digest = #"Digest realm="r", nonce="n", qop="auth""#
        func output(_ challenges: [String], _ options: String) async throws -> (LadeProcess.Outcome, [ServerRequest]) {
            let server = try proxy(challenges)
            let outcome = try await run(
                "curl -s -U ann:pw -x \(server.authority) \(options) http://o.test/p",
                in: folder
            )
            var requests: [ServerRequest] = []
            for index in 0..<server.requestCount { requests.append(try await server.request(at: index)) }
            return (outcome, requests)
        }
        let (first, requests) = try await output([digest], "--proxy-digest")
        #expect(first.status == 0, "\(first.talk)")
        #expect(requests.count == 2)
        #expect(requests[0]["Proxy-Authorization"] == nil)
        #expect(first.output.hasPrefix("http://o.test/p Digest username=\"ann\""))
        #expect(first.output.contains("uri=\"/p\"") && first.output.contains("nc=00000001"))
        let (any, _) = try await output(["Basic realm=x", digest], "--proxy-anyauth")
        #expect(any.output.contains(" Digest "))
        let (basic, _) = try await output(["Basic realm=x"], "--proxy-anyauth")
        #expect(basic.output == "http://o.test/p Basic YW5uOnB3")
        let (refused, asked) = try await output(["Basic realm=x"], "--proxy-digest")
        #expect(refused.status != 0 && asked.count == 1)
        let (stale, three) = try await output([#"Digest realm="r", nonce="old", qop="auth""#], "--proxy-digest")
        #expect(stale.output.contains("nonce=\"new\""))
        #expect(three.count == 3)
        let (_, at) = try await output(["Basic realm=x"], "--proxy-anyauth --proxy-basic")
        #expect(at.count == 2 && at[0]["Proxy-Authorization"] == nil)
        for options in ["--proxy-digest --proxy-basic", "--proxy-basic --proxy-digest"] {
            let (_, asked) = try await output(["Basic realm=x"], options)
            #expect(asked.allSatisfy { $0["Proxy-Authorization"] == nil }, "\(options)")
        }
    }

    @Test("finding CL-9 a request for a tunnel has the proof and the fields for the proxy, and the origin has neither")
    func tunnelProof() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try proxy([#"Digest realm="r", nonce="n", qop="auth""#])
        let line =
            "curl -s -p -U ann:pw --proxy-digest --proxy-header 'X-P: 1' -H 'X-O: 2' -x \(server.authority) -w "
            + "'%{http_connect}' http://o.7:81/p"
        let outcome = try await run(line, in: folder)
        var heads: [String] = []
        for index in 0..<server.requestCount {
            heads.append(String(decoding: try await server.request(at: index).head, as: UTF8.self))
        }
        #expect(heads.count >= 2, "\(outcome.talk)")
        #expect(
            heads.allSatisfy { $0.hasPrefix("CONNECT o.7:81 HTTP/1.1\r\nHost: o.7:81\r\n") == ($0.contains("X-P: 1")) }
        )
        #expect(heads[1].contains("uri=\"o.7:81\""))
        #expect(heads.allSatisfy { $0.contains("X-P: 1") != $0.contains("X-O: 2") })
        #expect(heads.allSatisfy { $0.contains("X-P: 1") || !$0.contains("Proxy-Authorization") })
    }
}
