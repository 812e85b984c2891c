import LadeCore
import Testing

@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite("The race of addresses", .timeLimit(.minutes(5)))
struct AddressRaceTests {
    private static func addresses(_ texts: [String]) -> [SocketAddress] {
        texts.compactMap { if case .address(let address) = SocketAddress.parse($0) { address } else { nil } }
    }

    @Test("alternates the families, beginning with that of the first address, and tries 16 at the most")
    func order() {
        let race = AddressRace(Self.addresses(["::1", "::2", "::3", "10.0.0.1", "10.0.0.2"]))
        #expect(race.addresses.map(\.text) == ["::1", "10.0.0.1", "::2", "10.0.0.2", "::3"])
        let many = AddressRace(Self.addresses((1...40).map { "10.0.0.\($0)" }))
        #expect(many.addresses.map(\.text) == (1...16).map { "10.0.0.\($0)" })
    }

    @Test("starts the next attempt 250 ms after the last start, and immediately when one fails")
    func pace() {
        var race = AddressRace(Self.addresses(["10.0.0.1", "10.0.0.2", "10.0.0.3"]))
        #expect(race.start(at: 1_000) == .connect(0))
        #expect(race.due == 250_001_000)
        #expect(race.expire(at: 250_000_999) == .wait)
        #expect(race.expire(at: 250_001_000) == .connect(1))
        #expect(race.failed(ECONNREFUSED, at: 250_002_000) == .connect(2))
        #expect(race.due == .max)
        #expect(race.failed(ECONNREFUSED, at: 250_003_000) == .wait)
    }

    @Test(
        "reports the most telling cause when all attempts fail",
        arguments: [
            ([ECONNREFUSED, ENETUNREACH], ECONNREFUSED), ([ENETUNREACH, ECONNREFUSED], ECONNREFUSED),
            ([ETIMEDOUT, EHOSTUNREACH], EHOSTUNREACH), ([ETIMEDOUT, EACCES], ETIMEDOUT),
        ] as [([Int32], Int32)]
    )
    func causes(codes: [Int32], cause: Int32) {
        var race = AddressRace(Self.addresses(["10.0.0.1", "10.0.0.2"]))
        _ = race.start(at: 0)
        #expect(race.failed(codes[0], at: 1) == .connect(1))
        #expect(race.failed(codes[1], at: 2) == .lost(cause))
    }

    @Test(
        "wire WR-12 numeric hosts and localhost need no look-up, and localhost is ::1, then 127.0.0.1",
        arguments: [
            ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]), ("fe80::1", ["fe80::1"]),
            ("localhost", ["::1", "127.0.0.1"]), ("localhost.", ["::1", "127.0.0.1"]),
            ("a.localhost", ["::1", "127.0.0.1"]), ("localhost.test", nil), ("notlocalhost", nil), ("1.2.3", nil),
        ] as [(String, [String]?)]
    )
    func known(host: String, addresses: [String]?) {
        let known = Route.known(host)
        guard let addresses else {
            #expect(known == .nothing)
            return
        }
        #expect(known == .addresses(Self.addresses(addresses)))
    }

    @Test("an unknown zone is no address")
    func unknownZone() {
        #expect(Route.known("fe80::1%25no-such-zone") == .unknownZone)
    }
}
