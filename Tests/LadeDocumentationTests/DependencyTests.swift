import Foundation
import Testing

@Suite("Adding the package", .timeLimit(.minutes(5)))
struct DependencyTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test(
        "finding UF-10 a dependency is on the branch until a version is released",
        arguments: ["README.md", "Sources/Lade/Lade.docc/GettingStarted.md"]
    )
    func branch(document: String) throws {
        let released = try Self.text("CHANGELOG.md").split(separator: "\n").contains { line in
            line.hasPrefix("## ") && line.dropFirst(3).first?.isNumber == true
        }
        let lines = try Self.text(document).split(separator: "\n").filter { $0.contains("add-dependency") }

        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.contains(released ? "--from" : "--branch main") })
    }

    @Test("the README has at most 140 lines, and links to the limits and to all defaults")
    func length() throws {
        let readme = try Self.text("README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 141)
        for page in ["Documentation/Limits.md", "Sources/Lade/Lade.docc/Defaults.md"] {
            #expect(readme.contains("](\(page))"), "\(page)")
        }
        #expect(try Self.text("Documentation/Limits.md").contains("- libcurl 7.88 "))
    }
}
