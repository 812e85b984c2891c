import Foundation
import LadeTesting
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import Lade
@testable import LadeCommand

/// `lade get --cache` and `lade cache`, in this process, on a scripted transport and a store in a folder of the test.
struct CachingCommand: Sendable {
    let folder: TemporaryFolder
    let time = VirtualTime()
    let transport = ScriptedTransport()

    init() throws { folder = try TemporaryFolder() }

    /// Runs the command; `--cache` among the arguments names the folder of the test.
    func run(_ words: [String]) async throws -> (code: ExitCode, output: String, talk: String) {
        let aside = try TemporaryFolder()
        defer { aside.remove() }
        var console = Console()
        let output = try Descriptor.open(aside.file("out", ""), O_WRONLY)
        console.output = output
        let talk = try Descriptor.open(aside.file("talk", ""), O_WRONLY)
        defer { for descriptor in [output, talk] { try? descriptor.close() } }
        console.talk = LineLog(talk)
        (console.isOutputTerminal, console.isTalkTerminal) = (false, false)
        (console.usesColour, console.coloursTalk, console.laysOut) = (false, false, false)
        var context = CommandContext(table: .standard, console: console, interruption: Interruption(), time: time)
        context.makeService = { [transport] settings throws(LoadingError) in Service(settings, transport: transport) }
        let arguments = words.map { $0 == "--cache" ? "--cache=\(folder.path)cache" : $0 }
        let code = await time.runAutomatically { [context] in
            do throws(CommandError) {
                return try await context.table.run(arguments, in: context)
            } catch {
                if !error.isQuiet { context.console.talk.write(error.lines) }
                return error.code
            }
        }
        console.talk.flush()
        return (code, aside.text("out") ?? "", aside.text("talk") ?? "")
    }
}

@Suite(.timeLimit(.minutes(5)))
struct CacheCommandTests {
    private let command: CachingCommand
    private var folder: TemporaryFolder { command.folder }
    private var transport: ScriptedTransport { command.transport }

    init() throws { command = try CachingCommand() }

    private func run(_ words: String...) async throws -> (code: ExitCode, output: String, talk: String) {
        try await command.run(words)
    }

    private func run(_ words: [String]) async throws -> (code: ExitCode, output: String, talk: String) {
        try await command.run(words)
    }

    private let address = "https://svc.example.com/thing?token=canary"

