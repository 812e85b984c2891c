import Foundation
import Testing

/// What must hold for Apple platforms and can be seen in the sources; `Scripts/apple` compiles them.
@Suite("Apple platforms", .timeLimit(.minutes(5)))
struct ApplePlatformTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The Swift files of some folders, by their paths in the repository.
    private static func files(in folders: [String]) throws -> [(path: String, text: String)] {
        try folders.flatMap { folder in
            let paths = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
            return try (paths?.compactMap { $0 as? String } ?? []).filter {
                $0.hasSuffix(".swift") && !$0.contains(".build/")
            }
            .map { path in ("\(folder)/\(path)", try text("\(folder)/\(path)")) }
        }
    }

    @Test("finding AF-1 no public type has a name of the Objective-C runtime or of a view of SwiftUI")
    func names() throws {
        let taken = [
            "Method", "Ivar", "Category", "Protocol", "Selector", "Link", "Label", "Group", "Text", "List", "Section",
            "Table", "View",
        ]
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "actor"]
        for (path, text) in try Self.files(in: ["Sources"]) {
            // A type within another one is named with it.
            for line in text.split(separator: "\n") where line.hasPrefix("public ") {
                let words = line.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
                guard let kind = words.firstIndex(where: { kinds.contains($0) }), kind + 1 < words.count else {
                    continue
                }
                #expect(!taken.contains(String(words[kind + 1])), "\(path): \(line)")
            }
        }
    }

    @Test("finding AF-2 FoundationEssentials, which Apple platforms do not have, is imported on a condition only")
    func imports() throws {
        for (path, text) in try Self.files(in: ["Sources", "Tests", "Examples", "Snippets"])
        where !path.contains("/Refused/") {
            var depth = 0
            for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                if line.hasPrefix("#if canImport(FoundationEssentials)") { depth += 1 }
                if line == "#endif" { depth = max(0, depth - 1) }
                let isImport = line.hasSuffix("import FoundationEssentials") && !line.hasPrefix("//")
                if isImport { #expect(depth > 0, "\(path)") }
            }
        }
    }

    @Test("finding AF-3 only a transport of the caller's is not shut down with its service")
    func shutDown() throws {
        let service = try Self.text("Sources/Lade/Service/Service.swift")
        #expect(service.components(separatedBy: "shutDown: nil").count == 2)
        #expect(service.contains("self.init(settings, transport: transport, shutDown: { await transport.shutDown() })"))
    }

    @Test("finding AF-5 only one function reads the monotonic clock where Darwin's counts sleep")
    func clocks() throws {
        let users = try Self.files(in: ["Sources"]).filter { $0.text.contains("CLOCK_MONOTONIC") }.map(\.path)
        // libcurl's transport, and what it shares with others that own their sockets, exist on Linux only.
        let own = users.filter { !$0.hasPrefix("Sources/LadeCurl/") && !$0.hasPrefix("Sources/LadeExchange/") }
        #expect(own == ["Sources/LadeCore/Time/TimeSource.swift"])
    }

    @Test(
        "finding AF-6 what differs on Apple platforms is documented",
        arguments: [
            "App Transport Security", "private authority", "401", "407", "background", "chunked", "localised",
        ]
    )
    func differences(_ words: String) throws {
        let article = try Self.text("Sources/LadeURLSession/LadeURLSession.docc/WhatURLSessionCannotDo.md")
        let section = try #require(article.components(separatedBy: "## On Apple platforms").last)
        #expect(section != article)
        #expect(section.contains(words))
    }

    @Test("finding AF-8 the oldest version of Swift is the same wherever it is named")
    func version() throws {
        #expect(try Self.text("Package.swift").hasPrefix("// swift-tools-version: 6.3\n"))
        #expect(try Self.text("Benchmarks/Package.swift").hasPrefix("// swift-tools-version: 6.3\n"))
        #expect(try Self.text("Fuzzing/Package.swift").hasPrefix("// swift-tools-version: 6.3\n"))
        #expect(try Self.text("Scripts/bootstrap").contains("swift_wanted=6.3\n"))
        #expect(try Self.text("CONTRIBUTING.md").contains("Swift 6.3 or later"))
        let readme = try Self.text("README.md")
        #expect(readme.contains("Swift 6.3 or later"))
        #expect(!readme.contains("Swift 6.2"))
    }

    @Test("finding AF-9 CI compiles every target for Apple platforms, and proves that it would notice")
    func check() throws {
        #expect(try Self.text(".ci/run").contains("\nstep apple make apple\n"))
        #expect(try Self.text("Scripts/apple").contains("Tests/AppleSDK/check.py"))
        // The targets are those of Package.swift: no list of them can be out of date.
        let check = try Self.text("Tests/AppleSDK/check.py")
        #expect(check.contains("dump-package"))
        let refused = try FileManager.default.contentsOfDirectory(
            atPath: Self.root.appending(path: "Tests/AppleSDK/Refused").path
        )
        .filter { $0.hasSuffix(".swift") }
        #expect(refused.count >= 4)
        for file in refused {
            #expect(try Self.text("Tests/AppleSDK/Refused/\(file)").contains("// error: "), "\(file)")
        }
    }
}
