import Foundation
import LadeCore
import Testing

@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct SetCookieTests {
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(
        "policies PL-51 reads name and value as browsers do (RFC 6265bis §5.6)",
        arguments: [
            ("a=b", "a", "b"), (" a = b ; Path=/", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("=b", "", "b"),
            ("b", "", "b"), ("a=\"q\"", "a", "\"q\""), ("a=b; a=c", "a", "b"), ("a=ü", "a", "ü"),
        ]
    )
    func readsPairs(text: String, name: String, value: String) {
        let cookie = SetCookie(text)

        #expect(cookie?.name == name)
        #expect(cookie?.value.reveal() == value)
    }

    @Test(
        "policies PL-51 stores nothing from a field that sets nothing",
        arguments: [
            "", ";", "=", "; Path=/", "=__Host-a", "__Secure-x", "a=" + String(repeating: "x", count: 4096),
        ]
    )
    func refuses(text: String) {
        #expect(SetCookie(text) == nil)
    }

    @Test("policies PL-51 stores 4096 bytes of name and value, and takes attributes of 1024 bytes", arguments: [0, 1])
    func largest(more: Int) {
        let value = String(repeating: "x", count: 4_094 + more)
        let path = "/" + String(repeating: "y", count: 1_023 + more)

        #expect(SetCookie("ab=" + value)?.value.reveal() == (more == 0 ? value : nil))
        // A longer attribute is as if it were not there.
        #expect(SetCookie("a=b; Path=/z; Path=" + path)?.path == (more == 0 ? path : "/z"))
    }

    @Test("policies PL-51 reads attributes in any case, the last of each, and no unknown ones")
    func readsAttributes() {
        let cookie = SetCookie(
            "a=b; path=/one; PATH=/two; domain=.Example.COM; SECURE; HttpOnly; SameSite=Strict; Priority=High; Max-Age=5"
        )

        #expect(cookie?.path == "/two")
        #expect(cookie?.domain == "example.com")
        #expect(cookie?.isSecure == true)
        #expect(cookie?.isHTTPOnly == true)
        #expect(cookie?.maxAge == 5)
    }

    @Test(
        "policies PL-51 computes when a cookie ends: Max-Age before Expires, 400 days at most",
        arguments: [
            ("a=b", nil), ("a=b; Max-Age=60", 60), ("a=b; Max-Age=60; Expires=Wed, 09 Jun 2021 10:18:14 GMT", 60),
            ("a=b; Expires=Thu, 01 Jan 2026 00:01:00 GMT", 60), ("a=b; Max-Age=6x", nil), ("a=b; Max-Age=+6", nil),
            ("a=b; Max-Age=99999999999999999999", 34_560_000),
            ("a=b; Expires=Fri, 01 Jan 2100 00:00:00 GMT", 34_560_000),
            ("a=b; Expires=nonsense", nil),
        ] as [(String, Double?)]
    )
    func knowsItsEnd(text: String, seconds: Double?) {
        #expect(SetCookie(text)?.end(at: now)?.timeIntervalSince(now) == seconds)
    }

    @Test("policies PL-51 treats an end in the past as a removal", arguments: ["0", "-1", "-99999999999999999999"])
    func removes(age: String) {
        #expect(SetCookie("a=b; Max-Age=\(age)")?.end(at: now).map { $0 < now } == true)
    }
}