    @Test("cache CA-224 --cache serves the second call from the folder, and --cache-status and --verbose say so")
    func getsTwice() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "max-age=60"])).andNoMore()

        let first = try await run("get", "--cache", "--cache-status", "-v", address)
        let second = try await run("get", "--cache", "--cache-status", "-v", address)

        #expect((first.code, first.output) == (.success, "one"))
        #expect((second.code, second.output) == (.success, "one"))
        #expect(first.talk.contains("Cache-Status: Lade; fwd=uri-miss; stored; detail=uri-miss\n"))
        #expect(second.talk.contains("Cache-Status: Lade; hit; ttl="))
        #expect(first.talk.contains("* stored: 3 bytes, fresh for 60 s"))
        #expect(second.talk.contains("* served from the cache: fresh, 0 ms old, fresh for 60 s"))
        #expect(transport.received.count == 1)
    }

    @Test("a stale response that may be served is, and the command asks for its successor before it ends: cache CA-283")
    func asksInTheBackground() async throws {
        defer { folder.remove() }
        let number = Locked(0)
        let server = try LoopbackServer { _ in
            let body = Data("\(number.withLock { $0 += 1; return $0 })".utf8)
            return .bytes(body, [ServerField("Cache-Control", "max-age=0, stale-while-revalidate=60")])
        }
        var served: [String] = []
        for _ in 1...3 {
            let words = ["get", "--cache=\(folder.path)cache", server.address("/thing")]
            served.append(try await LadeProcess(words, in: folder.path).outcome().output)
        }
        #expect(served == ["1", "1", "2"])
        #expect(server.requests.count == 3)
    }

    @Test("cache CA-224 without --cache nothing is stored, and --no-cache overrides it")
    func isOff() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "max-age=60"]))

        for _ in 1...2 { _ = try await run("get", address) }
        for _ in 1...2 { _ = try await run("get", "--cache", "--no-cache", address) }

        #expect(transport.received.count == 4)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "cache"))
    }

    @Test("cache CA-224 the mode only fails with two lines where nothing is stored, and never asks a server")
    func onlyStored() async throws {
        defer { folder.remove() }
        let outcome = try await run("get", "--cache", "--cache-mode", "only", address)

        #expect(outcome.code == .usage)
        #expect(outcome.talk.split(separator: "\n").count == 2)
        #expect(!outcome.talk.contains("canary"))
        #expect(transport.received.isEmpty)
    }

    @Test("cache CA-225 CA-227 CA-236 ls, purge and check show, remove and verify what is stored, without secrets")
    func manages() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(
            .text("one", headers: ["Cache-Control": "max-age=60", "Vary": "Accept", "Set-Cookie": "a=canary"])
        )
        _ = try await run("get", "--cache", address)
        _ = try await run("get", "--cache", "https://other.example.com/")

        let list = try await run("cache", "ls", "--cache", "--host", "svc.example.com")
        let check = try await run("cache", "check", "--cache")
        let purge = try await run("cache", "purge", "--cache", "--host", "svc.example.com")
        let rest = try await run("cache", "ls", "--cache")

        #expect(list.output.split(separator: "\n").count == 1)
        #expect(list.output.contains(#""status":200"#) && list.output.contains(#""varyingFields":["accept"]"#))
        #expect(!list.output.contains("canary"))
        #expect((check.code, check.output) == (.success, "2 responses are sound, 0 damaged\n"))
        #expect(purge.output.hasPrefix("1 response, "))
        #expect(rest.output.contains("other.example.com") && !rest.output.contains("svc.example.com"))
    }

    @Test("cache CA-226 why says what a call would get, and asks no server")
    func explains() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "max-age=60"])).andNoMore()
        _ = try await run("get", "--cache", address)

        let hit = try await run("cache", "why", "--cache", address)
        let miss = try await run("cache", "why", "--cache", "https://svc.example.com/other")

        #expect(hit.output.hasPrefix("served from the cache: fresh\n"))
        #expect(hit.output.contains("lifetime 60 s, from max-age\n"))
        #expect(miss.output.hasPrefix("fetched from the server: uri-miss\n"))
        #expect(transport.received.count == 1)
    }

    @Test("cache CA-230 the responses of a user are served to no other")
    func users() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(
            .computed { request, _ in
                .text(request.headers["Authorization"] ?? "none", headers: ["Cache-Control": "max-age=60"])
            }
        )
        var outputs: [String] = []
        for user in ["", "a:x", "b:x", "a:x"] {
            let words = user.isEmpty ? [] : ["-u", user]
            outputs.append(try await run(["get", "--cache"] + words + [address]).output)
        }

        #expect(outputs[1] == outputs[3])
        #expect(Set(outputs).count == 3)
        #expect(transport.received.count == 3)
    }

    @Test("finding CK-6 a body that is cut is not said to be stored, and one that is stored is said so at its end")
    func saysStored() async throws {
        defer { folder.remove() }
        transport.on(.get, "/cut").respond(
            .chunks(["one", "two"], headers: ["Cache-Control": "max-age=60"]).breaking(after: 3)
        )
        transport.onAnyRequest().respond(.chunks(["one", "two"], headers: ["Cache-Control": "max-age=60"]))

        let cut = try await run("get", "--cache", "--cache-status", "https://svc.example.com/cut")
        let whole = try await run("get", "--cache", "--cache-status", "-i", "https://svc.example.com/whole")

        #expect(cut.code != .success)
        #expect(cut.talk.contains("Cache-Status: Lade; fwd=uri-miss; detail=broken-off\n"))
        #expect(whole.talk.contains("Cache-Status: Lade; fwd=uri-miss; stored; detail=uri-miss\n"))
        #expect(whole.output.contains("Cache-Status: Lade; fwd=uri-miss; detail=uri-miss\r\n"))
    }

    @Test("finding CK-7 after no-store the status and why name that rule, also in another run of the command")
    func saysWhyNotStored() async throws {
        defer { folder.remove() }
        transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "no-store"]))
            .then(.text("two", headers: ["Cache-Control": "max-age=60"]))

        let first = try await run("get", "--cache", "--cache-status", address)
        let why = try await run("cache", "why", "--cache", address)
        let second = try await run("get", "--cache", "--cache-status", address)
        let later = try await run("cache", "why", "--cache", address)

        #expect(first.talk.contains("Cache-Status: Lade; fwd=uri-miss; detail=no-store\n"))
        #expect(why.output.hasPrefix("fetched from the server: uri-miss\n"))
        #expect(why.output.contains("the last response was not stored: no-store\n"))
        #expect(second.talk.contains("Cache-Status: Lade; fwd=uri-miss; stored; detail=uri-miss\n"))
        #expect(later.output.hasPrefix("served from the cache: fresh\n"))
        #expect(!later.output.contains("not stored"))
    }

    @Test("finding CK-8 -i shows the heads that the caller gets, with Cache-Status each, and no discarded 304 or 206")
    func showsHeads() async throws {
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            guard request.target == "/thing" else {
                return .status(301, [ServerField("Location", "/thing"), ServerField("Cache-Control", "max-age=600")])
            }
            let isKnown = request.fields.contains { $0.value == "\"a\"" }
            let fields = [ServerField("ETag", "\"a\""), ServerField("Cache-Control", "max-age=\(isKnown ? 600 : 0)")]
            return isKnown ? .status(304, fields) : .bytes(Data("one".utf8), fields)
        }
        let words = ["get", "--cache=\(folder.path)cache", "--cache-status", "-i", "-L", server.address("/moved")]

        var outputs: [[String]] = []
        for _ in 0..<3 {
            let lines = try await LadeProcess(words, in: folder.path).outcome().output.split(separator: "\r\n")
            outputs.append(lines.map(String.init).filter { $0.hasPrefix("HTTP") || $0.hasPrefix("Cache-Status") })
        }

        #expect(
            outputs[0].map { String($0.prefix(12)) } == [
                "HTTP/1.1 301", "Cache-Status", "HTTP/1.1 200", "Cache-Status",
            ]
        )
        #expect(
            outputs[1...].map { $0.map { String($0.prefix(23)) } } == [
                ["HTTP/1.1 301 Moved Perm", "Cache-Status: Lade; hit", "HTTP/1.1 200 OK", "Cache-Status: Lade; fwd"],
                ["HTTP/1.1 301 Moved Perm", "Cache-Status: Lade; hit", "HTTP/1.1 200 OK", "Cache-Status: Lade; hit"],
            ]
        )
        #expect(server.requests.count == 3)
    }

    @Test(
        "finding CK-3 --raw and plain calls get the body in the form that each would have had",
        arguments: [true, false]
    )
    func rawForms(isRawFirst: Bool) async throws {
        defer { folder.remove() }
        let gzip = try #require(Data(base64Encoded: "H4sIAAAAAAACA6tWSlSyMqwFAK+sG1YHAAAA"))
        let server = try LoopbackServer { _ in
            .bytes(gzip, [ServerField("Cache-Control", "max-age=60"), ServerField("Content-Encoding", "gzip")])
        }
        let plain = ["get", "--cache=\(folder.path)cache", server.address("/thing")]
        for round in 0..<4 {
            if (round % 2 == 0) == isRawFirst {
                // A download with -o asks for no coding first, and again where the server sends one all the same.
                let file = try folder.file("raw\(round)", "")
                _ = try await LadeProcess(plain + ["--raw"], to: .file(file), in: folder.path).outcome()
                #expect(FileManager.default.contents(atPath: folder.path + "raw\(round)") == gzip)
            } else {
                #expect(try await LadeProcess(plain, in: folder.path).outcome().output == #"{"a":1}"#)
            }
        }
        #expect(server.requests.count == 2)
    }

    @Test(
        "finding CK-5 where nothing can be written the calls go on, with one warning that says so",
        arguments: [0, 8, 60]
    )
    func diskFull(blocks: Int) async throws {
        defer { folder.remove() }
        let body = Data(repeating: 0x61, count: 100_000)
        let server = try LoopbackServer { _ in .bytes(body, [ServerField("Cache-Control", "max-age=60")]) }
        // No file of the command gets longer, as on a full disk.
        let lade = "trap '' XFSZ; ulimit -f \(blocks); exec \(LadeProcess.path) \"$@\""
        let words = ["get", "--cache=\(folder.path)cache", server.address("/1"), server.address("/2")]
        for _ in 0..<2 {
            let outcome = try await LadeProcess(["-c", lade, "lade"] + words, program: "/bin/bash", in: folder.path)
                .outcome()
            #expect(outcome.status == 0)
            #expect(outcome.output.utf8.count == 200_000)
            let warnings = outcome.talkLines.filter { $0.contains("goes on without the cache") }
            #expect(warnings.count == 1 && outcome.talk.contains("disk is full"), "\(outcome.talk)")
        }
        let silent = try await LadeProcess(["-c", lade, "lade", "-s"] + words, program: "/bin/bash", in: folder.path)
            .outcome()
        #expect(silent.status != 0 || silent.talk.isEmpty)
    }

    @Test("finding CK-5 a folder that is refused is still an error")
    func refusedFolder() async throws {
        defer { folder.remove() }
        try FileManager.default.createDirectory(atPath: folder.path + "cache", withIntermediateDirectories: true)
        chmod(folder.path + "cache", 0o777)
        let outcome = try await run("get", "--cache", address)
        #expect(outcome.code == .localFile)
        #expect(transport.received.isEmpty)
    }
}
