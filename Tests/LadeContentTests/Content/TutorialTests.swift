import Foundation
import Testing

/// The tutorial shows the code that the build compiles.
@Suite("The tutorial", .timeLimit(.minutes(5)))
struct TutorialTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    /// A build of a part of the package may leave all snippets out.
    private static let hasSnippets: Bool = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Snippets").path())
        return names?.isEmpty == false
    }()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test("the tutorial shows each step as it is compiled", .enabled(if: hasSnippets), arguments: 1...5)
    func agrees(step: Int) throws {
        let program = try text("Snippets/ListStep\(step).swift")
        let start = try #require(program.range(of: "// snippet.step\n")).upperBound
        let end = try #require(program.range(of: "\n// snippet.end")).lowerBound

        let article = try text("Sources/LadeContent/LadeContent.docc/FromAURLToAList.md")
        let heading = try #require(article.range(of: "### Step \(step): ")).upperBound
        let section = article[heading...]
        let body = section[..<(section.range(of: "\n### ")?.lowerBound ?? section.endIndex)]

        #expect(body.contains("```swift\n\(program[start..<end])\n```"))
    }
}
