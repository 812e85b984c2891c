import Foundation
import Testing

/// The README and `Documentation/FiveTasks.md` show the code that the build compiles.
@Suite("Five common tasks", .timeLimit(.minutes(5)))
struct FiveTasksTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    /// A build of a part of the package may leave all snippets out.
    private static let hasSnippets: Bool = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Snippets").path())
        return names?.isEmpty == false
    }()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test(
        "each of the five tasks is shown as it is compiled, in no more lines than Get and Alamofire need",
        .enabled(if: hasSnippets),
        arguments: [
            ("TaskGetJSON", "## JSON into a struct"), ("TaskPostJSON", "## Send JSON, decode the response"),
            ("TaskToken", "## Token with refresh"), ("TaskDownload", "## Download with progress"),
            ("TaskUpload", "## Multipart upload"),
        ]
    )
    func agrees(snippet: String, heading: String) throws {
        let program = try text("Snippets/\(snippet).swift")
        let start = try #require(program.range(of: "// snippet.task\n")).upperBound
        let end = try #require(program.range(of: "\n// snippet.end")).lowerBound
        let code = String(program[start..<end])

        #expect(try text("README.md").contains("```swift\n\(code)\n```"))
        let document = try text("Documentation/FiveTasks.md")
        let section = try #require(document.range(of: heading + "\n")).upperBound
        let rest = document[section...]
        let body = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        // The blocks are those of Lade, Get where it can, and Alamofire.
        let blocks = body.components(separatedBy: "```swift\n").dropFirst().map { block in
            block[..<(block.range(of: "\n```")?.lowerBound ?? block.endIndex)]
        }
        try #require(blocks.count >= 2)
        #expect(blocks[0] == code[...])
        let counts = blocks.map { $0.split(separator: "\n").count }
        #expect(counts.dropFirst().allSatisfy { counts[0] <= $0 }, "\(counts)")
    }
}
