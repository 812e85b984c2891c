import Foundation
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

/// Cookies of servers that try to evade the rules, as octets.
@Suite(.timeLimit(.minutes(5)))
struct CookieOctetTests {
    private let time = VirtualTime()

    /// The cookies that a jar sends to an address, as octets, after a response from another address has set them.
    private func sent(
        to address: String,
        after first: String,
        setting cookies: [[UInt8]],
        in jar: CookieJar = CookieJar()
    ) async throws -> [UInt8]? {
        let block = Self.block(cookies)
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.status(200, headers: Headers(checked: block)))
        let chain = Chain([ExchangeInterceptor(jar: jar)], transport: transport)
        _ = try await chain.send(Request(first), call: Call(time: time))
        _ = try await chain.send(Request(address), call: Call(time: time))
        return transport.requests[1].headers.octets("Cookie").first
    }

    private static func block(_ cookies: [[UInt8]]) -> HeaderBlock {
        var builder = HeaderBlock.Builder()
        for cookie in cookies {
            let line = Array("Set-Cookie: ".utf8) + cookie
            line.withUnsafeBufferPointer { builder.append($0, name: 10, value: 12..<line.count) }
        }
        return builder.block
    }

    private func sent(setting cookies: String..., to address: String = "https://www.a.test/x/y") async throws -> String?
    {
        try await sent(to: address, after: address, setting: cookies.map { Array($0.utf8) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "finding FP-23 cookies of one path are sent in the order in which they arrived (RFC 6265bis §5.8.3)",
        arguments: [
            (["z=y", "a=b"], "z=y; a=b"), (["b=1", "nameless", "a=2"], "b=1; nameless; a=2"),
            (["z=1; Path=/", "y=2; Path=/x", "x=3; Path=/x/y"], "x=3; y=2; z=1"), (["z=1", "a=2", "z=3"], "z=3; a=2"),
        ]
    )
    func order(cookies: [String], expected: String) async throws {
        let octets = try await sent(
            to: "https://a.test/x/y",
            after: "https://a.test/x/y",
            setting: cookies.map { Array($0.utf8) }
        )
        #expect(octets.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test("finding FP-24 combining characters join no delimiter, no prefix and no attribute")
    func combining() async throws {
        #expect(try await sent(setting: "n=v;\u{301}x") == "n=v")
        #expect(try await sent(setting: "n=v; Secure=\u{301}", to: "https://a.test/") == "n=v")
        #expect(SetCookie("n=v; Secure=\u{301}")?.isSecure == true)
        #expect(SetCookie("n=v; HttpOnly\u{301}")?.isHTTPOnly == false)
        #expect(SetCookie("n\u{301}=v; Path=/\u{301}x")?.path == "/\u{301}x")
        #expect(SetCookie("n=\u{301}v")?.value.reveal() == "\u{301}v")
        #expect(SetCookie("=\u{301}v")?.name == "")
        #expect(SetCookie("n=v; Domain=.\u{301}a.test")?.domain == "\u{301}a.test")
        for prefix in ["__Host-", "__Secure-", "__hOST-"] {
            #expect(try await sent(setting: "\(prefix)\u{301}=v", to: "https://a.test/") == nil)
            #expect(SetCookie("=\(prefix)\u{301}v") == nil)
        }
    }

    @Test("finding FP-24 names, paths and values are compared by octets")
    func normalisation() async throws {
        let text = try await sent(setting: "\u{E9}=1", "e\u{301}=2")
        #expect(text?.utf8.elementsEqual("\u{E9}=1; e\u{301}=2".utf8) == true)
    }

    @Test("finding FP-25 octets that are not UTF-8 are sent back as they were received, also from a file")
    func octets() async throws {
        let cookie = Array("n=".utf8) + [0xFF, 0xC3, 0x28]
        #expect(try await sent(to: "https://a.test/", after: "https://a.test/", setting: [cookie]) == cookie)
        let name = [0xE9] + Array("=1".utf8)
        let both = try await sent(to: "https://a.test/", after: "https://a.test/", setting: [name, Array("é=2".utf8)])
        #expect(both == name + Array("; é=2".utf8))

        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).json").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let jar = try CookieJar(file: path)
        let kept = cookie + Array("; Max-Age=9".utf8)
        _ = try await sent(to: "https://a.test/", after: "https://a.test/", setting: [kept], in: jar)
        try await jar.save()
        var request = try Request("https://a.test/")
        try CookieJar(file: path).add(to: &request, at: time.date)
        #expect(request.headers.octets("Cookie") == [cookie])
    }

    @Test("finding FP-26 SameSite=None needs Secure (RFC 6265bis §5.7 step 19)")
    func sameSite() async throws {
        #expect(try await sent(setting: "n=v; SameSite=None") == nil)
        #expect(try await sent(setting: "n=v; samesite=nONE; Secure") == "n=v")
        #expect(try await sent(setting: "n=v; SameSite=None; SameSite=Lax") == "n=v")
    }

    @Test("finding FP-27 a path is compared without its dot segments, so that a target cannot fetch another's cookies")
    func dotSegments() async throws {
        let jar = CookieJar()
        let cookie = [Array("n=v; Path=/private".utf8)]
        for target in ["/private/../x", "/private/%2e%2E/x", "/private/./../x"] {
            let address = "https://a.test\(target)"
            #expect(try await sent(to: address, after: "https://a.test/", setting: cookie, in: jar) == nil)
        }
        #expect(
            try await sent(to: "https://a.test/x/../private/y", after: "https://a.test/", setting: [], in: jar) != nil
        )
    }

    @Test(
        "finding FP-28 a domain is compared in its normal form",
        arguments: [
            ("http://0x7f.0.0x1/", "0.0x1", 0), ("http://0x7f.0.0x1/", "127.0.0.1", 1),
            ("https://www.a.test/", "A.TEST.", 1),
            ("https://www.a.test/", "%61.test", 1), ("https://www.a.test/", "a..test", 0),
            ("http://[1::]/", "[1:0::]", 1),
        ]
    )
    func domains(address: String, domain: String, count: Int) async throws {
        let jar = CookieJar()
        _ = try await sent(to: address, after: address, setting: [Array("n=v; Domain=\(domain)".utf8)], in: jar)
        #expect(jar.cookies.count == count)
    }

    @Test(
        "finding FH-16 no cookie is set for a public suffix, with a dot at its end or not",
        arguments: ["me.uk", "kawasaki.jp", "myshopify.com", "s3.amazonaws.com", "github.io", "co.uk", "com", "ck"]
    )
    func suffixes(suffix: String) async throws {
        #if canImport(CPSL)
            for domain in [suffix, suffix + ".", suffix.uppercased(), "." + suffix] {
                let jar = CookieJar()
                let address = "https://shop.\(suffix)/"
                _ = try await sent(to: address, after: address, setting: [Array("n=v; Domain=\(domain)".utf8)], in: jar)
                #expect(jar.cookies.isEmpty, "\(domain)")
            }
        #endif
        #expect(!CookieJar.PublicSuffixes.contains("example.com") && !CookieJar.PublicSuffixes.contains("www.ck"))
    }

    // MARK: - Room

    @Test("finding FH-12 a jar holds what its limits say, and the field has its bound")
    func bounds() async throws {
        let jar = CookieJar()
        for answer in 0..<20 {
            let cookies = (0..<495).map { Array("n\(answer)-\($0)=v; Domain=h\(answer).test; Max-Age=\($0 + 1)".utf8) }
            _ = try await sent(
                to: "https://h\(answer).test/",
                after: "https://h\(answer).test/",
                setting: cookies,
                in: jar
            )
        }
        #expect(jar.cookies.count == 20 * 50)
        // The latest of each response are kept.
        #expect(jar.cookies.allSatisfy { ($0.name.split(separator: "-").last.flatMap { Int($0) } ?? 0) >= 445 })

        var limits = CookieJar.Limits()
        limits.fieldBytes = 20
        let narrow = CookieJar(limits: limits)
        let some = (0..<9).map { Array("name\($0)=1".utf8) }
        let field = try await sent(to: "https://a.test/", after: "https://a.test/", setting: some, in: narrow)
        #expect(field.map { String(decoding: $0, as: UTF8.self) } == "name0=1; name1=1")
    }

    @Test("finding FH-12 a host that floods the domain above it drives out its own cookies, not those of its siblings")
    func siblings() async throws {
        let jar = CookieJar()
        let shop = [Array("cart=1; Domain=a.test; Secure".utf8), Array("plain=1; Domain=a.test".utf8)]
        _ = try await sent(to: "https://shop.a.test/", after: "https://shop.a.test/", setting: shop, in: jar)
        let flood = (0..<495).map { Array("n\($0)=v; Domain=a.test; Secure".utf8) }
        _ = try await sent(to: "https://evil.a.test/", after: "https://evil.a.test/", setting: flood, in: jar)

        #expect(jar.cookies.count == 50)
        #expect(jar.cookies.filter { ["cart", "plain"].contains($0.name) }.count == 2)
        _ = try await sent(
            to: "https://shop.a.test/",
            after: "https://shop.a.test/",
            setting: [Array("new=1; Domain=a.test".utf8)],
            in: jar
        )
        #expect(jar.cookies.count == 50 && jar.cookies.filter { $0.setter == "shop.a.test" }.count == 3)
    }

    @Test("finding FP-17 whether a cookie shadows a secure one is found without reading all of them")
    func shadows() throws {
        var storage = CookieStorage(limits: CookieJar.Limits(), isPublicSuffix: { _ in false })
        let url = try #require(URL(string: "https://x.y.a.test/p/q"))
        let plain = try #require(URL(string: "http://x.y.a.test/p/q"))
        func take(_ text: String, from url: URL) -> Bool { storage.take(SetCookie(text)!, from: url, at: time.date) }
        #expect(take("sid=1; Secure; Path=/p; Domain=y.a.test", from: url))
        // Another name, another path, a path above, and then below and beside it.
        #expect(take("other=1; Path=/p", from: plain) && take("sid=1; Path=/q", from: plain))
        #expect(take("sid=1; Path=/", from: plain))
        #expect(!take("sid=1; Path=/p/deep", from: plain) && !take("sid=1; Path=/p; Domain=a.test", from: plain))
        #expect(!take("sid=1; Path=/p; Domain=y.a.test", from: plain))
        #expect(take("sid=1; Path=/px", from: plain))
        // After its removal, the cookie can be set.
        #expect(take("sid=; Secure; Max-Age=0; Path=/p; Domain=y.a.test", from: url) || true)
        #expect(take("sid=1; Path=/p/deep", from: plain))
    }

    @Test("finding FP-17 the heaps of a jar forget what is out of date")
    func heap() {
        var heap = LazyHeap<Int, Int>()
        for key in [5, 3, 8, 1, 9, 2, 7, 3] { heap.insert(key, key * 10) }
        heap.compact { key, _ in key != 8 }
        var keys: [Int] = []
        while let (key, value) = heap.first {
            #expect(value == key * 10)
            keys.append(key)
            heap.removeFirst()
        }
        #expect(keys == [1, 2, 3, 3, 5, 7, 9])
    }

    // MARK: - The file

    @Test("finding FP-18 the call does not wait for the file, which is written once for all changes of a second")
    func savesLater() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).json").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let jar = try CookieJar(file: path)
        for number in 0..<3 {
            let cookie = [Array("n\(number)=v; Max-Age=99".utf8)]
            _ = try await sent(to: "https://a.test/", after: "https://a.test/", setting: cookie, in: jar)
        }
        // Three changes, one delay, and nothing written yet.
        #expect(try await time.nextSleeper().deadline == time.now.advanced(by: .seconds(1)))
        #expect(time.sleepers.count == 1)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(jar.pendingSave != nil)

        let save = jar.pendingSave
        time.advance(by: .seconds(1))
        await save?.value
        #expect(try CookieJar(file: path).cookies.map(\.name) == ["n0", "n1", "n2"])
        #expect(jar.pendingSave == nil)
    }

    @Test("finding FP-18 a jar that is released writes what it has")
    func savesAtEnd() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString).json").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var jar: CookieJar? = try CookieJar(file: path)
        var request = try Request("https://a.test/")
        let cookie = [Array("n=v; Max-Age=99".utf8)]
        _ = try await sent(to: "https://a.test/", after: "https://a.test/", setting: cookie, in: #require(jar))
        let save = jar?.pendingSave
        jar = nil

        await save?.value
        try CookieJar(file: path).add(to: &request, at: time.date)
        #expect(request.headers["Cookie"] == "n=v")
    }
}
