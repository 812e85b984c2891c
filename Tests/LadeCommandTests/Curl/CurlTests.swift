import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct CurlTests {
    private func settings(_ arguments: [String]) throws(CommandError) -> GetSettings {
        guard case .run(let settings) = try ArgumentParser(command: "lade get", rows: GetSettings.rows).parse(arguments)
        else { throw .usage("help") }
        return settings
    }

    private func line(_ arguments: [String]) async throws -> String {
        let settings = try settings(arguments)
        let context = CommandContext(table: .standard, console: Console(), interruption: Interruption())
        return try CurlLine(settings, try await PreparedCall(settings, context)).text
    }

    private static let pin = String(repeating: "A", count: 43) + "="
    private static let backup = String(repeating: "B", count: 42) + "A="

    @Test(
        "prints a call as a curl command",
        arguments: [
            (["https://h/a?b=c d"], "curl 'https://h/a?b=c%20d' --compressed"),
            (["https://h/", "-X", "PUT", "X-A:it's"], #"curl -X PUT https://h/ -H 'X-A: it'\''s' --compressed"#),
            (
                ["https://h/", "a[b]=1", "--raw"],
                #"curl https://h/ -H 'Accept: application/json' -H 'Content-Type: application/json' "#
                    + #"--data-raw '{"a":{"b":"1"}}'"#
            ),
            (["https://h/", "--form", "a=b", "--raw"], "curl https://h/ --data-raw a=b"),
            (["https://h/", "--json", "{}", "--raw"], "curl https://h/ --json '{}'"),
            (
                ["https://h/", "-d", "@/dev/null", "--data-urlencode", "n=x y", "--raw"],
                "curl https://h/ -d @/dev/null --data-urlencode 'n=x y'"
            ),
            (["https://h/", "-G", "-d", "a=b", "--raw"], "curl 'https://h/?a=b'"),
            (["https://h/", "-F", "a=b", "--raw"], "curl https://h/ --form-string a=b"),
            (
                ["https://h/", "-I", "-L", "-k", "-m", "1.5s", "-x", "http://u:s3cret@p:1", "--raw"],
                "curl -I https://h/ -L -m 1.500000 -x 'http://u:<redacted>@p:1' -k"
            ),
            (["https://h/", "-u", "u:s3cret", "--raw"], "curl https://h/ -H 'Authorization: <redacted>'"),
            (
                ["https://h/?token=s3cret", "-b", "c=s3cret", "--raw"],
                "curl 'https://h/?token=<redacted>' -H 'Cookie: <redacted>'"
            ),
            (["https://h/", "-b", "c=s", "--show-secrets", "--raw"], "curl https://h/ -H 'Cookie: c=s'"),
            (
                ["https://h/", "-b", "/dev/null", "-c", "/dev/null", "--raw"],
                "curl https://h/ -b /dev/null -c /dev/null"
            ),
            (["https://h/", "-o", "x", "-C", "--raw"], "curl https://h/ -o x -C -"),
            (["https://h/", "-H", "X-A;", "--raw"], "curl https://h/ -H 'X-A;'"),
            (["https://h/", "-x", "socks5h://p:1", "--raw"], "curl https://h/ -x socks5h://p:1"),
            (
                ["https://h/", "-x", "[::1]:8080", "--noproxy", "a, b", "--raw"],
                "curl https://h/ -x 'http://[::1]:8080' --noproxy a,b"
            ),
            (["https://h/", "-x", "", "--raw"], "curl https://h/ -x ''"),
            (["https://h/", "--noproxy", "*", "--raw"], "curl https://h/ --noproxy '*'"),
            (
                ["https://h/", "--connect-timeout", "250ms", "--max-size", "64k", "--raw"],
                "curl https://h/ --connect-timeout 0.250000 --max-filesize 65536"
            ),
            (["https://h/", "--connect-to", "::1", "--raw"], "curl https://h/ --connect-to '::[::1]:'"),
            (["https://h/", "--connect-to", "a:81", "--raw"], "curl https://h/ --connect-to ::a:81"),
            (
                ["https://a.h/", "--pin", "*.H=sha256/\(pin)", "--pin", "*.h=\(backup)", "--pin", "i=\(pin)", "--raw"],
                "curl https://a.h/ --pinnedpubkey 'sha256//\(pin);sha256//\(backup)'"
            ),
            (["https://b/", "--pin", "*.h=\(pin)", "--raw"], "curl https://b/"),
            (["https://h/x", "-T", "/dev/null", "--raw"], "curl https://h/x -T /dev/null"),
            (["https://h/", "--stdin", "--raw"], "curl https://h/ -H Content-Type: --data-binary @-"),
            (["https://h/", "-", "--raw"], "curl https://h/ -H Content-Type: --data-binary @-"),
            (
                [
                    "https://h/", "-d", "a=b", "--data-raw", "@c", "--data-binary", "@/dev/null", "--data-urlencode",
                    "n@/dev/null", "--raw",
                ],
                "curl https://h/ --data-raw a=b --data-raw @c --data-binary @/dev/null --data-urlencode n@/dev/null"
            ),
            (["https://h/", "a@/dev/null", "--raw"], "curl https://h/ -F a=@/dev/null"),
            (
                [
                    "https://h/", "-F", "a=</dev/null", "-F", "b=@/dev/null;type=x/y;filename=n", "c=1", "d:=2",
                    "e=@/dev/null", "f:=@/dev/null", "g@/dev/null", "q==1", "--raw",
                ],
                "curl 'https://h/?q=1' -F 'a=</dev/null' -F 'b=@/dev/null;type=x/y;filename=n' --form-string c=1 "
                    + "--form-string d=2 -F 'e=</dev/null' -F 'f=</dev/null' -F g=@/dev/null"
            ),
            (
                ["https://h/", "-F", "a=b", "c=d", "-H", "Content-Type: multipart/x", "--raw"],
                "curl https://h/ -H 'Content-Type: multipart/x' --form-string a=b --form-string c=d"
            ),
            (
                ["https://h/", "a=b", "-H", "content-type:x/y", "--raw"],
                #"curl https://h/ -H 'Accept: application/json' -H 'content-type: x/y' --data-raw '{"a":"b"}'"#
            ),
            (
                ["https://h/", "-d", "x", "Accept:", "User-Agent:", "Content-Type:", "--raw"],
                "curl https://h/ -H Accept: -H User-Agent: -H Content-Type: --data-raw x"
            ),
            (
                ["https://h/x", "-T", "/dev/null", "User-Agent:", "--raw"],
                "curl https://h/x -H User-Agent: -T /dev/null"
            ),
            (["https://h/", "--auth", "bearer", "--raw"], "curl https://h/ -H 'Authorization: Bearer <redacted>'"),
            (["https://h/", "--auth", "basic:me", "--raw"], "curl https://h/ -u me"),
            (["https://h/", "-L", "--raw"], "curl https://h/ -L"),
            (
                ["https://h/", "--max-redirects", "3", "--retry", "2", "--raw"],
                "curl https://h/ -L --max-redirs 3 --retry 2"
            ),
            (
                ["https://h/", "--cacert", "ca.pem", "-E", "me.pem", "--key", "me.key", "--raw"],
                "curl https://h/ --cacert ca.pem -E me.pem --key me.key"
            ),
            (
                ["https://h/", "--unix-socket", "/s", "--http1.1", "--raw"],
                "curl https://h/ --unix-socket /s --http1.1"
            ),
            (
                ["https://h/", "--http2-prior-knowledge", "-O", "-i", "-f", "-s", "--raw"],
                "curl https://h/ --http2-prior-knowledge -O -i -f -s"
            ),
        ] as [([String], String)]
    )
    func prints(arguments: [String], line expected: String) async throws {
        #expect(try await line(arguments) == expected)
    }

    @Test("prints the cookies of a session, whose values are shown only when that is asked for")
    func sessionCookies() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "s.json"
        let jar = CookieJar()
        for name in ["a", "b"] {
            let cookie = Cookie(
                name: name,
                value: Secret("s3cret-\(name)"),
                domain: "h",
                isHostOnly: true,
                path: "/",
                expires: nil,
                isSecure: true
            )
            jar.insert(cookie, at: Date(timeIntervalSince1970: 1_000_000_000))
        }
        try SessionFile(path, for: Origin("https://h/")).save(jar, Console())
        let arguments = ["https://h/", "--session", path, "--raw"]

        #expect(try await line(arguments) == "curl https://h/ -b 'a=<redacted>; b=<redacted>'")
        let shown = try await line(arguments + ["--show-secrets"])
        #expect(shown == "curl https://h/ -b 'a=s3cret-a; b=s3cret-b'")
    }

    @Test(
        "reads a curl command",
        arguments: [
            ("curl https://h/a", ["https://h/a"]), ("/usr/bin/curl https://h/a", ["https://h/a"]),
            ("curl -d '&&' https://h/ -H 'A: ;'", ["https://h/", "-d", "&&", "-H", "A: ;"]),
            ("$ curl -sSL h/a", ["http://h/a", "-sSL"]),
            (
                "curl 'https://h/' \\\n  -H 'A: b' \\\n  --data-raw $'{\"x\":\"\\u00e4\\n\"}' --compressed",
                ["https://h/", "-H", "A: b", "--data-raw", "{\"x\":\"ä\n\"}", "--compressed"]
            ),
            ("curl -XPOST -d a=b -d @f https://h/", ["https://h/", "-XPOST", "-d", "a=b", "-d", "@f"]),
            ("curl --form a=@f --form-string 'b=@c' https://h/", ["https://h/", "-F", "a=@f"]),
            ("curl -r 0-9 -C - -O https://h/f", ["https://h/f", "-C", "-O", "-H", "Range: bytes=0-9"]),
            ("curl --max-filesize 5 h/", ["http://h/", "--max-size", "5"]),
            (
                "curl --oauth2-bearer t --http2 -g4 --url https://h/",
                ["https://h/", "-H", "Authorization: Bearer t", "-g4"]
            ),
            (
                "curl -u a:b -A x -e y -m 5 --max-redirs 3 -k https://h/",
                [
                    "https://h/", "-u", "a:b", "-A", "x", "-e", "y", "--deadline", "5", "-k",
                ]
            ),
        ]
    )
    func reads(line: String, arguments: [String]) async throws {
        var expected = try settings(arguments)
        if line.contains("--form-string") { expected.request.formParts.append(FormPart("b", .text("@c"))) }
        expected.followsCurl = true
        expected.request.hasStrictPatterns = true
        expected.request.isForCurl = true
        expected.policy.followsLoops = true
        expected.output.mayOverwrite = true
        expected.policy.repeatsLikeCurl = true
        if !arguments.contains("--compressed") { expected.connection.decodesContent = false }
        if arguments.contains("-sSL") { expected.policy.redirectLimit = 50 }
        if !arguments.contains("-sSL") { expected.policy.redirectLimit = nil }
        let read = try settings(["--from-curl", line])
        #expect("\(read)" == "\(expected)")
    }

    @Test("adds arguments to what a curl command says")
    func further() throws {
        let read = try settings(["--from-curl", "curl -H 'A: b' https://h/", "-X", "PUT", "C:d"])
        #expect(read.request.address == "https://h/")
        #expect(read.request.method == "PUT")
        #expect(read.request.headers == [.set("A", "b")])
        #expect(read.request.items == [.header(.set("C", "d"))])
    }

    @Test(
        "says what it cannot read of a curl command, in two lines",
        arguments: [
            ("wget https://h/", "does not begin with curl"), ("", "does not begin with curl"),
            ("curl 'https://h/", "a quote has no end"), ("curl https://h/ | jq", "further command"),
            ("curl --ntlm https://h/", "--ntlm"), ("curl -t x https://h/", "-t"),
            ("curl --connect-to a:1:b https://h/", "HOST:PORT:HOST:PORT"), ("curl -H", "-H has no value"),
            ("curl -C 5x https://h/", "neither a dash"), ("curl --form-string x https://h/", "no name"),
        ]
    )
    func refuses(line: String, part: String) throws {
        let error = try #require(throws: CommandError.self) { try settings(["--from-curl", line]) }
        #expect(error.code == .usage)
        #expect(error.what.contains(part), "\(error.what)")
        #expect(!error.advice.isEmpty)
    }

    @Test("makes the same request from the line that it prints")
    func roundTrip() async throws {
        let server = try LoopbackServer { .text("\($0.method) \($0.target) \($0["X-A"] ?? "-") \($0.text)") }
        let arguments = [server.address("/x?y=1"), "-X", "PATCH", "X-A:it's \"ä\"", "n[a]:=1", "t=line\nend"]
        let line = try await LadeProcess(["get", "--curl"] + arguments).outcome()
        #expect(line.status == 0)
        #expect(server.requestCount == 0)
        let direct = try await LadeProcess(["get"] + arguments).outcome()
        let read = try await LadeProcess.run("get", "--from-curl", String(line.output.dropLast()))
        #expect(read.output == direct.output)
        #expect(read.output.hasPrefix("PATCH /x?y=1 "))
    }
}
