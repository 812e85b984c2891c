import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// The real curl, if the machine has it.
enum RealCurl {
    static let path = "/usr/bin/curl"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }
}

/// Lines of curl, run by the real curl and by `lade get --from-curl`: the same requests, the same output and files.
@Suite("curl beside lade get --from-curl", .timeLimit(.minutes(5)), .enabled(if: RealCurl.isThere))
struct CurlDifferentialTests {
    /// What a run of either program did.
    private struct Run: Equatable {
        var requests: [String]
        var output: String
        var files: [String: String]
    }

    private static let untouched = ["a.txt", "b.html", "list", "config", "tag", "jar", "headers"]

    /// Runs a line against a server; `H` in it is the server's authority.
    private static func run(_ line: String, byCurl: Bool) async throws -> (run: Run, status: Int32, talk: String) {
        let server = try LoopbackServer { answer(to: $0) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("a.txt", "one\r\ntwo\n\0three")
        _ = try folder.file("b.html", "<p>")
        _ = try folder.file("list", "X-List: 1\nX-More: 2\r\n")
        _ = try folder.file(
            "config",
            "# options\nurl = \"http://\(server.authority)/config\"\n-H \"X-C: \\\"q\\\"\"\nsilent\nrequest PUT\n"
        )
        _ = try folder.file("tag", "\"v1\"\n")
        _ = try folder.file("headers", "X-Part: 1\n")
        let text = line.replacing("H/", with: server.authority + "/")
        // The test of one program waits for no proxy and reads no files of the user.
        let outcome: LadeProcess.Outcome
        if byCurl {
            outcome = try await LadeProcess.run(
                "-c",
                text.replacing("curl ", with: "\(RealCurl.path) -q -sS ", maxReplacements: 1),
                program: "/bin/bash",
                in: folder.path
            )
        } else {
            outcome = try await LadeProcess.run("get", "--no-config", "--from-curl", text, "-sS", in: folder.path)
        }
        var requests: [String] = []
        for index in 0..<server.requestCount {
            requests.append(shown(try await server.request(at: index), server.authority))
        }
        var files: [String: String] = [:]
        for name in folder.names where !untouched.contains(name) {
            files[name] = (folder.text(name) ?? "").replacing(server.authority, with: "H")
        }
        let output = outcome.output.replacing(server.authority, with: "H")
        return (Run(requests: requests, output: output, files: files), outcome.status, outcome.talk)
    }

    private static func answer(to request: ServerRequest) -> ServerResponse {
        switch request.path {
        case "/moved": .status(302, [ServerField("Location", "/landed?a=b")])
        case "/kept": .status(307, [ServerField("Location", "/landed")])
        case "/missing": .text("not here", status: 404)
        case "/coded": .bytes(Data([0x1F, 0x8B, 0x08, 0x00]), [ServerField("Content-Encoding", "gzip")])
        case "/named": .text("named", [ServerField("Content-Disposition", "attachment; filename=\"given.txt\"")])
        case "/tagged": .text("tagged", [ServerField("ETag", "\"v2\"")])
        case "/digest":
            request["Authorization"] == nil
                ? .status(401, [ServerField("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")])
                : .text("digested")
        case "/basic":
            request["Authorization"] == nil
                ? .status(401, [ServerField("WWW-Authenticate", "Basic realm=\"r\"")]) : .text("let in")
        default: .text("\(request.method) \(request.target)\n")
        }
    }

    /// A request without what differs on purpose: the program's name, and random boundaries and nonces.
    private static func shown(_ request: ServerRequest, _ authority: String) -> String {
        var boundaries: [String] = []
        if let type = request["Content-Type"], let range = type.range(of: "boundary=") {
            boundaries.append(String(type[range.upperBound...].prefix { $0 != ";" }))
        }
        let text = request.text
        if let range = text.range(of: "multipart/mixed; boundary=") {
            boundaries.append(String(text[range.upperBound...].prefix { !$0.isNewline }))
        }
        var fields = request.fields.filter {
            $0.name != "User-Agent" || !($0.value.hasPrefix("curl/") || $0.value.hasPrefix("lade/"))
        }
        .map { field in
            field.name == "Content-Length" && !boundaries.isEmpty
                ? "content-length: …" : "\(field.name.lowercased()): \(field.value)"
        }
        if request.path == "/digest" {
            fields = fields.map { $0.hasPrefix("authorization: Digest") ? "authorization: Digest" : $0 }
        }
        var result =
            "\(request.method) \(request.target)\n\(fields.filter { $0 != "content-length: 0" && $0 != "expect: 100-continue" }.sorted().joined(separator: "\n"))\n\n\(text)"
        for (index, boundary) in boundaries.enumerated() {
            result = result.replacing(boundary, with: "BOUNDARY\(index)")
        }
        return result.replacing(authority, with: "H")
    }

    private static let requestLines: [String] = [
        "curl http://H/", "curl H/x", "curl -I http://H/x", "curl -X DELETE http://H/x", "curl http://H/x http://H/y",
        "curl -d a=b -d c=d http://H/", "curl -d @list http://H/", "curl --data-binary @a.txt http://H/",
        "curl --data-raw @a http://H/",
        "curl -d '' http://H/", "curl --data-urlencode 'n=x y&' --data-urlencode @b.html http://H/",
        "curl -G -d a=b -d 'c=d' 'http://H/?q=1'",
        "curl -G http://H/", "curl --json '{\"a\":1}' http://H/", "curl --json '{' --json '}' http://H/",
        "curl -G --json '{}' -d a=b http://H/".replacing("--json '{}' ", with: ""),
        "curl -T a.txt http://H/", "curl -T a.txt http://H/up/", "curl -T a.txt http://H/x http://H/y",
        "curl -T a.txt http://H/x -T b.html http://H/y",
        "curl -T a.txt 'http://H/[1-2]'", "curl -X POST -T a.txt http://H/x",
        "curl -T - http://H/x < a.txt".replacing(" < a.txt", with: "").replacing("-T -", with: "-T b.html"),
        "curl -H 'Accept: text/plain' http://H/", "curl -A me http://H/", "curl -e http://r/ http://H/",
        "curl -H @list http://H/", "curl -H 'X-A:   b  ' http://H/", "curl -H 'Connection: close' http://H/",
        "curl -u ann:pw http://H/", "curl --basic -u ann:pw http://H/", "curl http://ann:pw@H/x",
        "curl -u ann: http://H/", "curl -u ann:pw -H 'Authorization: x' http://H/",
        "curl --oauth2-bearer tok http://H/", "curl --anyauth -u ann:pw http://H/basic",
        "curl --digest -u ann:pw http://H/digest", "curl --anyauth -u ann:pw http://H/digest",
        "curl --digest --basic -u ann:pw http://H/basic", "curl --basic --digest -u ann:pw http://H/basic",
        "curl --digest --basic -u ann:pw http://H/digest", "curl --anyauth --basic -u ann:pw http://H/digest",
        "curl --basic --no-basic -u ann:pw http://H/basic", "curl --no-digest -u ann:pw http://H/basic",
        "curl --oauth2-bearer tok -H 'Authorization: x' http://H/", "curl -u ann:pw -H 'Authorization:' http://H/",
        "curl --digest -u ann:pw -H 'Authorization:' http://H/digest", "curl -H 'authorization:' http://ann:pw@H/",
        "curl --oauth2-bearer tok -H 'Authorization:' http://H/",
        "curl -T . http://H/up/", "curl -m 0 http://H/", "curl --max-filesize 0 http://H/x",
        "curl -b a=b http://H/", "curl -r 0-3 http://H/", "curl -r 4 http://H/", "curl -r -5 http://H/",
        "curl -r 0-1,3-4 http://H/",
        "curl -z 20010203 http://H/", "curl -z 'Sun, 06 Nov 1994 08:49:37 GMT' http://H/",
        "curl -z '-Sun, 06 Nov 1994 08:49:37 GMT' http://H/",
        "curl --etag-compare tag http://H/",
        "curl --url-query 'a=b c' 'http://H/?d'".replacing("--url-query 'a=b c' ", with: ""),
        "curl --compressed -H 'Accept-Encoding: gzip' http://H/", "curl -sSfL http://H/x", "curl -gs 'http://H/x'",
        "curl -XPUT -da=b http://H/",
        "curl -K config", "curl -K config -d x", "curl --url http://H/x --url http://H/y", "curl -- http://H/x",
        "curl -L http://H/moved", "curl -L -d a=b http://H/moved", "curl -L -d a=b http://H/kept",
        "curl http://H/moved", "curl -L --max-redirs 3 http://H/moved",
        "curl -d a=b http://H/x --next http://H/y", "curl -H 'A: b' http://H/x -: -I http://H/y",
        "curl --no-location http://H/moved", "curl --proto =http H/x",
        "curl --resolve example.test:80:127.0.0.1 http://H/x", "curl -4 http://H/x",
        "curl --connect-timeout 5 -m 5 --retry 0 http://H/x", "curl --http1.1 http://H/x",
        "curl --path-as-is http://H/a/b", "curl --tcp-nodelay --no-keepalive -N http://H/x",
        "curl 'http://H/x#frag'",
        "curl -X HEAD -I http://H/x", "curl -X OPTIONS http://H/x", "curl -X post http://H/x",
        "curl -H 'X-A: ü' http://H/", "curl 'http://H/?q=%20'",
    ]

    private static let unsettingLines: [String] = [
        "curl -H 'X-A: b' -H 'X-B;' -H 'Accept:' http://H/", "curl -H 'User-Agent:' http://H/", "curl -A '' http://H/",
        "curl -e '' http://H/", "curl -A me -H 'User-Agent:' http://H/", "curl -e r -H 'Referer:' http://H/",
        "curl -H 'Content-Type:' -d a http://H/", "curl -H 'Expect:' -d a http://H/",
    ]

    private static let contradictingLines: [String] = [
        "curl -H 'Host: other' http://H/", "curl -H 'Content-Type: text/x' -d a http://H/",
        "curl -H 'Content-Length: 1' -d a http://H/", "curl -H 'Transfer-Encoding: chunked' -d abc http://H/",
        "curl -H 'Content-Type: multipart/form-data' -F a=1 http://H/",
    ]

    private static let formOptions: [String] = [
        "-F a=1", "-F a=1 -F b=2", "-F 'a= x '", "-F 'a=\"x;y\"'", "-F 'a=\"x\\\"y\\\\z\"'", "-F 'a=\"unclosed'",
        "-F 'a=x;type=text/csv'",
        "-F 'a=x; type=text/csv'", "-F 'a=x;filename=f.html'", "-F 'a=x;filename=f'",
        "-F 'a=x;filename=\"f;g\";type=a/b'", "-F a=@a.txt", "-F a=@b.html",
        "-F 'a=@\"a.txt\"'", "-F 'a=@a.txt;type=a/b; charset=utf-8'", "-F 'a=@a.txt;filename=n.png'",
        "-F 'a=@a.txt;filename=n;type=text/y'",
        "-F 'a=<b.html'", "-F 'a=<a.txt'", "-F 'a=<a.txt;type=text/csv'", "-F 'a=@a.txt,b.html'",
        "-F 'a=@a.txt;type=x/y,b.html;filename=q'",
        "-F 'a=x;headers=X-H: 1'", "-F 'a=x;headers=\"X-H: 1;2\"'", "-F 'a=@a.txt;headers=@headers'",
        "-F 'a=x;headers=@headers;type=a/b'", "--form-string 'a=@x;type=a/b'", "--form-string 'a=<x'",
        "-F 'a\"b=x'", "-F 'a=x;type=text/csv;x=y'", "-F 'a=ü'", "-F a=", "-F 'a=@a.txt ; type=x/y'", "-F 'a= @x'",
    ]

    @Test(
        "a translated line sends what curl sends: finding CF-12 finding CF-25 finding CF-28",
        arguments: requestLines
    )
    func sends(line: String) async throws { try await compareRequests(of: line) }

    @Test("finding CF-24 a name without a value unsets what curl unsets", arguments: unsettingLines)
    func unsets(line: String) async throws { try await compareRequests(of: line) }

    @Test(
        "finding CF-3 a field of the caller that contradicts the body or the address is sent as curl sends it",
        arguments: contradictingLines
    )
    func contradicts(line: String) async throws { try await compareRequests(of: line) }

    private func compareRequests(of line: String) async throws {
        let (ours, _, talk) = try await Self.run(line, byCurl: false)
        let (theirs, _, _) = try await Self.run(line, byCurl: true)
        #expect(ours.requests == theirs.requests, "\(talk)")
        #expect(ours.output == theirs.output || line.contains("-I"), "\(talk)")
        #expect(ours.files == theirs.files, "\(talk)")
    }

    @Test("finding CF-4 a form has the bytes that curl sends", arguments: formOptions)
    func sendsForms(option: String) async throws {
        let line = "curl \(option) http://H/"
        let (ours, _, talk) = try await Self.run(line, byCurl: false)
        let (theirs, _, _) = try await Self.run(line, byCurl: true)
        #expect(ours.requests == theirs.requests, "\(talk)")
    }

    @Test(
        "finding CF-4 what curl's forms have and lade has not is refused by name",
        arguments: [
            "-F 'a=x;encoder=base64'", "-F 'a=(;type=multipart/mixed' -F '=)'", "-F '=x'", "-F 'a=x;y=z'",
            "-F 'a=\"x\" y'", "-F 'a=x;type=y'",
        ]
    )
    func refusedForms(option: String) async throws {
        let (ours, status, talk) = try await Self.run("curl \(option) http://H/", byCurl: false)
        #expect(ours.requests == [])
        #expect(status == 1, "\(talk)")
        #expect(talk.contains("--form-part"), "\(talk)")
    }

    private static let fileLines: [String] = [
        "curl -o out http://H/x", "curl -o out http://H/missing", "curl -O http://H/a/name?x",
        "curl -O -J http://H/named", "curl -O http://H/named",
        "curl -o 'f#1' 'http://H/[1-3]'", "curl -o 'f_#2_#1' 'http://H/{a,b}/[1-2]'", "curl 'http://H/{a,b}'",
        "curl -g 'http://H/x'",
        "curl -o x http://H/x -o y http://H/y", "curl -o x http://H/x http://H/y", "curl -O http://H/x -O http://H/y",
        "curl --remote-name-all http://H/x http://H/y",
        "curl --output-dir sub --create-dirs -o out http://H/x", "curl --create-dirs -o a/b/c http://H/x",
        "curl http://H/x -o x -o y",
        "curl -L -O http://H/moved", "curl --etag-save saved http://H/tagged", "curl -o a.new http://H/x -T b.html",
        "curl -o out -f http://H/missing", "curl -f http://H/missing",
        "curl --fail-with-body http://H/missing", "curl --fail-with-body -o out http://H/missing",
        "curl -o out http://H/x --next -o other http://H/y", "curl --no-clobber -o b.html http://H/x",
        "curl -o 'a #9' http://H/x", "curl --output-dir sub --create-dirs -OJ http://H/named",
    ]

    private static let writeOutLines: [String] = [
        "curl -w '%{http_code} %{method} %{url} %{num_redirects} %{size_download} %{content_type}\\n' -L http://H/moved",
        "curl -w '%{redirect_url}' http://H/moved", "curl -w '%{urlnum},' 'http://H/[1-2]'",
        "curl -w @list http://H/x", "curl -w '%{stdout}a%%b\\t\\n%header{etag}' http://H/tagged",
    ]

    @Test(
        "a translated line writes what curl writes: finding CF-8 finding CF-9 finding CF-11 finding CF-28",
        arguments: fileLines
    )
    func writes(line: String) async throws { try await compareAll(of: line) }

    @Test(
        "finding CF-10 without --compressed a coded body is stored as it was sent",
        arguments: [
            "curl -o out http://H/coded", "curl -O http://H/coded",
            "curl -o out -H 'Accept-Encoding: gzip' http://H/coded",
        ]
    )
    func keepsCoding(line: String) async throws { try await compareAll(of: line) }

    @Test("finding CF-22 what --write-out shows is what curl shows", arguments: writeOutLines)
    func writesOut(line: String) async throws { try await compareAll(of: line) }

    private func compareAll(of line: String) async throws {
        let (ours, _, talk) = try await Self.run(line, byCurl: false)
        let (theirs, _, _) = try await Self.run(line, byCurl: true)
        #expect(ours == theirs, "\(talk)")
    }

    @Test(
        "finding CF-28 an option without a counterpart is refused by name before anything is sent",
        arguments: [
            "--ntlm -u a:b", "--negotiate -u :", "--aws-sigv4 aws:amz", "--http0.9", "--raw",
            "--interface lo", "--hsts f", "--alt-svc f",
            "--trace f", "--libcurl f", "--socks4 h", "--tr-encoding", "--ignore-content-length",
            "--doh-url https://d/", "--expand-nothing x", "--stderr f", "-Y 1", "-y 1", "--proxy-ntlm", "--crlfile f",
            "--ciphers x", "--haproxy-protocol", "--rate 1/s", "-t x=y", "--cert-status", "--form-escape",
        ]
    )
    func refuses(options: String) async throws {
        let (ours, status, talk) = try await Self.run("curl \(options) http://H/", byCurl: false)
        #expect(ours.requests == [])
        let name = options.split(separator: " ")[0]
        #expect(status == 1, "\(talk)")
        #expect(talk.contains(name) || talk.contains("-C -") || talk.contains("--referer"), "\(talk)")
    }
}
