#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing

@testable import Lade

@Suite("Content-Range", .timeLimit(.minutes(5)))
struct ContentRangeTests {
    @Test(
        "reads ranges of bytes",
        arguments: [
            ("bytes 5-10/11", 5, 10, 11), ("bytes 0-0/1", 0, 0, 1), ("BYTES 2-3/*", 2, 3, nil),
            ("bytes  1-1/9", 1, 1, 9),
        ] as [(String, Int64, Int64, Int64?)]
    )
    func reads(_ field: String, _ first: Int64, _ last: Int64, _ whole: Int64?) throws {
        let range = try #require(ContentRange(field))

        #expect(range.first == first)
        #expect(range.last == last)
        #expect(range.whole == whole)
    }

    @Test(
        "reads nothing from an invalid or impossible range",
        arguments: [
            "", "bytes", "bytes */11", "items 5-10/11", "bytes 5-10", "bytes 10-5/11", "bytes 5-11/11",
            "bytes -5-10/11",
            "bytes +5-10/11", "bytes 5-/11", "bytes -10/11", "bytes 5-10/", "bytes 5-10/x", "bytes 5 - 10/11",
            "bytes 5-10/11/12", "bytes 5-99999999999999999999/*",
        ]
    )
    func refuses(_ field: String) {
        #expect(ContentRange(field) == nil)
    }

    @Test(
        "finding HF-16 a range is read by its bytes, not by characters",
        arguments: ["bytes \u{301}5-10/11", "bytes 5-10/\u{301}11", "bytes 5-\u{301}10/11", "bytes 5-10/*\u{301}"]
    )
    func marks(_ field: String) {
        #expect(ContentRange(field) == nil)
        #expect(ContentRange.unsatisfiedLength("bytes */\u{301}11") == nil)
    }

    @Test(
        "reads the length of a body from the refusal of a range",
        arguments: [
            ("bytes */11", 11), ("BYTES */0", 0), ("items */11", nil), ("bytes 0-1/11", nil), ("bytes */x", nil),
        ]
            as [(String, Int64?)]
    )
    func unsatisfied(_ field: String, _ length: Int64?) {
        #expect(ContentRange.unsatisfiedLength(field) == length)
    }

    @Test(
        "RFC 9110 §15.3.7: a partial answer to a request for the whole is one, unless its range is the whole",
        arguments: [
            (206, nil, "bytes 0-4/5", false), (206, nil, "bytes 1-4/5", true), (206, nil, "bytes 0-3/5", true),
            (206, nil, "bytes 0-4/*", true), (206, nil, "bytes x", true), (206, nil, "items 1-4/5", false),
            (206, nil, nil, false), (206, "bytes=1-", "bytes 1-4/5", false), (200, nil, "bytes 1-4/5", false),
        ] as [(Response.Status, String?, String?, Bool)]
    )
    func partialAnswers(_ status: Response.Status, _ asked: String?, _ range: String?, _ isPart: Bool) throws {
        var request = try Request("https://svc.example.com/thing")
        if let asked { request.headers.set("Range", asked) }
        var headers = Headers()
        if let range { headers.set("Content-Range", range) }

        #expect(Response(status: status, headers: headers, request: request).isUnrequestedPart == isPart)
    }

    @Test("RFC 9110 §14.6: several ranges that were not requested are a partial answer")
    func severalRanges() throws {
        let headers = ["Content-Type": "Multipart/ByteRanges; boundary=a"] as Headers
        let request = try Request("https://svc.example.com/thing")

        #expect(Response(status: 206, headers: headers, request: request).isUnrequestedPart)
    }

    @Test("the announced length is that of the body, where there is one that is not coded")
    func bodyLength() throws {
        let length = ["Content-Length": "5"] as Headers
        let coded = ["Content-Length": "5", "Content-Encoding": "gzip"] as Headers
        let request = try Request("https://svc.example.com/thing")
        let head = try Request(.head, "https://svc.example.com/thing")

        #expect(Response(status: 200, headers: length, request: request).bodyLength == 5)
        #expect(Response(status: 200, headers: coded, request: request).bodyLength == nil)
        #expect(Response(status: 200, headers: length, request: head).bodyLength == nil)
        for status in [204, 304] as [Response.Status] {
            #expect(Response(status: status, headers: length, request: request).bodyLength == nil)
        }
    }

    @Test(
        "reads a SHA-256 from the older field, in which other algorithms and spaces may be",
        arguments: [
            ("sha-256=AAA=", true), ("md5=AAA=, SHA-256 = AAA =", true), ("sha-512=AAA=", false), ("sha-256", false),
        ]
    )
    func olderDigest(field: String, isRead: Bool) throws {
        let request = try Request("https://svc.example.com/thing")
        let digest = Response(status: 200, headers: ["Digest": field], request: request).fileDigest

        #expect(digest?.hash == (isRead ? Data([0, 0]) : nil))
    }
}
