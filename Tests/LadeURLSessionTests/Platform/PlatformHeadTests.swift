import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct PlatformHeadTests {
    private func check(
        _ fields: [(String, String)],
        code: Int = 200,
        limits: TransportSettings.ResponseLimits = .init()
    ) throws -> Result<TransferState.Head, LoadingError> {
        PlatformHead(code: code, fields: fields)
            .checked(for: try Request("http://example.com"), limits: limits, context: LoadingError.Context())
    }

    private func rule(_ fields: [(String, String)]) throws -> LoadingError.MalformedResponse.Rule? {
        guard case .failure(let error) = try check(fields), case .malformedResponse(let fault) = error.kind else {
            return nil
        }
        return fault.rule
    }

    @Test("lengths that differ are malformed, lengths that agree are one: transport TR-08 TR-09")
    func lengths() throws {
        for written in ["5", "5, 5"] {
            #expect(try check([("Content-Length", written)]).get().announcedLength == 5)
        }
        for written in ["10, 4", "5, 4", "", "+5", "-5", "5,", "5x", "0x5", "99999999999999999999"] {
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

    @Test("transport TR-16 a head with too many fields is refused")
    func fields() throws {
        var limits = TransportSettings.ResponseLimits()
        limits.headFields = 2
        let fields = (0..<3).map { ("X-\($0)", "v") }
        #expect(throws: Never.self) { try check(Array(fields.prefix(2)), limits: limits).get() }
        guard case .failure(let error) = try check(fields, limits: limits), case .headTooLarge(.fields(2)) = error.kind
        else {
            Issue.record("three fields passed a limit of two")
            return
        }
    }

    @Test("identity is no coding")
    func identity() throws {
        #expect(try check([("Content-Encoding", "identity")]).get().decodedCoding == nil)
        #expect(try check([("Content-Encoding", "br")]).get().decodedCoding == "br")
        #expect(try check([("Content-Encoding", "identity, GZIP ,br")]).get().decodedCoding == "identity, GZIP ,br")
        #expect(try check([("Content-Encoding", "gzip, compress")]).get().decodedCoding == nil)
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
            // Neither a name without an equals sign, nor none, nor one that is no token begins a cookie.
            ("a=1,2, b=3", ["a=1,2", "b=3"]),
            ("a=1, b; c=2", ["a=1, b; c=2"]),
            ("a=1, =2", ["a=1, =2"]),
            ("a=1, (b)=2", ["a=1, (b)=2"]),
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
