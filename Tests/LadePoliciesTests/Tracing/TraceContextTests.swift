import LadeCore
import LadePolicies
import Testing

/// Reads contexts as W3C Trace Context says, levels 1 and 2.
@Suite("Trace contexts", .timeLimit(.minutes(5)))
struct TraceContextTests {
    private static let trace = "12345678901234567890123456789012"
    private static let parent = "1234567890123456"

    @Test(
        "policies PL-63 reads the parents that are valid",
        arguments: [
            ("00-\(trace)-\(parent)-00", "00"), ("00-\(trace)-\(parent)-01", "01"),
            // White space around the value.
            (" \t00-\(trace)-\(parent)-01\t ", "01"),
            // Level 2 keeps the random flag; unknown flags are not sent.
            ("00-\(trace)-\(parent)-02", "02"), ("00-\(trace)-\(parent)-03", "03"), ("00-\(trace)-\(parent)-ff", "03"),
            ("00-\(trace)-\(parent)-fc", "00"),
            // Later versions are read as far as version 00 says, and sent as 00.
            ("cc-\(trace)-\(parent)-01", "01"), ("cc-\(trace)-\(parent)-01-more", "01"),
            ("01-\(trace)-\(parent)-03", "01"), ("fe-\(trace)-\(parent)-00-", "00"),
        ] as [(String, String)]
    )
    func parents(_ value: String, flags: String) throws {
        let context = try #require(TraceContext(parents: [value]))

        #expect(context.traceID == Self.trace)
        #expect(context.parentID == Self.parent)
        #expect(context.traceparent == "00-\(Self.trace)-\(Self.parent)-\(flags)")
        #expect(context.state == nil)
    }

    @Test(
        "policies PL-63 a broken parent makes no context, whatever the state is",
        arguments: [
            [], [""], ["00"], ["00-\(trace)-\(parent)"], ["00-\(trace)-\(parent)-"], ["00-\(trace)-\(parent)-1"],
            ["00-\(trace)-\(parent)-001"], ["00-\(trace)-\(parent)-01-"], ["00-\(trace)-\(parent)-01-more"],
            ["00-\(trace)-\(parent)-01."], ["cc-\(trace)-\(parent)-01.more"],
            // Versions.
            ["ff-\(trace)-\(parent)-01"], ["0-\(trace)-\(parent)-01"], ["000-\(trace)-\(parent)-01"],
            [".0-\(trace)-\(parent)-01"], ["0.-\(trace)-\(parent)-01"],
            // Zeros.
            ["00-00000000000000000000000000000000-\(parent)-01"], ["00-\(trace)-0000000000000000-01"],
            // Upper case, and other characters.
            ["00-ABCDEF78901234567890123456789012-\(parent)-01"], ["00-\(trace)-ABCDEF7890123456-01"],
            ["00-\(trace)-\(parent)-0A"], ["00-.2345678901234567890123456789012-\(parent)-01"],
            ["00-1234567890123456789012345678901.-\(parent)-01"], ["00-\(trace)-.234567890123456-01"],
            ["00-\(trace)-123456789012345.-01"], ["00-\(trace)-\(parent)-.0"], ["00-\(trace)-\(parent)-0."],
            // Lengths.
            ["00-\(trace)3-\(parent)-01"], ["00-1234567890123456789012345678901-\(parent)-01"],
            ["00-\(trace)-\(parent)7-01"], ["00-\(trace)-123456789012345-01"], ["00_\(trace)-\(parent)-01"],
            // More than one field.
            ["00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01"],
            ["00-\(trace)-\(parent)-01,00-\(trace)-\(parent)-01"],
        ] as [[String]]
    )
    func brokenParents(_ values: [String]) {
        #expect(TraceContext(parents: values, states: ["foo=1"]) == nil)
    }

