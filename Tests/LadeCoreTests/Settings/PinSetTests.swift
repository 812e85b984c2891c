import LadeCore
import Testing

/// The table of pins; transports check the chains.
@Suite(.timeLimit(.minutes(5)))
struct PinSetTests {
    private let one = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private let two = "//////////////////////////////////////////8="

    @Test("service TP-01 a set with two pins for a pattern has both")
    func makes() throws {
        var pins = TransportSettings.TLS.PinSet()
        try pins.pin([one, two], for: "*.example.com")

        #expect(!pins.isEmpty)
        #expect(pins.pins(for: "www.example.com") == [String(one.dropFirst(7)), two])
    }

    @Test("service TP-02 an empty set pins nothing")
    func empty() {
        #expect(TransportSettings.TLS.PinSet().isEmpty)
        #expect(TransportSettings.TLS.PinSet().pins(for: "www.example.com") == nil)
    }

    /// A set with one pin for one host.
    private func pinned() throws -> TransportSettings.TLS.PinSet {
        var pins = TransportSettings.TLS.PinSet()
        try pins.pin([one], for: "WWW.example.com")
        return pins
    }

    @Test("service TP-03 finds the pins of a host, whatever its case")
    func findsHost() throws {
        #expect(try pinned().pins(for: "www.Example.com") == [String(one.dropFirst(7))])
    }

    @Test(
        "finding FT-8 finds the pins of a host, however the host and the pattern are written",
        arguments: ["api.example.com", "API.example.com.", "api%2Eexample.com", "%61pi.example.com"],
        ["api.example.com", "API.example.com.", "api%2Eexample.com", "*.example.com", "*.EXAMPLE.com."]
    )
    func findsAnySpelling(host: String, pattern: String) throws {
        var pins = TransportSettings.TLS.PinSet()
        try pins.pin([two], for: pattern)

        #expect(pins.pins(for: host) == [two])
    }

    @Test("finding FT-8 finds the pins of an address, however it is written", arguments: ["127.1", "0x7f000001"])
    func findsAddress(host: String) throws {
        var pins = TransportSettings.TLS.PinSet()
        try pins.pin([two], for: "127.0.0.1")

        #expect(pins.pins(for: host) == [two])
    }

    @Test("finding FT-8 has no key for what cannot be a host", arguments: ["a..b", "[::1", "a b", "", "1.2.3.4.5"])
    func noHost(host: String) throws {
        #expect(try pinned().pins(for: host) == [])
        var pins = TransportSettings.TLS.PinSet()
        #expect(throws: LoadingError.self) { try pins.pin([one], for: host) }
        #expect(throws: LoadingError.self) { try pins.pin([one], for: "*." + host) }
        #expect(pins.isEmpty)
    }

    @Test("service TP-04 finds no pins for a host of another domain")
    func findsNoOtherDomain() throws {
        #expect(try pinned().pins(for: "www.example.org") == nil)
    }

    @Test("service TP-07 finds no pins for a host that is not listed, although one below it is")
    func findsNoParent() throws {
        #expect(try pinned().pins(for: "example.com") == nil)
    }

    @Test(
        "service TP-05 a pattern holds for every host one label below it, and for its own text",
        arguments: [
            ("www.example.org", true), ("mail.example.org", true), ("maps.example.org", true), ("*.example.org", true),
            ("example.org", false), ("x.y.example.org", false), ("wwwexample.org", false),
        ]
    )
    func matchesPattern(host: String, isPinned: Bool) throws {
        var pins = TransportSettings.TLS.PinSet()
        try pins.pin([one], for: "*.example.org")

        #expect((pins.pins(for: host) != nil) == isPinned)
    }

    @Test(
        "service D-24 a pin that is none is an error, not a crash",
        arguments: ["", "sha256/", "not base64!", "AAAA", "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    )
    func refuses(pin: String) {
        var pins = TransportSettings.TLS.PinSet()

        #expect(throws: LoadingError.self) { try pins.pin([pin], for: "a.test") }
        #expect(pins.isEmpty)
    }
}
