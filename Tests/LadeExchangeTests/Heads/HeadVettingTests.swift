import LadeCore
import Testing

@testable import LadeExchange

@Suite("Head vetting", .timeLimit(.minutes(5)))
struct HeadVettingTests {
    /// Feeds a head as the wire library would: line by line, each with its end.
    private func vet(
        _ head: String,
        limits: TransportSettings.ResponseLimits = .init(),
        tolerances: TransportSettings.Tolerances = []
    ) throws -> (HeadVetting, [HeadVetting.Finding]) {
        var vetting = HeadVetting(limits: limits, tolerances: tolerances)
        var findings: [HeadVetting.Finding] = []
        var rest = Array(head.utf8)[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            let line = Array(rest[..<end])
            rest = rest[end...]
            findings.append(try line.withUnsafeBufferPointer { try vetting.take($0) })
        }
        return (vetting, findings)
    }

    private func final(_ findings: [HeadVetting.Finding]) throws -> HeadVetting.Head {
        guard case .final(let head) = try #require(findings.last) else { throw Missing() }
        return head
    }

    private struct Missing: Error {}

    @Test("keeps order, case, repetition and empty values of the fields")
    func keepsFields() throws {
        let text = "HTTP/1.1 200 OK\r\nX-b: 1\r\nx-B:\t2 \r\nEmpty:\r\nContent-Length: 3\r\n\r\n"

        let head = try final(try vet(text).1)

        #expect(head.status == 200)
        #expect(head.version == .http1_1)
        #expect(head.headers.map(\.name) == ["X-b", "x-B", "Empty", "Content-Length"])
        #expect(head.headers.all("x-b") == ["1", "2"])
        #expect(head.headers["empty"] == "")
        #expect(head.contentLength == 3)
    }

    @Test(
        "accepts status lines with and without a reason",
        arguments: [
            ("HTTP/1.1 200\r\n", 200), ("HTTP/1.1 200 \r\n", 200), ("HTTP/1.0 404 Not Found\r\n", 404),
            ("HTTP/2 204 \r\n", 204), ("HTTP/1.1 999 Odd\r\n", 999), ("HTTP/1.1 302 Gefunden für dich\r\n", 302),
        ]
    )
    func acceptsStatusLines(line: String, status: Int) throws {
        let head = try final(try vet(line + "\r\n").1)

        #expect(head.status.code == status)
    }

