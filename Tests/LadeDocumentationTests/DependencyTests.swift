import Foundation
import Lade
import Testing

@Suite("Adding the package", .timeLimit(.minutes(5)))
struct DependencyTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The headings of the versions, newest first, with the section of changes that belong to none yet.
    private static func versions() throws -> [String] {
        try text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    }

    @Test(
        "finding UF-10 a dependency is on the branch until a version is released",
        arguments: ["README.md", "Sources/Lade/Lade.docc/GettingStarted.md"]
    )
    func branch(document: String) throws {
        let released = try Self.versions().contains { $0.first?.isNumber == true && !$0.hasSuffix("not released yet") }
        let lines = try Self.text(document).split(separator: "\n").filter { $0.contains("add-dependency") }

        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.contains(released ? "--from" : "--branch main") })
    }

    @Test("the newest version of the CHANGELOG is that of the library")
    func version() throws {
        let newest = try Self.versions().first { $0.first?.isNumber == true }
        #expect(newest?.hasPrefix("\(UserAgent.LibraryVersion.number) – ") == true)
    }

    @Test("the README has at most 140 lines, and links to the limits and to all defaults")
    func length() throws {
        let readme = try Self.text("README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 141)
        for page in ["Documentation/Limits.md", "Sources/Lade/Lade.docc/Defaults.md"] {
            #expect(readme.contains("](\(page))"), "\(page)")
        }
        let page = "Sources/LadeCurl/LadeCurl.docc/WhatLibcurlCannotDo.md"
        #expect(try Self.text("Documentation/Limits.md").contains("](../\(page))"))
        #expect(try Self.text(page).contains("- libcurl 7.88 "))
        #expect(try !Self.text("Documentation/Limits.md").contains("- libcurl "))
    }

    @Test(
        "cache CA-214 a shared container blocks no other app, and network file systems are refused",
        arguments: ["So a suspended app does not block another app", "network file systems are refused"]
    )
    func documentsContainers(words: String) throws {
        #expect(try Self.text("Sources/LadeCacheSQLite/LadeCacheSQLite.docc/LadeCacheSQLite.md").contains(words))
    }

    @Test(
        "cache CA-235 what accounts share says what it gives away",
        arguments: [
            ("Sources/LadeCache/Keys/Request+Caching.swift", "Other accounts can find out that it was requested"),
            ("Sources/Lade/Lade.docc/Caching.md", "can find out that the response was requested"),
        ]
    )
    func documentsSharing(document: String, words: String) throws {
        #expect(try Self.text(document).contains(words))
    }
}
