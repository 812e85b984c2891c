import Testing

@testable import LadeCore

@Suite("Header fields of a request", .timeLimit(.minutes(5)))
struct HeadersTests {
    @Test("a refused field is remembered by the first fault, whatever changes afterwards")
    func keepsTheFirstFault() {
        var headers: Headers = ["Accept": "*/*"]
        headers.add("Bad name", "1")

        headers.add("X-Line", "a\r\nb")
        headers.set("Accept", "text/plain")
        headers.remove("Accept")

        #expect(headers.fault == Headers.FieldError(field: "Bad name", reason: .invalidName, offset: 3))
    }

    @Test("header fields that are added to others add their fault too")
    func addsTheFault() {
        var headers: Headers = ["Accept": "*/*"]

        headers.add(contentsOf: ["X-Line": "a\nb"])

        #expect(headers.fault?.field == "X-Line")
    }

    @Test("a field that is set is the only one of its name, where the first was")
    func replacesAll() {
        var headers = Headers([("A", "1"), ("B", "2"), ("a", "3")])

        headers.set("A", "4")

        #expect(headers.map(\.description) == ["A: 4", "B: 2"])
    }

    @Test("a secret replaces every field of its name, and is redacted also where its octets are not UTF-8")
    func replacesBySecrets() {
        var headers: Headers = ["x-odd": "old", "X-Other": "old"]

        headers.set("X-Odd", secret: "cAnArY")
        headers.set("X-OTHER", secretOctets: [0x63, 0xFF])

        #expect(headers.map(\.name) == ["X-Odd", "X-OTHER"])
        #expect(headers.octets("x-other") == [[0x63, 0xFF]])
        #expect(headers.allSatisfy { $0.carriesCredentials && $0.redactedValue == "<redacted>" })
    }
}
