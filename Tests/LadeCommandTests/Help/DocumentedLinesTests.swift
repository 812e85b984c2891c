import Foundation
import Testing

@testable import LadeCommand

/// The lines of the command in the README and in `Documentation/`.
@Suite("Command lines in the documentation", .timeLimit(.minutes(5)))
struct DocumentedLinesTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized

    /// The lines that begin with `lade` in the shell blocks of a text, without their comments.
    private static func lines(of text: String) -> [String] {
        var lines: [String] = []
        var isShell = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") {
                isShell = line == "```sh"
            } else if isShell, line.hasPrefix("lade ") {
                lines.append(line.components(separatedBy: " # ")[0])
            }
        }
        return lines
    }

    private static func documents() throws -> [String] {
        let folder = root.appending(path: "Documentation")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path())
        return ["README.md"] + names.filter { $0.hasSuffix(".md") }.map { "Documentation/" + $0 }
    }

    @Test("a documented line has options, values and operands that the command takes")
    func parses() async throws {
        var count = 0
        for document in try Self.documents() {
            let text = try String(contentsOf: Self.root.appending(path: document), encoding: .utf8)
            for line in Self.lines(of: text) {
                let words = try ShellWords.words(line).dropFirst().map { String(decoding: $0, as: UTF8.self) }
                var console = Console()
                console.output = try Descriptor.open("/dev/null", O_WRONLY)
                let context = CommandContext(table: .standard, console: console, interruption: Interruption())
                // With --help at its end a line is parsed, and nothing is run.
                do {
                    #expect(try await context.table.run(words + ["--help"], in: context) == .success)
                } catch {
                    Issue.record("\(document): \(line): \(error)")
                }
                count += 1
            }
        }
        #expect(count >= 10)
    }

    @Test("a line with an unknown option or an impossible value is noticed", arguments: ["--retries 3", "--rate fast"])
    func refuses(options: String) async throws {
        let words = ["get", "https://h/"] + options.split(separator: " ").map(String.init) + ["--help"]
        let context = CommandContext(table: .standard, console: Console(), interruption: Interruption())
        await #expect(throws: CommandError.self) { try await context.table.run(words, in: context) }
    }
}
