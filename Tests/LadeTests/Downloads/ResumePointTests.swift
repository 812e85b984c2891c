#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import Testing

@Suite("Where a truncated body resumes", .timeLimit(.minutes(5)))
struct ResumePointTests {
    private static let date = "Fri, 31 Dec 1999 23:59:59 GMT"

    private func response(_ status: Response.Status, _ headers: Headers = Headers()) throws -> Response {
        Response(status: status, headers: headers, request: try Request("https://svc.example.com/file"))
    }

    @Test("requests the rest of the same version (RFC 9110 §13.1.5, §14.2)")
    func asks() throws {
        let point = ResumePoint(validator: "\"1\"", offset: 5)

        let asked = point.asking(try Request("https://svc.example.com/file"))

        #expect(asked.headers.all("Range") == ["bytes=5-"])
        #expect(asked.headers.all("If-Range") == ["\"1\""])
    }

    @Test(
        "accepts the rest, or a part of it, of its version (RFC 9110 §15.3.7)",
        arguments: [
            ["Content-Range": "bytes 5-10/11", "ETag": "\"1\"", "Content-Length": "6"],
            ["Content-Range": "bytes 5-10/11"],
            ["Content-Range": "bytes 5-10/11", "Last-Modified": date],
            ["Content-Range": "bytes 5-7/11", "Content-Length": "3"],
        ] as [Headers]
    )
    func takesTheRest(_ headers: Headers) throws {
        for length in [nil, 11] as [Int64?] {
            let point = ResumePoint(validator: "\"1\"", offset: 5, length: length)
            let range = try #require(headers["Content-Range"].flatMap(ContentRange.init))

            #expect(BodyMeaning(of: try response(206, headers), to: .rest(point)) == .rest(range))
        }
    }

    @Test(
        "accepts no other range and no range of another version",
        arguments: [
            [:], ["Content-Range": "bytes 4-10/11"], ["Content-Range": "bytes 6-10/11"],
            ["Content-Range": "bytes */11"],
            ["Content-Range": "bytes 5-10/12"], ["Content-Range": "bytes 5-10/*"],
            ["Content-Range": "bytes 5-10/11", "ETag": "\"2\""], ["Content-Range": "bytes 5-10/11", "ETag": "W/\"1\""],
            ["Content-Range": "bytes 5-10/11", "Content-Length": "5"],
            ["Content-Type": "multipart/byteranges; boundary=x"],
            ["Content-Range": "bytes 5-10/11", "ETag": "\"1\"", "Content-Encoding": "gzip"],
        ] as [Headers]
    )
    func misfits(_ headers: Headers) throws {
        let point = ResumePoint(validator: "\"1\"", offset: 5, length: 11)

        guard case .misfit = BodyMeaning(of: try response(206, headers), to: .rest(point)) else {
            Issue.record("taken: \(headers)")
            return
        }
    }

    @Test("accepts a range of the content coding of its bytes only (RFC 9110 §8.4, §15.3.7)")
    func otherCoding() throws {
        let range = ["Content-Range": "bytes 5-10/11"] as Headers
        let table: [(bytes: String?, answer: String?, fits: Bool)] = [
            (nil, nil, true), (nil, "identity", true), (nil, "gzip", false), ("gzip", "GZIP", true),
            // A response to If-Range may leave the field out.
            ("gzip", nil, true), ("gzip", "br", false), ("gzip", "identity", false),
        ]
        for row in table {
            let point = ResumePoint(validator: "\"1\"", offset: 5, length: 11, coding: row.bytes)
            var headers = range
            if let coding = row.answer { headers.add("Content-Encoding", coding) }

            let isRest =
                if case .rest = BodyMeaning(of: try response(206, headers), to: .rest(point)) { true } else { false }
            #expect(isRest == row.fits, "\(row)")
        }
    }

    @Test("accepts no range of another date")
    func otherDate() throws {
        let point = ResumePoint(validator: Self.date, offset: 5, length: 11)
        let range = ["Content-Range": "bytes 5-10/11"] as Headers
        var other = range
        other.add("Last-Modified", "Sat, 01 Jan 2000 00:00:00 GMT")

        #expect(
            BodyMeaning(of: try response(206, other), to: .rest(point))
                != BodyMeaning(of: try response(206, range), to: .rest(point))
        )
    }

    @Test("distinguishes the whole, an unsatisfiable range and a refusal")
    func statuses() throws {
        let point = ResumePoint(validator: "\"1\"", offset: 5)

        for status in [200, 203] as [Response.Status] {
            #expect(BodyMeaning(of: try response(status), to: .rest(point)) == .whole(length: nil))
        }
        #expect(BodyMeaning(of: try response(416), to: .rest(point)) == .misfit("the server has no such range"))
        for status in [302, 404, 503] as [Response.Status] {
            #expect(BodyMeaning(of: try response(status), to: .rest(point)) == .refused)
        }
    }

    @Test(
        "a 416 completes a body of the length that is there and was announced, and of no other",
        arguments: [
            (5, nil, "bytes */5", true), (5, 5, "bytes */5", true), (5, 11, "bytes */5", false),
            (5, nil, "bytes */11", false), (5, 5, "bytes 0-4/5", false), (0, nil, "bytes */0", false),
        ] as [(Int64, Int64?, String, Bool)]
    )
    func completeParts(offset: Int64, length: Int64?, range: String, isComplete: Bool) throws {
        let point = ResumePoint(validator: "\"1\"", offset: offset, length: length)

        let continuation = BodyMeaning(of: try response(416, ["Content-Range": range]), to: .rest(point))

        #expect(continuation == (isComplete ? .complete : .misfit("the server has no such range")))
    }

    @Test("a 416 about another version completes nothing")
    func completeOtherVersion() throws {
        let point = ResumePoint(validator: "\"1\"", offset: 5)

        let continuation = BodyMeaning(
            of: try response(416, ["Content-Range": "bytes */5", "ETag": "\"2\""]),
            to: .rest(point)
        )

        #expect(continuation == .misfit("the server has no such range"))
    }

    @Test(
        "recognises strong validators (RFC 9110 §8.8)",
        arguments: [
            (["ETag": "\"1\""], "\"1\""), (["ETag": "\"\""], "\"\""),
            (["ETag": "W/\"1\""], nil), (["ETag": "1"], nil), (["ETag": "\""], nil),
            (["ETag": "\"1"], nil), (["ETag": "1\""], nil),
            (["ETag": "W/\"1\"", "Last-Modified": date, "Date": "Sat, 01 Jan 2000 12:00:00 GMT"], nil),
            (["Last-Modified": date, "Date": "Sat, 01 Jan 2000 00:00:59 GMT"], date),
            (["Last-Modified": date, "Date": "Sat, 01 Jan 2000 00:00:58 GMT"], nil),
            (["Last-Modified": date], nil), (["Last-Modified": "yesterday", "Date": date], nil),
            (["Last-Modified": date, "Date": "today"], nil), ([:], nil),
        ] as [([String: String], String?)]
    )
    func validators(_ fields: [String: String], _ validator: String?) throws {
        let headers = Headers(fields.map { ($0.key, $0.value) })

        #expect(try response(200, headers).strongValidator(now: Date(timeIntervalSince1970: 0)) == validator)
    }

    @Test("treats two entity tags as none")
    func twoTags() throws {
        var headers = ["ETag": "\"1\""] as Headers
        headers.add("ETag", "\"2\"")

        #expect(try response(200, headers).strongValidator(now: Date(timeIntervalSince1970: 0)) == nil)
    }
}
