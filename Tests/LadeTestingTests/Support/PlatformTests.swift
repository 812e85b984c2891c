import Foundation
import Testing

/// The package builds on systems without epoll, as far as its sources show that.
@Suite("The platforms of the package", .timeLimit(.minutes(5)))
struct PlatformTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The lines that import a module outside of every `#if` of the given conditions.
    static func unconditionalImports(of module: String, in source: String, allowing conditions: [String]) -> [String] {
        var open: [String] = []
        var found: [String] = []
        for line in source.split(separator: "\n") {
            let text = line.trimmingPrefix { $0 == " " }
            if text.hasPrefix("#if ") {
                open.append(String(text.dropFirst(4)))
            } else if text.hasPrefix("#else") {
                // Neither `#else` nor `#elseif` holds under the condition of its `#if`.
                _ = open.popLast()
                open.append(text.hasPrefix("#elseif ") ? String(text.dropFirst(8)) : "")
            } else if text.hasPrefix("#endif") {
                _ = open.popLast()
            } else if text.hasSuffix("import \(module)"), !open.contains(where: conditions.contains) {
                found.append(String(text))
            }
        }
        return found
    }

    @Test("finding FT-17 only sources for Linux import LadeCurl or LadeWire")
    func imports() throws {
        var count = 0
        for folder in ["Sources", "Snippets", "Tests"] {
            let files = try #require(
                FileManager.default.enumerator(
                    at: Self.root.appending(path: folder),
                    includingPropertiesForKeys: nil
                )
            )
            for case let file as URL in files where file.pathExtension == "swift" {
                // These targets exist on Linux only.
                let isCurls = [
                    "/Sources/LadeCurl/", "/Sources/LadeWire/", "/Tests/LadeCurlTests/", "/Tests/LadeWireTests/",
                    "/Tests/LadePeerTests/", "/Tests/LadeExchangeTests/", "/Sources/LadeRedis/",
                    "/Tests/LadeRedisTests/",
                ]
                .contains { file.path.contains($0) }
                guard !isCurls, file.lastPathComponent != "PlatformTests.swift" else { continue }
                count += 1
                let text = try String(contentsOf: file, encoding: .utf8)
                for module in ["LadeCurl", "LadeWire"] {
                    let allowed = ["canImport(\(module))", "os(Linux)"]
                    #expect(Self.unconditionalImports(of: module, in: text, allowing: allowed).isEmpty, "\(file.path)")
                }
            }
        }
        #expect(count > 300)
    }

    @Test("finding FT-17 nothing of the package names LadeCurl or LadeWire where there is none")
    func manifest() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
        let conditional = try #require(text.range(of: "\nif hasCurl {\n"))
        // The targets that always exist are described before those that wait with epoll.
        let lines = text[..<conditional.lowerBound].split(separator: "\n").filter { line in
            let code = line.prefix { $0 != "/" }
            return ["LadeCurl", "CCurl", "LadeWire", "CWire"].contains { code.contains($0) }
        }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("let wire: [Target.Dependency] = hasCurl ? ") == true)
        #expect(text.contains("#if os(Linux)\n    let isLinux = true\n#else\n    let isLinux = false\n#endif\n"))
        #expect(text.contains("\nlet hasCurl = Context.environment[\"LADE_CURL\"].map { $0 == \"1\" } ?? isLinux\n"))
    }

    @Test("an import counts as conditional under its own condition only")
    func conditions() {
        let source = """
            #if canImport(LadeCurl)
                import LadeCurl
            #else
                public import LadeCurl
            #endif
            #if os(macOS)
                @testable import LadeCurl
            #elseif os(Linux)
                import LadeCurl
            #endif
            import LadeCurl
            """
        let found = Self.unconditionalImports(
            of: "LadeCurl",
            in: source,
            allowing: ["canImport(LadeCurl)", "os(Linux)"]
        )
        #expect(found == ["public import LadeCurl", "@testable import LadeCurl", "import LadeCurl"])
    }
}
