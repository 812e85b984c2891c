import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct JSONTreeTests {
    private func text(_ items: [(String, String)]) throws(CommandError) -> String {
        var tree = JSONTree()
        for (name, value) in items { try tree.set(value, at: name) }
        return tree.text
    }

    @Test(
        "makes objects and lists of the paths of items",
        arguments: [
            ([("a", "1")], #"{"a":1}"#),
            ([("a[b]", "1"), ("a[c]", "2"), ("d", "3")], #"{"a":{"b":1,"c":2},"d":3}"#),
            ([("a[]", "1"), ("a[]", "2")], #"{"a":[1,2]}"#),
            ([("a[2]", "1")], #"{"a":[null,null,1]}"#),
            ([("a[0][b]", "1"), ("a[0][c]", "2"), ("a[][b]", "3")], #"{"a":[{"b":1,"c":2},{"b":3}]}"#),
            ([("[]", "1"), ("[]", "2")], "[1,2]"),
            ([("[a]", "1")], #"{"a":1}"#),
            ([("a", "1"), ("b", "2"), ("a", "3")], #"{"a":3,"b":2}"#),
            ([(#"a\[b\]"#, "1")], #"{"a[b]":1}"#),
            ([(#"a[\1]"#, "1")], #"{"a":{"1":1}}"#),
            ([("1", "1")], #"{"1":1}"#),
            ([("a b[c\"d]", "1")], #"{"a b":{"c\"d":1}}"#),
        ] as [([(String, String)], String)]
    )
    func paths(items: [(String, String)], document: String) throws {
        #expect(try text(items) == document)
    }

    @Test(
        "refuses paths that cannot be read or that contradict each other",
        arguments: [
            [("a[b", "1")], [("a[b]c", "1")], [("a[1000]", "1")], [("a[99999999999999999999]", "1")],
            [("a", "1"), ("a[b]", "2")], [("a[b]", "1"), ("a", "2")], [("a[b]", "1"), ("a[]", "2")],
            [("a[]", "1"), ("a[b]", "2")], [("[]", "1"), ("a", "2")],
            [("a" + String(repeating: "[b]", count: 100), "1")],
        ] as [[(String, String)]]
    )
    func contradictions(items: [(String, String)]) {
        let error = #expect(throws: CommandError.self) { try text(items) }
        #expect(error?.code == .usage)
        #expect(error?.advice.isEmpty == false)
    }
}
