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
        #expect(try await accepts(text) == isRight)
    }

    @Test(
        "a sentence begins with its subject, has 25 words at most, and uses the words of the house",
        arguments: [
            ("The first rule counts.", true), ("Of several rules, the first counts.", false),
            ("One. What counts is the first.", false), ("- Such a rule counts.", false),
            ("| That of the rule |", false),
            (Array(repeating: "word", count: 25).joined(separator: " ") + ".", true),
            (Array(repeating: "word", count: 26).joined(separator: " ") + ".", false),
            ("A server answers with 404.", true), ("The answer is late.", false), ("The POST is not repeated.", false),
            ("A field that is repeated in order.", true), ("The pause ends.", false),
        ]
    )
    func sentences(text: String, isRight: Bool) async throws {
        #expect(try await accepts(text) == isRight)
    }

    /// The lines of a `do` and its clauses, and whether they compile in a function, a task and a group.
    private static let forms: [(lines: [String], isRight: Bool)] = [
        (["do throws(LoadingError) {", "    try await work()", "} catch {", "    print(error.kind)", "}"], true),
        (["do {", "    try await work()", "} catch {", "    print(error.kind)", "}"], false),
        (["do {", "    try await work()", "} catch {", "    print(error)", "}"], true),
        (["do {", "    try await work()", "} catch let error where error.kind == .cancelled {", "}"], false),
        (
            ["do {", "    try await work()", "} catch let error as LoadingError where error.isCancellation {", "}"],
            true
        ),
        (
            [
                "do throws(LoadingError) {", "    try await work()",
                "} catch let error where error.kind == .cancelled {",
                "}",
            ], false
        ),
    ]

    @Test("shown code catches errors in a form that compiles everywhere", arguments: forms.indices)
    func catches(index: Int) async throws {
        let (lines, isRight) = Self.forms[index]

        #expect(try await accepts((["```swift"] + lines + ["```"]).joined(separator: "\n")) == isRight)
    }

    /// Whether a page with a text passes.
    private func accepts(_ text: String) async throws -> Bool {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let source = "public enum Value {\n    case integer(Int), text\n    var value: Int { 1 }\n}\n"
        try source.write(toFile: folder.file("Value.swift"), atomically: false, encoding: .utf8)
        try "# Page\n\n\(text)\n".write(toFile: folder.file("Page.md"), atomically: false, encoding: .utf8)

        return try await check(["--root", folder.path]) == 0
    }
}
