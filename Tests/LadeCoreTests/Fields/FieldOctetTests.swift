import Foundation
import Testing

@testable import LadeCore
@testable import LadeFields

/// Every field is parsed and compared by octets: a combining character behind a delimiter changes nothing.
@Suite(.timeLimit(.minutes(5)))
struct FieldOctetTests {
    @Test("finding FP-24 a combining character hides no delimiter from any parser")
    func delimiters() throws {
        let link = try WebLink.parse(["<a>;\u{301}x=1; rel=next, <b\u{301}>; rel=\"\u{301}last\",\u{301} <c>"])
        #expect(link.map(\.target) == ["a", "b\u{301}"])
        #expect(link.first?.hasRelation("next") == true)
        let type = try MediaType("text/html; charset=\"\u{301}x\"; a=b")
        #expect(type.charset == "\u{301}x")
        let challenges = AuthenticationChallenge.parse(
            "Basic realm=\"\u{301}a\",\u{301}, Bearer abc=\u{301}, Negotiate x=="
        )
        #expect(challenges.first?["realm"] == "\u{301}a")
        #expect(challenges.last?.token == "x==")
        #expect(CacheControl(["no-store,\u{301}x, max-age=5"]).noStore)
        #expect(CacheControl(["no-store,\u{301}x, max-age=5"]).maxAge == .seconds(5))
        #expect((try? Headers.RetryAfter("5\u{301}", now: .distantPast)) == nil)
    }

    @Test("finding FP-24 a file's name is made safe by its code points")
    func fileNames() {
        #expect(ContentDisposition.safeFilename(from: "-\u{301}rf") == "_\u{301}rf")
        #expect(ContentDisposition.safeFilename(from: "con.\u{301}txt") == "_con.\u{301}txt")
    }

    @Test("finding FP-24 fields are equal when their octets are")
    func equality() {
        #expect(Headers([("A", "\u{E9}")]) != Headers([("A", "e\u{301}")]))
        #expect(Headers([("A", "\u{E9}")]) == Headers([("A", "\u{E9}")]))
    }
}
