import Foundation
import LadeCatalogueServer
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

@testable import LadeCommand

/// The built program against the local catalogue.
@Suite("lade explain and lade demo", .timeLimit(.minutes(5)))
struct ExplainTests {
    @Test("prints the story of a call on the standard output, and its sums add up: policies PL-60 command CM-01")
    func story() async throws {
        let catalogue = try LocalCatalogue()
        let outcome = try await LadeProcess.run(
            "explain",
            "--retry",
            "1",
            catalogue.address("/medias?fault=503:1&token=hush")
        )

        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.first?.hasPrefix("GET http://127.0.0.1:\(catalogue.port)/medias?fault=503:1&token=") == true)
        #expect(!outcome.output.contains("hush"))
        #expect(lines.contains { $0.contains("response 503, HTTP/1.1, Retry-After: 0") })
        #expect(lines.contains { $0.contains("waiting for attempt 2") })
        #expect(lines.contains { $0.contains("response 200, HTTP/1.1") })
        // The sums come first, up to an empty line.
        let sums = lines.drop { !$0.hasPrefix("took/ms") }.dropFirst().prefix { !$0.isEmpty }.compactMap { line in
            line.split(separator: " ").first.flatMap { Int($0.filter { $0 != "." }) }
        }
        #expect(sums.dropLast().reduce(0, +) == sums.last)
    }

    @Test("puts the sums before the rows, and hides rows of negligible duration unless all are requested")
    func sumsFirst() async throws {
        let catalogue = try LocalCatalogue()
        let outcome = try await LadeProcess.run("explain", catalogue.address("/medias?fault=503:1"), "--retry", "1")
        let all = try await LadeProcess.run("explain", "--all", catalogue.address("/medias"))
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.firstIndex { $0.hasPrefix("took/ms") } == 2)
        #expect(try #require(lines.firstIndex { $0.hasPrefix("  at/ms") }) > 3)
        #expect(lines.dropLast().last?.hasSuffix(" under 1 % left out; --all shows them.") == true)
        #expect(!all.output.contains("left out"))
    }

    @Test("says the paths of the catalogue and a line that works")
    func serve() async throws {
        let process = try LadeProcess(["serve"])
        try await process.output(atLeast: 20)
        let address = process.outputSoFar()
        try await process.talk(atLeast: ServeWords.text("http://127.0.0.1:10000/", wantsToken: false).utf8.count - 8)
        let line = ServeWords.text(String(address.dropLast()), wantsToken: false).split(separator: "\n").last ?? ""
        let tried = try await LadeProcess.run("-c", String(line), program: "/bin/bash")
        #expect(tried.status == 0, "\(tried.talk)")
        #expect(tried.output.split(separator: "\n").count == 100)
        process.send(SIGTERM)
        let outcome = try await process.outcome()
        #expect(outcome.talk == ServeWords.text(String(address.dropLast()), wantsToken: false))
        #expect(outcome.output == address)
    }

    @Test("shows the events of a call that fails as well, and ends with the exit code of lade get")
    func failures() async throws {
        let refusing = try LoopbackServer(script: [])
        refusing.stopAccepting()
        let missing = try LoopbackServer { _ in .status(404) }

        let refused = try await LadeProcess.run("explain", refusing.address())
        let notFound = try await LadeProcess.run("explain", missing.address())
        let ignored = try await LadeProcess.run("explain", "--ignore-status", missing.address())

        #expect(refused.status == 7)
        #expect(refused.output.contains("No connection to 127.0.0.1"))
        #expect(refused.talkLines.count == 2)
        #expect(notFound.status == 4)
        #expect(notFound.output.contains("response 404"))
        #expect(ignored.status == 0)
    }

    @Test("harvests a catalogue that injects faults, counts them, and checks every line")
    func demo() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run(
            "demo",
            "--fast",
            "--medias",
            "450",
            "-o",
            "medias",
            in: folder.path
        )

        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect((folder.text("medias") ?? "").split(separator: "\n").count == 450)
        #expect(outcome.output.contains("Harvested  450 medias in 9 pages"))
        #expect(outcome.output.contains("dead host"))
        #expect(outcome.output.contains("429 too many requests"))
        #expect(outcome.output.contains("401 token expired"))
        #expect(outcome.output.hasSuffix("Verified   450 lines, each byte for byte what the catalogue has\n"))
        #expect(!(outcome.output + outcome.talk).contains("\u{1B}"))
        #expect(!(outcome.output + outcome.talk).contains("demo-secret"))
    }

    @Test("command CM-06 overwrites nothing with lade demo without --force")
    func overwriting() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("medias", "mine")

        let outcome = try await LadeProcess.run("demo", "--fast", "-o", "medias", in: folder.path)

        #expect(outcome.status == 14)
        #expect(folder.text("medias") == "mine")
    }
}
