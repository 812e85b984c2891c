import Foundation
import LadeTesting
import LadeTraffic
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

/// The built program records, and reads recordings.
@Suite("lade --har and lade har", .timeLimit(.minutes(5)))
struct HarTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A recording of a call with a redirect, a retry and a secret.
    private func record() async throws -> (server: LoopbackServer, path: String) {
        let server = try LoopbackServer { request in
            switch request.path {
            case "/old": return .status(302, [ServerField("Location", "/new?api_key=hush-hush")])
            default: return .json(#"{"n":1}"#)
            }
        }
        let path = folder.file("a.har")
        let outcome = try await LadeProcess.run(
            "get",
            "-L",
            "--har",
            path,
            server.address("/old"),
            "-H",
            "Authorization: Bearer hush-hush-token"
        )
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(outcome.output == #"{"n":1}"#)
        return (server, path)
    }

    @Test("traffic HT-70 records every exchange of lade get, without secrets and for its owner alone")
    func records() async throws {
        let (server, path) = try await record()
        let entries = try HARReader().entries(of: path)
        #expect(entries.map(\.response.status) == [302, 200])
        #expect(entries[0].serverAddress == "127.0.0.1")
        #expect(entries[0].connection == "\(server.port)")
        #expect(entries[1].facts.rule == "redirect 302")
        #expect(entries.flatMap { HARCheck.faults(of: $0, number: 1) } == [])
        #expect(try folder.mode("a.har") == 0o600)
        #expect(folder.text("a.har")?.contains("hush-hush") == false)
    }

    @Test("traffic HT-71 records secrets where they are asked for by name, and the beginning of bodies")
    func options() async throws {
        let server = try LoopbackServer { _ in .json(#"{"text":"0123456789"}"#) }
        let path = folder.file("b.har")
        let outcome = try await LadeProcess.run(
            "get",
            server.address("/?token=shown-secret"),
            "--har",
            path,
            "--har-secrets",
            "--har-bodies",
            "5"
        )
        #expect(outcome.status == 0, "\(outcome.talk)")
        let entry = try #require(try HARReader().entries(of: path).first)
        #expect(entry.request.url.hasSuffix("token=shown-secret"))
        #expect(entry.response.content.bytes?.count == 5)
        #expect(entry.response.content.size == 21)
        let alone = try await LadeProcess.run("get", server.address(), "--har-secrets")
        #expect(alone.status == 1)
        #expect(alone.talk.contains("--har-secrets without --har"))
    }

    @Test("traffic HT-72 records the pages of lade pages")
    func pages() async throws {
        let server = try LoopbackServer { request in
            request.query == "page=2" ? .json("[3]") : .json("[1,2]", [ServerField("Link", "<?page=2>; rel=next")])
        }
        let path = folder.file("c.har")
        let outcome = try await LadeProcess.run("pages", server.address("/list"), "--har", path)
        #expect(outcome.output == "1\n2\n3\n", "\(outcome.talk)")
        #expect(try HARReader().entries(of: path).count == 2)
    }

    @Test("traffic HT-73 lists a recording, and shows one entry with its bodies and times")
    func lists() async throws {
        let (server, path) = try await record()
        let list = try await LadeProcess.run("har", "ls", path)
        let rows = list.output.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false)
        }
        #expect(rows.map { $0[1] } == ["302", "200"])
        #expect(rows[1][3] == "http://127.0.0.1:\(server.port)/new?api_key=<redacted>")
        let shown = try await LadeProcess.run("har", "show", path, "2")
        #expect(shown.output.contains("> GET http://127.0.0.1:\(server.port)/new"))
        #expect(shown.output.contains("> Authorization: <redacted>"))
        #expect(shown.output.contains(#"{"n":1}"#))
        #expect(shown.output.contains(" ms  in all"))
        let body = try await LadeProcess.run("har", "show", path, "2", "--body")
        #expect(body.output == #"{"n":1}"#)
        let missing = try await LadeProcess.run("har", "show", path, "9")
        #expect(missing.status == 1)
        #expect(missing.talk.contains("has no entry 9, but 2"))
    }

    @Test("traffic HT-74 prints a curl command line that sends the request of an entry again")
    func curl() {
        var entry = HAREntry(
            started: Date(timeIntervalSince1970: 0),
            request: .init(method: "POST", url: "https://a.example/[1]"),
            response: .init(status: 200)
        )
        entry.request.headers = [
            .init(":authority", "a.example"), .init("Accept", "*/*"), .init("Accept-Encoding", "gzip"),
            .init("Content-Length", "4"), .init("Authorization", "<redacted>"),
        ]
        entry.request.content = .init(Data("it's".utf8), type: "text/plain")
        #expect(
            HarCurl.line(entry) == "curl -g 'https://a.example/[1]' -H 'Accept: */*' -H 'Authorization: <redacted>' "
                + "-H User-Agent: -H 'Content-Type: text/plain' --compressed --data-raw 'it'\\''s'"
        )
        entry.request = .init(method: "HEAD", url: "https://a.example/")
        #expect(HarCurl.line(entry) == "curl -I https://a.example/ -H Accept: -H User-Agent:")
    }

    @Test("traffic HT-75 names the fault of a recording with entry and member, and the exit code is that of data")
    func faults() async throws {
        let (_, path) = try await record()
        let text = try #require(folder.text("a.har"))
        let wrong = try folder.file("w.har", text.replacingOccurrences(of: #""status":302"#, with: #""status":"x""#))
        let refused = try await LadeProcess.run("har", "ls", wrong)
        #expect(refused.status == 13)
        #expect(refused.talk.contains("w.har, entry 1, response.status: it is no whole number"))
        let used = try await LadeProcess.run("har", "ls", wrong, "--lenient")
        #expect(used.status == 0)
        #expect(used.output.split(separator: "\n").count == 2)
        let checked = try await LadeProcess.run("har", "check", wrong)
        #expect(checked.status == 13)
        #expect(checked.output.hasPrefix("entry 1, response.status: it is no whole number\n"))
        #expect(try await LadeProcess.run("har", "check", path).status == 0)
        #expect(try await LadeProcess.run("har", "ls", folder.file("none.har")).status == 14)
    }

    @Test("traffic HT-76 completes a cut file")
    func repairs() async throws {
        let (_, path) = try await record()
        let text = try #require(folder.text("a.har"))
        let cut = try folder.file("cut.har", String(text.dropLast(40)))
        #expect(try await LadeProcess.run("har", "check", cut).status == 13)
        let repaired = try await LadeProcess.run("har", "repair", cut)
        #expect(repaired.output == "1 entry: the file completed\n")
        #expect(try await LadeProcess.run("har", "check", cut).status == 0)
        #expect(try await LadeProcess.run("har", "repair", path).output == "2 entries: the file is complete\n")
    }

    @Test("traffic HT-77 leaves a readable file when the program is killed")
    func killed() async throws {
        let server = try LoopbackServer { request in
            request.path == "/last" ? .stream { try $0.wait(for: Signal()) } : .json("[1]")
        }
        let path = folder.file("k.har")
        let process = try LadeProcess(["get", server.address("/first"), server.address("/last"), "--har", path])
        try await server.requests(atLeast: 2)
        process.send(SIGKILL)
        _ = try await process.outcome()
        let count = try HARReader().entries(of: path).count
        #expect(count == 1)
        #expect(try HARFile.repair(path).wasDamaged == false)
    }

    @Test("traffic HT-77 loses no entry when the program is killed while it writes", arguments: [2, 3, 5, 9])
    func killedWhileWriting(_ requests: Int) async throws {
        // Large bodies, so that the program writes most of the time; the next request follows an entry that is written.
        let body = "[" + String(repeating: #""0123456789","#, count: 50_000) + "0]"
        let server = try LoopbackServer { _ in .json(body) }
        let path = folder.file("w\(requests).har")
        let process = try LadeProcess(["get"] + (0..<100).map { server.address("/\($0)") } + ["--har", path])
        try await server.requests(atLeast: requests)
        process.send(SIGKILL)
        _ = try await process.outcome()

        let repair = try HARFile.repair(path)

        let entries = try HARReader().entries(of: path)
        #expect(entries.count == repair.kept)
        #expect(entries.count >= requests - 1)
        #expect(entries.allSatisfy { $0.response.content.bytes == Data(body.utf8) })
    }

    @Test("traffic HT-78 serves a recording to other programs")
    func serves() async throws {
        let (server, path) = try await record()
        let authority = "127.0.0.1:\(server.port)"
        server.stop()
        let process = try LadeProcess(["serve", "--har", path])
        try await process.output(atLeast: 20)
        let address = String(process.outputSoFar().dropLast())
        let got = try await LadeProcess.run("get", address + "http/\(authority)/new?api_key=any")
        #expect(got.output == #"{"n":1}"#, "\(got.talk)")
        process.send(SIGTERM)
        _ = try await process.outcome()
    }

    @Test("traffic HT-81 serves a recording with its times, and refuses them without a recording")
    func servesWithTimes() async throws {
        let (_, path) = try await record()
        let process = try LadeProcess(["serve", "--har", path, "--har-times"])
        try await process.output(atLeast: 20)
        let address = String(process.outputSoFar().dropLast())
        #expect(try await LadeProcess.run("get", address + "new?api_key=any").output == #"{"n":1}"#)
        process.send(SIGTERM)
        _ = try await process.outcome()
        let alone = try await LadeProcess.run("serve", "--har-times", "--for", "1s")
        #expect(alone.status == 1)
        #expect(alone.talk.contains("--har-times without --har"))
    }

    @Test("traffic HT-79 writes a page of a recording, and of a call that lade explain makes")
    func page() async throws {
        let (server, path) = try await record()
        let page = try await LadeProcess.run("har", "html", path)
        #expect(page.output.hasPrefix("<!DOCTYPE html>"))
        #expect(!page.output.contains("hush-hush"))
        let target = folder.file("e.html")
        let explained = try await LadeProcess.run("explain", "-L", server.address("/old"), "--html", target)
        #expect(explained.status == 0, "\(explained.talk)")
        #expect(folder.text("e.html")?.contains("redirect 302") == true)
        #expect(try folder.mode("e.html") == 0o600)
    }

    @Test("traffic HT-80 compares two recordings")
    func compares() async throws {
        let (_, path) = try await record()
        let text = try #require(folder.text("a.har"))
        let other = try folder.file("o.har", text.replacingOccurrences(of: #""status":200"#, with: #""status":404"#))
        let outcome = try await LadeProcess.run("har", "diff", path, other)
        #expect(outcome.output.hasPrefix("status\tGET http://127.0.0.1:"))
        #expect(outcome.output.hasSuffix("200 → 404\n"))
        #expect(try await LadeProcess.run("har", "diff", path, path).output == "")
    }
}
