#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import Testing

@Suite("What the body of an answer is", .timeLimit(.minutes(5)))
struct BodyMeaningTests {
    /// The meaning without its details.
    enum Kind: Equatable, Sendable {
        case whole(Int64?)
        case requested, otherUnit, rest, complete, misfit, refused

        init(_ meaning: BodyMeaning) {
            self =
                switch meaning {
                case .whole(let length): .whole(length)
                case .requested: .requested
                case .otherUnit: .otherUnit
                case .rest: .rest
                case .complete: .complete
                case .misfit: .misfit
                case .refused: .refused
                }
        }
    }

    /// A row: status, fields, meaning.
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Response.Status
        let fields: [(String, String)]
        let kind: Kind

        init(_ status: Response.Status, _ fields: [(String, String)], _ kind: Kind) {
            (self.status, self.fields, self.kind) = (status, fields, kind)
        }

        var testDescription: String { "\(status) \(fields.map { "\($0.0): \($0.1)" }) \(kind)" }
    }

    private static let range = "Content-Range"
    private static let length = "Content-Length"

    private func meaning(
        _ row: Row,
        _ question: BodyMeaning.Question,
        _ headers: Headers = [:],
        method: Request.Method = .get
    ) throws -> Kind {
        let request = try Request(method, "https://svc.example.com/file", headers: headers)
        let response = Response(status: row.status, headers: Headers(row.fields), request: request)
        return Kind(BodyMeaning(of: response, to: question))
    }

    private static let wholes: [Row] = [
        Row(200, [], .whole(nil)),
        Row(200, [(length, "20480")], .whole(20_480)),
        Row(203, [(length, "5")], .whole(5)),
        Row(201, [(length, "5")], .whole(5)),
        Row(404, [(length, "5")], .whole(5)),
        // The field has no meaning with 200, unless it says that the body is a part.
        Row(200, [(range, "bytes 10000-20479/20480")], .misfit),
        Row(200, [(range, "bytes 0-9/20480"), (length, "10")], .misfit),
        Row(200, [(range, "bytes 0-9/*"), (length, "10")], .misfit),
        Row(200, [(range, "bytes 0-4/5")], .whole(5)),
        Row(200, [(range, "bytes 0-4/5"), (length, "5")], .whole(5)),
        Row(200, [(range, "bytes 0-4/5"), (length, "4")], .misfit),
        Row(200, [(range, "items 0-4/50")], .whole(nil)),
        Row(200, [(range, "bytes x"), (length, "5")], .whole(5)),
        // A part that was not asked for is never the whole.
        Row(206, [(range, "bytes 0-4/11"), (length, "5")], .misfit),
        Row(206, [(range, "bytes 5-10/11")], .misfit),
        Row(206, [(range, "bytes 0-4/*")], .misfit),
        Row(206, [(range, "bytes x")], .misfit),
        Row(206, [(range, "bytes 0-10/11"), (range, "bytes 0-10/12")], .misfit),
        Row(206, [(range, "bytes 0-10/11"), (range, "bytes 0-10/11")], .whole(11)),
        Row(206, [("Content-Type", "Multipart/ByteRanges; boundary=x")], .misfit),
        Row(206, [(range, "bytes 0-10/11"), (length, "5")], .misfit),
        Row(206, [(range, "bytes 0-10/11")], .whole(11)),
        Row(206, [(range, "items 0-9/100")], .otherUnit),
        Row(206, [], .otherUnit),
        // 416 answers only a request with a range.
        Row(416, [], .refused),
        Row(416, [(range, "bytes */11")], .refused),
    ]

    @Test("finding LF-1 the meaning of an answer to a request for the whole", arguments: wholes)
    func whole(row: Row) throws {
        #expect(try meaning(row, .whole) == row.kind)
    }

    private static let own: [Row] = [
        Row(206, [(range, "bytes 5-10/11"), (length, "6")], .requested),
        Row(206, [(range, "bytes 5-7/*")], .requested),
        Row(206, [(range, "bytes 0-10/11")], .misfit),
        Row(206, [(range, "bytes 6-10/11")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), (length, "5")], .misfit),
        Row(206, [("Content-Type", "multipart/byteranges; boundary=x")], .requested),
        Row(206, [], .requested),
        Row(200, [(length, "11")], .requested),
        Row(416, [(range, "bytes */5")], .requested),
    ]

    @Test("finding LF-1 the meaning of an answer to the caller's own range", arguments: own)
    func ownRange(row: Row) throws {
        for asked in ["bytes=5-10", "Bytes=5-"] {
            #expect(try meaning(row, .ownRange, ["Range": asked]) == row.kind)
        }
        // Only a range that names its beginning can be compared.
        for asked in ["bytes=-6", "items=5-10", "bytes=5-6,8-9", "bytes=", "5-10"] where row.status == 206 {
            #expect(try meaning(row, .ownRange, ["Range": asked]) == .requested)
        }
    }

    /// Answers to the request for what follows 5 bytes of 11, of the version `"1"`.
    private static let rests: [Row] = [
        Row(206, [(range, "bytes 5-10/11")], .rest),
        Row(206, [(range, "bytes 5-10/11"), (length, "6"), ("ETag", "\"1\"")], .rest),
        Row(206, [(range, "bytes 5-7/11"), (length, "3")], .rest),
        Row(206, [(range, "bytes 5-10/11"), ("ETag", "\"2\"")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), ("ETag", "W/\"1\"")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), ("ETag", "\"1\""), ("ETag", "\"2\"")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), ("ETag", "\"1\""), ("ETag", "\"1\"")], .rest),
        Row(206, [(range, "bytes 5-10/11"), (range, "bytes 5-10/11")], .rest),
        Row(206, [(range, "bytes 5-10/11, bytes 5-10/11")], .rest),
        Row(206, [(range, "bytes 5-10/11"), (range, "bytes 0-10/11")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), (length, "6"), (length, "7")], .misfit),
        Row(206, [(range, "bytes 0-10/11")], .misfit),
        Row(206, [(range, "bytes 5-10/12")], .misfit),
        Row(206, [(range, "bytes 5-10/*")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), (length, "5")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), (length, "+6")], .misfit),
        Row(206, [(range, "bytes 5-10/11"), ("Content-Encoding", "gzip")], .misfit),
        Row(206, [], .misfit),
        // The rest as if it were the whole (CF-1).
        Row(200, [(range, "bytes 5-10/11"), (length, "6")], .misfit),
        Row(200, [(range, "bytes 5-10/11")], .misfit),
        Row(200, [(range, "bytes x")], .misfit),
        Row(200, [(length, "6")], .misfit),
        Row(200, [(length, "6"), ("ETag", "\"1\"")], .misfit),
        Row(200, [(length, "3")], .misfit),
        Row(200, [(length, "6"), ("ETag", "\"2\"")], .whole(6)),
        Row(200, [(length, "12")], .whole(12)),
        Row(200, [(length, "12"), ("ETag", "\"1\"")], .misfit),
        Row(200, [(length, "11"), ("ETag", "\"1\"")], .whole(11)),
        Row(200, [(range, "bytes 0-10/11")], .whole(11)),
        Row(200, [], .whole(nil)),
        Row(203, [(length, "11")], .whole(11)),
        Row(201, [(length, "11")], .misfit),
        Row(204, [], .misfit),
        // The range does not exist.
        Row(416, [], .misfit),
        Row(416, [(range, "bytes */11")], .misfit),
        Row(416, [(range, "bytes */5")], .misfit),
        Row(304, [], .refused), Row(302, [], .refused), Row(404, [], .refused), Row(503, [], .refused),
    ]

    @Test("finding CF-1 the meaning of an answer to the request for the rest of a known length", arguments: rests)
    func rest(row: Row) throws {
        let point = ResumePoint(validator: "\"1\"", offset: 5, length: 11)

        #expect(try meaning(row, .rest(point)) == row.kind)
    }

    private static let unknown: [Row] = [
        Row(206, [(range, "bytes 5-10/11")], .rest),
        Row(200, [(length, "4")], .misfit),
        Row(200, [(length, "11")], .whole(11)),
        Row(200, [(range, "bytes 5-10/11"), (length, "6")], .misfit),
        Row(416, [], .misfit),
        Row(416, [(range, "bytes */5")], .complete),
        Row(416, [(range, "bytes */5"), ("ETag", "\"2\"")], .misfit),
        Row(416, [(range, "bytes */5"), (range, "bytes */6")], .misfit),
        Row(416, [(range, "bytes */5"), (range, "bytes */5")], .complete),
        Row(416, [(range, "bytes */11")], .misfit),
    ]

    @Test("finding CF-1 the meaning of an answer to the request for the rest of an unknown length", arguments: unknown)
    func restOfUnknownLength(row: Row) throws {
        #expect(try meaning(row, .rest(ResumePoint(validator: "\"1\"", offset: 5))) == row.kind)
    }

    @Test("finding CF-26 a 416 without a range completes bytes of the known length, and no others")
    func unsatisfied() throws {
        let row = Row(416, [], .complete)

        #expect(try meaning(row, .rest(ResumePoint(validator: "\"1\"", offset: 11, length: 11))) == .complete)
        #expect(try meaning(row, .rest(ResumePoint(validator: "\"1\"", offset: 10, length: 11))) == .misfit)
        #expect(try meaning(row, .rest(ResumePoint(validator: "\"1\"", offset: 11))) == .misfit)
        #expect(try meaning(row, .rest(ResumePoint(validator: "", offset: 0, length: 0))) == .misfit)
    }

    @Test("an answer to HEAD has no body that could be a part", arguments: wholes)
    func head(row: Row) throws {
        #expect(try meaning(row, .whole, method: .head) == .whole(nil))
    }

    @Test("finding HF-16 validators are compared octet by octet, not as canonically equivalent text")
    func octets() throws {
        let request = try Request("https://a.test/f")
        let version = FileVersion(validator: "\"\u{E9}\"", address: FileVersion.address(request.url))
        let same = Response(status: 206, headers: ["ETag": "\"\u{E9}\""], request: request)
        let other = Response(status: 206, headers: ["ETag": "\"e\u{301}\""], request: request)

        #expect(version.isSame(in: same) && version.isNamed(in: same))
        #expect(!version.isSame(in: other) && !version.isNamed(in: other))
        #expect(version != FileVersion(validator: "\"e\u{301}\"", address: version.address))
    }

    @Test(
        "finding HF-16 the address belongs to the version, without its fragment and its signature",
        arguments: [
            ("https://a.test/f", "https://a.test/f#x", true), ("https://a.test/f", "https://a.test/g", false),
            ("https://a.test/f", "https://b.test/f", false), ("https://a.test/f?v=1", "https://a.test/f?v=2", false),
            (
                "https://a.test/f?v=1&X-Amz-Date=1&X-Amz-Signature=a",
                "https://a.test/f?v=1&X-Amz-Date=2&X-Amz-Signature=b", true
            ),
            ("https://a.test/f?X-Amz-Date=1", "https://a.test/f?X-Amz-Date=2", false),
            ("https://a.test/f?sv=1&se=1&sig=a&x=1", "https://a.test/f?sv=1&se=2&sig=b&x=1", true),
            ("https://a.test/f?sv=1&se=1&sig=a&x=1", "https://a.test/f?sv=1&se=2&sig=b&x=2", false),
        ] as [(String, String, Bool)]
    )
    func addresses(first: String, second: String, isSame: Bool) throws {
        let version = FileVersion(validator: "\"1\"", address: FileVersion.address(try Request(first).url))
        let answer = Response(status: 206, headers: ["ETag": "\"1\""], request: try Request(second))

        #expect(version.isSame(in: answer) == isSame)
    }
}