    @Test(
        "refuses malformed heads and names the rule",
        arguments: [
            ("FOOBAR\r\n", LoadingError.MalformedResponse.Rule.statusLine),
            ("Http/1.1 200 OK\r\n", .statusLine),
            ("HTTP/1.1  200 OK\r\n", .statusLine),
            ("HTTP/1.1 20 OK\r\n", .statusLine),
            ("HTTP/1.1 099 OK\r\n", .statusLine),
            ("HTTP/1.1 1000 OK\r\n", .statusLine),
            ("HTTP/1.1 2x0 OK\r\n", .statusLine),
            ("HTTP/1.2 200 OK\r\n", .statusLine),
            ("HTTP/1.1 200 O\u{1}K\r\n", .statusLine),
            ("HTTP/1.1 200 OK\n", .lineEnd),
            ("HTTP/1.1 200 OK", .lineEnd),
            ("HTTP/1.1 101 Switching\r\n", .unaskedUpgrade),
            ("HTTP/1.1 200 OK\r\n folded: x\r\n", .foldedField),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n", .foldedField),
            ("HTTP/1.1 200 OK\r\nA : b\r\n", .fieldName),
            ("HTTP/1.1 200 OK\r\n: b\r\n", .fieldName),
            ("HTTP/1.1 200 OK\r\nno colon\r\n", .fieldName),
            ("HTTP/1.1 200 OK\r\nA: b\u{0}c\r\n", .fieldValue),
            ("HTTP/1.1 200 OK\r\nA: b\rc\r\n", .fieldValue),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n", .transferCoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", .transferCoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", .transferCoding),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferCoding),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
                .lengthWithTransferCoding
            ),
        ]
    )
    func refusesMalformedHeads(head: String, rule: LoadingError.MalformedResponse.Rule) {
        #expect {
            _ = try vet(head)
        } throws: { error in
            guard case .malformed(let fault) = error as? HeadVetting.Fault else { return false }
            return fault.rule == rule
        }
    }

    @Test(
        "finding LX-10 the lines of Content-Length mean one list: equal lengths are that length, all else is refused",
        arguments: [
            ("5", true), ("5, 5", true), ("5,5", true), ("5 ,\t5,5", true), ("05, 5", true), ("5, 4", false),
            ("5,", false),
            (",5", false), ("5,,5", false), ("5, x", false), ("5; 5", false), ("5 5", false), (",", false),
            ("5, -5", false),
        ] as [(String, Bool)]
    )
    func listsOfLengths(value: String, isValid: Bool) throws {
        for lines in [[value], ["5", value], [value, "5"], [value, value]] {
            let fields = lines.map { "Content-Length: \($0)\r\n" }.joined()
            var vetting = HeadVetting(limits: TransportSettings.ResponseLimits(), tolerances: [])
            func take() throws(HeadVetting.Fault) {
                try Array("200".utf8).withUnsafeBufferPointer { bytes throws(HeadVetting.Fault) in
                    try vetting.begin(status: bytes)
                }
                for line in lines {
                    try Array("content-length\(line)".utf8).withUnsafeBufferPointer { bytes throws(HeadVetting.Fault) in
                        try vetting.take(field: bytes, name: 14)
                    }
                }
            }
            guard isValid else {
                #expect(throws: HeadVetting.Fault.self) { try vet("HTTP/1.1 200 OK\r\n\(fields)\r\n") }
                #expect(throws: HeadVetting.Fault.self) { try take() }
                continue
            }
            #expect(try final(vet("HTTP/1.1 200 OK\r\n\(fields)\r\n").1).contentLength == 5)
            try take()
            guard case .final(let head) = try vetting.endFields() else { throw CancellationError() }
            #expect(head.contentLength == 5)
        }
    }

    @Test(
        "each tolerance lets through its own breach, and says so",
        arguments: [
            ("HTTP/1.1 200 OK\nA: b\n\n", TransportSettings.Tolerances.bareLineFeed, 3),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", .foldedFields, 1),
            ("Http/1.1 200 OK\r\nA: b\r\n\r\n", .protocolNameCase, 1),
            ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", .spaceBeforeColon, 1),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", .lengthWithChunked, 1),
        ]
    )
    func tolerates(text: String, tolerance: TransportSettings.Tolerances, count: Int) throws {
        let (vetting, findings) = try vet(text, tolerances: tolerance)

        let head = try final(findings)
        #expect(head.status == 200)
        #expect(vetting.tolerated.count == count)
        #expect(throws: HeadVetting.Fault.self) { try vet(text) }
    }

    @Test("a tolerated fold joins the values, but never those of a framing field")
    func foldsValues() throws {
        let head = try final(try vet("HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n", tolerances: .foldedFields).1)
        #expect(head.headers["A"] == "b c")

        let framing = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n 2\r\n\r\n"
        #expect(throws: HeadVetting.Fault.self) { try vet(framing, tolerances: .foldedFields) }
    }

    @Test("reports interim heads apart and starts anew after each")
    func reportsInterimHeads() throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"

        let findings = try vet(text).1

        let interim = findings.compactMap { finding -> Int? in
            if case .interim(let status, _) = finding { status.code } else { nil }
        }
        #expect(interim == [100, 103])
        #expect(try final(findings).headers.isEmpty)
    }

    @Test("what follows the final head are trailers")
    func collectsTrailers() throws {
        var (vetting, _) = try vet("HTTP/1.1 200 OK\r\nA: b\r\n\r\nSum: 1\r\nSum: 2\r\n\r\n")

        #expect(vetting.takeTrailers().all("sum") == ["1", "2"])
    }

    @Test("stops at the limits of size and number, interim heads included")
    func enforcesLimits() throws {
        var limits = TransportSettings.ResponseLimits()
        limits.headBytes = 100
        limits.headFields = 3
        let long = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: 100) + "\r\n"
        let many = "HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n"
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 4)

        #expect(throws: HeadVetting.Fault.tooLarge(.bytes(100))) { try vet(long, limits: limits) }
        #expect(throws: HeadVetting.Fault.tooLarge(.fields(3))) { try vet(many, limits: limits) }
        #expect(throws: HeadVetting.Fault.tooLarge(.bytes(100))) { try vet(interim, limits: limits) }
    }

    @Test("accepts a head of exactly the limits, and refuses one byte and one field more")
    func acceptsExactLimits() throws {
        let text = "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n"
        var limits = TransportSettings.ResponseLimits()
        limits.headBytes = text.utf8.count
        limits.headFields = 2

        #expect(try final(try vet(text, limits: limits).1).headers.count == 2)
        limits.headBytes -= 1
        #expect(throws: HeadVetting.Fault.tooLarge(.bytes(limits.headBytes))) { try vet(text, limits: limits) }
        limits.headBytes += 1
        limits.headFields = 1
        #expect(throws: HeadVetting.Fault.tooLarge(.fields(1))) { try vet(text, limits: limits) }
    }

    @Test(
        "RFC 9110 §15.2: what an interim head says of a body is not said of the final answer",
        arguments: ["Content-Length: 3", "Transfer-Encoding: chunked", "Content-Encoding: gzip"]
    )
    func forgetsInterimFraming(field: String) throws {
        let head = try final(try vet("HTTP/1.1 103 Early Hints\r\n\(field)\r\n\r\nHTTP/1.1 200 OK\r\n\r\n").1)

        #expect(head.contentLength == nil)
        #expect(!head.isChunked)
        #expect(head.contentEncoding == nil)
        #expect(head.headers.isEmpty)
    }

    @Test("a field after a framing field may fold where folds are tolerated, with valid characters only")
    func foldsAfterFraming() throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nA: b\r\n c\r\n\r\n"
        let head = try final(try vet(text, tolerances: .foldedFields).1)

        #expect(head.headers["A"] == "b c")
        #expect(head.contentLength == 4)
        #expect(throws: HeadVetting.Fault.self) {
            try vet("HTTP/1.1 200 OK\r\nA: b\r\n c\u{0}d\r\n\r\n", tolerances: .foldedFields)
        }
    }

    @Test("RFC 9110 §8.4: the codings of several fields are one list, in order")
    func joinsCodings() throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nA: b\r\nContent-Encoding: br, zstd\r\n\r\n"

        #expect(try final(try vet(text).1).contentEncoding == "gzip, br, zstd")
    }

    @Test("RFC 9112 §6.3: where a length beside chunks is tolerated, the chunks alone frame the body")
    func ignoresToleratedLength() throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        let head = try final(try vet(text, tolerances: .lengthWithChunked).1)

        #expect(head.isChunked)
        #expect(head.contentLength == nil)
    }

    @Test("RFC 9110 §6.5.1: fields of a trailer section frame nothing")
    func trailersFrameNothing() throws {
        var (vetting, _) = try vet("HTTP/1.1 200 OK\r\n\r\nContent-Length: many\r\nTransfer-Encoding: gzip\r\n\r\n")

        #expect(vetting.takeTrailers().map(\.name) == ["Content-Length", "Transfer-Encoding"])
    }

    @Test("keeps bytes above ASCII: UTF-8 as it is, anything else as ISO-8859-1")
    func keepsBytes() throws {
        var vetting = HeadVetting(limits: .init(), tolerances: [])
        let lines: [[UInt8]] = [
            Array("HTTP/1.1 200 OK\r\n".utf8), Array("U: Zürich\r\n".utf8), Array("L: Z".utf8) + [0xFC, 0x0D, 0x0A],
            [0x0D, 0x0A],
        ]

        var findings: [HeadVetting.Finding] = []
        for line in lines { findings.append(try line.withUnsafeBufferPointer { try vetting.take($0) }) }

        let head = try final(findings)
        #expect(head.headers["U"] == "Zürich")
        #expect(head.headers["L"] == "Zü")
    }

    @Test("random bytes end in a value or an error", arguments: [1, 2, 3] as [UInt64])
    func survivesRandomBytes(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let alphabet = Array("HTTP/1.1 20\r\n:, \t\u{0}azContent-Length".utf8) + [0x80, 0xFF]
        for _ in 0..<20_000 {
            var vetting = HeadVetting(limits: .init(), tolerances: [])
            for _ in 0..<3 {
                let count = Int(random.next() % 40)
                let line = (0..<count).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
                _ = line.withUnsafeBufferPointer { try? vetting.take($0) }
            }
        }
    }

    // MARK: - Fields of HTTP/2

    private typealias Pair = (name: String, value: String)

    /// Feeds the sections of a response: each begins with `:status`, except the trailers.
    private func vet(
        _ sections: [[Pair]],
        limits: TransportSettings.ResponseLimits = .init()
    ) throws -> (HeadVetting, [HeadVetting.Finding]) {
        var vetting = HeadVetting(limits: limits, tolerances: [])
        var findings: [HeadVetting.Finding] = []
        for section in sections {
            for (name, value) in section {
                if name == ":status" {
                    try Array(value.utf8).withUnsafeBufferPointer { try vetting.begin(status: $0) }
                } else {
                    let bytes = Array((name + value).utf8)
                    try bytes.withUnsafeBufferPointer { try vetting.take(field: $0, name: name.utf8.count) }
                }
            }
            findings.append(try vetting.endFields())
        }
        return (vetting, findings)
    }

    @Test("wire WR-62 takes interim heads, the head and trailers of HTTP/2 field by field")
    func takesFields() throws {
        var (vetting, findings) = try vet([
            [(":status", "103"), ("link", "</a>")],
            [(":status", "200"), ("content-length", "3"), ("content-encoding", "gzip"), ("x-empty", "")],
            [("x-sum", "6"), ("content-length", "none")],
        ])

        guard case .interim(let status, let links) = findings[0], case .final(let head) = findings[1],
            case .more = findings[2]
        else { throw Missing() }
        #expect(status == 103)
        #expect(links.map(\.description) == ["link: </a>"])
        #expect(head.version == .http2)
        #expect(head.contentLength == 3)
        #expect(head.contentEncoding == "gzip")
        #expect(head.headers.map(\.name) == ["content-length", "content-encoding", "x-empty"])
        #expect(vetting.takeTrailers().map(\.name) == ["x-sum", "content-length"])
    }

    @Test("counts a head of HTTP/2 as its lines would be")
    func countsFieldsAsLines() throws {
        let fields = try vet([[(":status", "200"), ("a", "bc")]]).0
        let lines = try vet("HTTP/2 200 \r\na: bc\r\n\r\n").0

        #expect(fields.bytes == lines.bytes)
        #expect(fields.lines == lines.lines)
    }

    @Test(
        "refuses malformed fields of HTTP/2 and names the rule",
        arguments: [
            ([(":status", "20")], LoadingError.MalformedResponse.Rule.statusLine), ([(":status", "2x0")], .statusLine),
            ([(":status", "099")], .statusLine), ([(":status", "101")], .unaskedUpgrade), ([("a", "b")], .statusLine),
            ([], .statusLine), ([(":status", "200"), ("A", "b")], .fieldName),
            ([(":status", "200"), ("", "b")], .fieldName), ([(":status", "200"), ("a b", "b")], .fieldName),
            ([(":status", "200"), ("a", "b\u{0}")], .fieldValue), ([(":status", "200"), ("a", " b")], .fieldValue),
            ([(":status", "200"), ("a", "b\r\nc: d")], .fieldValue),
            ([(":status", "200"), ("content-length", "1, 2")], .contentLength),
            ([(":status", "200"), ("transfer-encoding", "chunked")], .transferCoding),
        ]
    )
    func refusesMalformedFields(section: [(String, String)], rule: LoadingError.MalformedResponse.Rule) {
        #expect {
            _ = try vet([section])
        } throws: { error in
            guard case .malformed(let fault) = error as? HeadVetting.Fault else { return false }
            return fault.rule == rule
        }
    }

    @Test("wire WR-60 limits the bytes and the number of the fields of HTTP/2")
    func limitsFields() {
        var limits = TransportSettings.ResponseLimits()
        limits.headFields = 2
        limits.headBytes = 40
        #expect(throws: HeadVetting.Fault.tooLarge(.fields(2))) {
            try vet([[(":status", "200"), ("a", ""), ("b", ""), ("c", "")]], limits: limits)
        }
        #expect(throws: HeadVetting.Fault.tooLarge(.bytes(40))) {
            try vet([[(":status", "200"), ("a", String(repeating: "b", count: 30))]], limits: limits)
        }
    }
}
