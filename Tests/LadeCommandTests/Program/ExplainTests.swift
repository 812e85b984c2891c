import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// The built program against the local catalogue.
@Suite("lade explain and lade demo", .timeLimit(.minutes(5)))
struct ExplainTests {
    @Test("policies PL-60 command CM-01 prints the story of a call on the standard output, and its sums add up")
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
        #expect(lines.contains { $0.contains("answer 503, HTTP/1.1, Retry-After: 0") })
        #expect(lines.contains { $0.contains("waiting for attempt 2") })
        #expect(lines.contains { $0.contains("answer 200, HTTP/1.1") })
        let sums = lines.drop { !$0.hasPrefix("took/ms") }.dropFirst().compactMap { line in
            line.split(separator: " ").first.flatMap { Int($0.filter { $0 != "." }) }
        }
        #expect(sums.dropLast().reduce(0, +) == sums.last)
    }

    @Test("tells the story of a call that fails as well, and ends with the exit code of lade get")
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
        #expect(notFound.output.contains("answer 404"))
        #expect(ignored.status == 0)
    }

    @Test("harvests a catalogue on a bad day, says what it met, and checks every line")
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
        #expect((folder.text(of: "medias") ?? "").split(separator: "\n").count == 450)
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
        #expect(folder.text(of: "medias") == "mine")
    }
}
