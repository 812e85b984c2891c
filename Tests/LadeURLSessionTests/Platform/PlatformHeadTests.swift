import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct PlatformHeadTests {
    private func check(
        _ fields: [(String, String)],
        code: Int = 200,
        limits: TransportSettings.ResponseLimits = .init()
    ) throws -> Result<TransferState.Head, LoadingError> {
        PlatformHead(code: code, fields: fields)
            .checked(for: try Request("http://example.com"), limits: limits, context: ErrorContext())
    }

    private func rule(_ fields: [(String, String)]) throws -> MalformedResponse.Rule? {
        guard case .failure(.malformedResponse(let fault, _)) = try check(fields) else { return nil }
        return fault.rule
    }

    @Test("transport TR-08 TR-09 lengths that differ are malformed, lengths that agree are one")
    func lengths() throws {
        #expect(PlatformHead.agreedLength("5") == 5)
        #expect(PlatformHead.agreedLength("5, 5") == 5)
        for written in ["10, 4", "5, 4", "", "+5", "-5", "5,", "5x", "0x5", "99999999999999999999"] {
            #expect(PlatformHead.agreedLength(written) == nil, "\(written)")
            #expect(try rule([("Content-Length", written)]) == .contentLength)
        }
    }

    @Test("transport TR-10 a length beside chunked is malformed")
    func lengthWithChunked() throws {
        let fields = [("Content-Length", "4"), ("Transfer-Encoding", "chunked")]
        #expect(try rule(fields) == .lengthWithTransferCoding)
    }

    @Test("transport TR-21 control characters that the platform lets through are malformed")
    func controlCharacters() throws {
        #expect(try rule([("X-A", "a\rb")]) == .fieldValue)
        #expect(try rule([("X A", "b")]) == .fieldName)
    }

    @Test("transport TR-16 a head above its limits is refused")
    func limits() throws {
        var limits = TransportSettings.ResponseLimits()
        limits.headFields = 2
        limits.headBytes = 38
        // Each counts 3 for the name, 12 for the value and 4 for colon, space and line end.
        let field = ("X-A", "twelve chars")
        #expect(try exceededLimit(check([field, field], limits: limits)) == nil)
        #expect(try exceededLimit(check([field, ("X-A", "thirteen char")], limits: limits)) == .bytes(38))
        #expect(try exceededLimit(check([field, field, field], limits: limits)) == .fields(2))
    }

    private func exceededLimit(_ result: Result<TransferState.Head, LoadingError>) -> HeadLimit? {
        guard case .failure(.headTooLarge(let limit, _)) = result else { return nil }
        return limit
    }

    @Test("identity is no coding")
    func identity() throws {
        #expect(try check([("Content-Encoding", "identity")]).get().decodedCoding == nil)
        #expect(try check([("Content-Encoding", "br")]).get().decodedCoding == "br")
    }

    @Test(
        "joined cookies are taken apart, dates stay whole",
        arguments: [
            ("a=1", ["a=1"]),
            ("a=1, b=2", ["a=1", "b=2"]),
            (
                "a=1; Expires=Wed, 21 Oct 2030 07:28:00 GMT, b=2; Path=/",
                [
                    "a=1; Expires=Wed, 21 Oct 2030 07:28:00 GMT", "b=2; Path=/",
                ]
            ),
            ("a=1; Expires=Wed, 21 Oct 2030 07:28:00 GMT", ["a=1; Expires=Wed, 21 Oct 2030 07:28:00 GMT"]),
            ("a=\"1,2\",b=", ["a=\"1,2\"", "b="]),
            ("", [""]),
        ] as [(String, [String])]
    )
    func cookies(_ joined: String, _ expected: [String]) {
        #expect(PlatformHead.cookies(in: joined) == expected)
    }

    @Test("fields of the platform come sorted by name")
    func sorted() throws {
        let url = try #require(URL(string: "http://example.com"))
        let fields = ["B": "2", "A": "1", "Set-Cookie": "x=1, y=2"]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
        )
        let head = PlatformHead(response)
        #expect(head.fields.map(\.0) == ["A", "B", "Set-Cookie", "Set-Cookie"])
        #expect(head.fields.map(\.1) == ["1", "2", "x=1", "y=2"])
    }
}