    private static let letters = "abcdefghijklmnopqrstuvwxyz0123456789_-*/"
    /// All characters of a value, without the comma and the equals sign.
    private static let text = String(
        decoding: (UInt8(0x20)...0x7E).filter { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") },
        as: UTF8.self
    )
    private static let members = (1...32).map { "bar\($0)=\($0)" }

    private static func run(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    @Test(
        "policies PL-63 keeps the members of a valid state in their order",
        arguments: [
            (["foo=1,bar=2"], "foo=1,bar=2"),
            (["foo=1,bar=2", "rojo=1,congo=2", "baz=3"], "foo=1,bar=2,rojo=1,congo=2,baz=3"),
            (["foo=1 \t , \t bar=2, \t baz=3"], "foo=1,bar=2,baz=3"), (["\t foo=1 \t"], "foo=1"),
            // Empty members and empty fields.
            (["foo=1,,bar=2,"], "foo=1,bar=2"), (["foo=1", ""], "foo=1"), (["", "foo=1"], "foo=1"),
            (["\(letters)=\(text)"], "\(letters)=\(text)"), (["\(letters)@a-z0-9_-*/=1"], "\(letters)@a-z0-9_-*/=1"),
            (["0tenant@vendor=1"], "0tenant@vendor=1"), (["0vendor=1"], "0vendor=1"),
            (["foo= 1 2"], "foo= 1 2"),
            // The first of two members with one key.
            (["foo=1,foo=1"], "foo=1"), (["foo=1", "bar=1,foo=2"], "foo=1,bar=1"),
            ([members.joined(separator: ",")], members.joined(separator: ",")),
            (["foo=1", "\(run("z", 256))=1"], "foo=1,\(run("z", 256))=1"),
            (["\(run("t", 241))@\(run("v", 14))=1"], "\(run("t", 241))@\(run("v", 14))=1"),
            // Level 2 has at signs anywhere behind the first character of a key.
            (["foo@=1,bar=2"], "foo@=1,bar=2"), (["foo@@bar=1"], "foo@@bar=1"), (["foo@bar@baz=1"], "foo@bar@baz=1"),
            (["foo@1bar=1"], "foo@1bar=1"), (["t@\(run("v", 15))=1"], "t@\(run("v", 15))=1"),
            (["foo=\(run("v", 256))"], "foo=\(run("v", 256))"),
        ] as [([String], String)]
    )
    func states(_ values: [String], kept: String) {
        #expect(TraceContext(parents: ["00-\(Self.trace)-\(Self.parent)-00"], states: values)?.state == kept)
    }

    @Test(
        "policies PL-63 drops a broken state whole, and continues the trace",
        arguments: [
            [""], [" "], [","], ["foo"], ["foo=1", "bar"], ["=1"], ["foo=,bar=3"], ["foo=bar=baz"], ["foo =1"],
            ["FOO=1"],
            ["foo.bar=1"], ["foo=\u{1F}1"], ["foo=ü"], ["foö=1"],
            ["@foo=1,bar=2"],
            // Lengths.
            ["foo=1", "\(run("z", 257))=1"], ["foo=1", "\(run("t", 255))@v=1"],
            ["foo=\(run("v", 257))"], [members.joined(separator: ","), "bar33=33"],
            // Copies count as members.
            ["\(members.joined(separator: ",")),bar1=1"],
        ] as [[String]]
    )
    func brokenStates(_ values: [String]) throws {
        let context = try #require(TraceContext(parents: ["00-\(Self.trace)-\(Self.parent)-00"], states: values))

        #expect(context.traceID == Self.trace)
        #expect(context.state == nil)
    }

    @Test("policies PL-63 reads the fields of a request by their names, in any case")
    func fields() {
        let parent = "00-\(Self.trace)-\(Self.parent)-01"

        let context = TraceContext(["TraceParent": parent, "TRACESTATE": "foo=1", "tracestate": "bar=2"])

        #expect(context?.state == "foo=1,bar=2")
        #expect(TraceContext(["trace-parent": parent]) == nil)
        #expect(TraceContext(["traceparent": parent, "trace-state": "foo=1"])?.state == nil)
        #expect(TraceContext(["traceparent": parent, "Traceparent": parent]) == nil)
    }
}
