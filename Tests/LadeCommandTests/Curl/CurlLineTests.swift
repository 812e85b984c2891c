import Foundation
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// The lines that `--curl` prints, run by bash and the real curl.
@Suite("Printed lines of curl", .timeLimit(.minutes(10)), .enabled(if: RealCurl.isThere))
struct CurlLineTests {
    /// Arguments for each option that a line of curl can have; `F` is a file, `D` a folder.
    private static let samples: [String: [String]] = [
        "url": ["--url", "U/other"], "request": ["-X", "PATCH"], "header": ["-H", "X-A: it's"], "data": ["-d", "a=b"],
        "data-raw": ["--data-raw", "@a'b"], "data-binary": ["--data-binary", "@F"],
        "data-urlencode": ["--data-urlencode", "n=x y"],
        "get": ["-G"], "form": ["--form", "i=1"], "form-part": ["-F", "p=@F;type=a/b;filename=\"q;\\\"r\""],
        "form-string": ["--form-string", "s=@x;type=y"], "json": ["--json", "{\"a\":1}"], "upload-file": ["-T", "F"],
        "stdin": ["--stdin"], "user": ["-u", "ann:p'w"], "basic": ["--basic"], "digest": ["--digest", "-u", "ann:pw"],
        "anyauth": ["--anyauth", "-u", "ann:pw"], "oauth2-bearer": ["--oauth2-bearer", "tok"],
        "range": ["--range", "0-4"],
        "time-cond": ["-z", "2001-02-03"], "etag-compare": ["--etag-compare", "F"], "head": ["-I"],
        "user-agent": ["-A", "me"],
        "referer": ["-e", "http://r/"], "url-query": ["--url-query", "q=x y"], "cookie": ["-b", "a=b; c='d'"],
        "cookie-jar": ["-c", "D/jar"],
        "output": ["-o", "D/out"], "remote-name": [], "remote-name-all": [], "remote-header-name": [],
        "output-dir": ["--output-dir", "D"],
        "create-dirs": ["--create-dirs"], "no-clobber": ["--no-clobber"], "remote-time": ["-R"],
        "dump-header": ["-D", "D/heads"],
        "continue": [], "include": ["-i"], "fail": ["-f"], "fail-with-body": ["--fail-with-body"], "verbose": ["-v"],
        "write-out": ["-w", "%{http_code}\\n'"], "silent": ["-s"], "show-error": ["-S"],
        "max-size": ["--max-size", "64k"],
        "etag-save": ["--etag-save", "D/tag"], "limit-rate": ["--limit-rate", "10M"], "location": ["-L"],
        "max-redirects": ["--max-redirects", "3"],
        "location-trusted": ["--location-trusted"], "retry": ["--retry", "1"], "retry-delay": ["--retry-delay", "1s"],
        "retry-max-time": ["--retry-max-time", "5s"], "junk-session-cookies": ["-j"], "proxy-digest": [],
        "proxy-anyauth": [],
        "proxy-header": [],
        "idempotency-key": ["--idempotency-key", "k"], "max-time": ["-m", "30s"],
        "connect-timeout": ["--connect-timeout", "5s"], "proxy": ["-x", ""],
        "noproxy": ["--noproxy", "*"], "proxy-user": [], "proxytunnel": [],
        "resolve": ["--resolve", "h.test:80:127.0.0.1"],
        "ipv4": ["-4"], "ipv6": [], "cacert": [], "cert": [], "key": [], "pin": [], "insecure": ["-k"],
        "unix-socket": [],
        "connect-to": [], "http2": ["--http2"], "http1.1": ["--http1.1"], "http2-prior-knowledge": [],
        "compressed": ["--compressed"], "raw": ["--raw"], "path-as-is": ["--path-as-is"],
    ]

