#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import SharedDoubles
import Testing

/// The names of fields and of the API in prose, which `make lint` checks.
@Suite("Names in prose", .timeLimit(.minutes(5)))
struct ProseTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }

    /// The code with which the check ends.
    private func check(_ arguments: [String]) async throws -> Int32 {
        let process = try ChildProcess("/usr/bin/env", ["python3", Self.root + "/Scripts/prose.py"] + arguments)
        return try await process.ended()
    }

    @Test("finding DC-1 the names in the pages are those of fields and of the API")
    func names() async throws {
        #expect(try await check([]) == 0)
    }

    @Test(
        "finding DC-1 a name that is no field, and one that is not declared, is an error",
        arguments: [
            ("`Last-Event-ID`, `X-Next-Page: 2`", true), ("`Last-CallEvent-ID`", false),
            ("`X-Next-PageRequest`", false),
            ("`Value.integer`, `.integer`, `value.integer`", true), ("`Value.int`", false),
            ("`Value.integer.nothing`", false),
            ("`PL-12`, `Package.swift`, `_links.next`", true),
        ]
    )
    func planted(text: String, isRight: Bool) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let source = "public enum Value {\n    case integer(Int), text\n    var value: Int { 1 }\n}\n"
        try source.write(toFile: folder.file("Value.swift"), atomically: false, encoding: .utf8)
        try "# Page\n\n\(text)\n".write(toFile: folder.file("Page.md"), atomically: false, encoding: .utf8)

        #expect(try await check(["--root", folder.path]) == (isRight ? 0 : 1))
    }
}
