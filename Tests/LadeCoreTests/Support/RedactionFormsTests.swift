#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeCore

/// The spellings in which a server may repeat a secret.
@Suite("Redacted forms", .timeLimit(.minutes(5)))
struct RedactionFormsTests {
    private static let secret = "s3cret/\"Token?+"

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    static let forms: [String] = [
        secret, secret.uppercased(), secret.lowercased(), base64(secret), base64("user:" + secret),
        base64("u:" + secret),
        base64("us:" + secret + ":more"),
        base64(secret).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""),
        Data(secret.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(),
        Data(secret.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16).uppercased() }.joined(),
        secret.replacing("\"", with: "\\\""), secret.replacing("/", with: "\\/"),
        "s3cret%2F%22Token%3F%2B", "s3cret%2f%22token%3f%2b",
    ]

    @Test("finding HF-18 a secret is not shown in any form that a server gives it", arguments: forms)
    func hides(form: String) {
        let rule = Redaction(names: [], values: [Self.secret])

        let shown = rule.maskingValues("before \(form) after")

        #expect(shown.hasPrefix("before "))
        #expect(shown.hasSuffix(" after"))
        #expect(shown.contains(Redaction.mark))
        #expect(!shown.lowercased().contains("s3cret"))
        #expect(!shown.contains("Token"))
        // Of Base64, only letters that depend on the bytes around the secret remain.
        #expect(shown.utf8.count <= "before  after".utf8.count + Redaction.mark.utf8.count + 12)
    }

    @Test("finding HF-18 text without the secret stays as it is")
    func keeps() {
        let rule = Redaction(names: [], values: [Self.secret])
        let text = "GET /a?b=C HTTP/1.1 – nothing SECRET here, c2VjcmV0"
        #expect(rule.maskingValues(text) == text)
    }
}