    @Test("finding CF-19 every option has a form in curl or a reason for having none, and a sample")
    func complete() {
        for info in GetSettings.rows.map(\.info) {
            let isKnown = CurlOption.withoutForm[info.name] != nil || Self.samples[info.name] != nil
            #expect(isKnown, "--\(info.name) states no form in curl")
            #expect(
                CurlOption.withoutForm[info.name] == nil || Self.samples[info.name] == nil,
                "--\(info.name) states both"
            )
        }
        for option in CurlOption.all {
            guard case .option(let name) = option.meaning else { continue }
            let rows = GetSettings.rows.map(\.info).filter { $0.name == name || $0.aliases.contains(name) }
            #expect(rows.count == 1, "curl's --\(option.name)")
            #expect((rows.first?.metavar != nil) == option.takesValue, "curl's --\(option.name)")
        }
        #expect(Set(CurlOption.all.map(\.name)).count == CurlOption.all.count)
    }

    /// Pairs of names: all in `make soak`, and a random sample with each name in four of them in `make test`.
    private static func pairs(of names: [String]) -> [[String]] {
        var all: [[String]] = []
        for (index, name) in names.enumerated() { all += names[(index + 1)...].map { [name, $0] } }
        let random = SeededRandom(seed: Soak.current.seed(for: "pairs of options"))
        if Soak.current.share != nil {
            let count = Soak.current.rounds(of: all.count, few: names.count * 2)
            return Array(random.shuffled(all).prefix(count))
        }
        return (0..<4).flatMap { _ in
            let order = random.shuffled(names)
            // The last of an odd number goes with the first.
            return stride(from: 0, to: order.count, by: 2).map { [order[$0], order[($0 + 1) % order.count]] }
        }
    }

    @Test("the real curl sends for the printed line what lade sends, for every option and pairs of them: finding CF-19")
    func everyOptionAndPairs() async throws {
        let server = try LoopbackServer { _ in .text("ok", [ServerField("ETag", "\"1\"")]) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("sample", "\"v1\"\n")
        let names = Self.samples.filter { !$0.value.isEmpty }.keys.sorted()
        let cases = names.map { [$0] } + Self.pairs(of: names)
        var script = ""
        var expected: [(number: Int, names: [String])] = []
        var console = Console()
        console.output = try Descriptor.open("/dev/null", O_WRONLY)
        console.input = try Descriptor.open("/dev/null", O_RDONLY)
        console.talk = LineLog(try Descriptor.open("/dev/null", O_WRONLY))
        let context = CommandContext(table: .standard, console: console, interruption: Interruption())
        for (number, names) in cases.enumerated() {
            func arguments(_ program: String) throws -> [String] {
                let own = "\(folder.path)\(program)\(number)"
                try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
                let words = names.flatMap { Self.samples[$0] ?? [] }.map { word in
                    word.replacing("D/", with: own + "/").replacing("@F", with: "@" + file)
                        .replacing("U/", with: server.address("/"))
                }
                let placed = words.map { $0 == "F" ? file : $0 == "D" ? own : $0 }
                return [server.address("/\(program)\(number)"), "-q", "--show-secrets"] + placed
            }
            let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
            guard case .run(let settings) = try? parser.parse(try arguments("c")) else { continue }
            let isReading = settings.request.readsInput
            guard !isReading, let call = try settings.calls().first else { continue }
            // With --digest curl sends a body only after a challenge, and this server has none. A folder that is missing is
            // noticed before anything is sent.
            let prepared = try await PreparedCall(call, context)
            if names.contains("digest"), prepared.request.body != nil { continue }
            if names.contains("output"), names.contains("output-dir") { continue }
            let line = try CurlLine(call, prepared).text
            script +=
                line.replacing("curl ", with: "\(RealCurl.path) -q ", maxReplacements: 1) + " </dev/null\n"
            _ = try? await context.table.run(["get"] + arguments("l"), in: context)
            expected.append((number, names))
        }
        let path = try folder.file("script", script)
        _ = try await LadeProcess.run(path, program: "/bin/bash", to: .file("/dev/null"))

        var byPath: [String: [ServerRequest]] = [:]
        for index in 0..<server.requestCount {
            let request = try await server.request(at: index)
            byPath[request.path, default: []].append(request)
        }
        func shown(_ path: String) -> [String] {
            (byPath[path] ?? []).map { request in
                let boundary = request["Content-Type"].flatMap { type in
                    type.range(of: "boundary=").map { String(type[$0.upperBound...]) }
                }
                let fields = request.fields.map { "\($0.name.lowercased()): \($0.value)" }
                    .filter {
                        !$0.hasPrefix("user-agent: curl/") && !$0.hasPrefix("user-agent: lade/")
                            && !$0.hasPrefix("accept-encoding:")
                            // Differences that Coming from curl lists.
                            && !$0.hasPrefix("want-repr-digest:") && !$0.hasPrefix("expect:")
                            && $0 != "content-length: 0"
                    }
                    .map { boundary != nil && $0.hasPrefix("content-length:") ? "content-length: …" : $0 }
                let text =
                    "\(request.method) \(request.query ?? "")\n\(fields.sorted().joined(separator: "\n"))\n\n\(request.text)"
                return boundary.map { text.replacing($0, with: "BOUNDARY") } ?? text
            }
        }
        // What is refused, or has no line, is left out.
        #expect(expected.count > cases.count / 3)
        for (number, names) in expected {
            let (ours, theirs) = (shown("/l\(number)"), shown("/c\(number)"))
            #expect(ours == theirs, "\(names)")
        }
    }
}
