import LadeCore
import Testing

@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite("What is known of the addresses of a route", .timeLimit(.minutes(5)))
struct RouteMemoryTests {
    private static func addresses(_ texts: [String]) -> [SocketAddress] {
        texts.compactMap { if case .address(let address) = SocketAddress.parse($0) { address } else { nil } }
    }

    private let route = Route.host("a.test", port: 80)
    private let resolved = Self.addresses(["::1", "::2", "::3", "10.0.0.1", "10.0.0.2"])

    private func order(_ memory: RouteMemory, _ route: Route, at now: Int64) -> [String] {
        AddressRace(resolved, known: memory.known(route, at: now)).addresses.map(\.text)
    }

    @Test("wire WR-14 the families alternate, what worked comes first, what failed comes last, and 16 are tried")
    func order() {
        var memory = RouteMemory()
        let usual = ["::1", "10.0.0.1", "::2", "10.0.0.2", "::3"]
        #expect(order(memory, route, at: 0) == usual)

        memory.worked(resolved[4], for: route, at: 0)
        memory.failed(resolved[0], for: route, at: 0)
        #expect(order(memory, route, at: 1) == ["10.0.0.2", "10.0.0.1", "::2", "::3", "::1"])
        #expect(order(memory, .host("a.test", port: 81), at: 1) == usual)

        // What failed later does not come first any more, and what worked later does not come last.
        memory.failed(resolved[4], for: route, at: 2)
        memory.worked(resolved[0], for: route, at: 2)
        #expect(order(memory, route, at: 3) == ["::1", "10.0.0.1", "::2", "::3", "10.0.0.2"])

        let many = Self.addresses((1...40).map { "10.0.0.\($0)" })
        let known = RouteMemory.Known(worked: many[39], failed: Set(many[..<8]))
        #expect(AddressRace(many, known: known).addresses == [many[39]] + many[8..<23])
    }

    @Test("finding PT-2 an address that worked and then failed is last")
    func workedAndFailed() {
        var memory = RouteMemory()
        memory.worked(resolved[0], for: route, at: 0)
        memory.failed(resolved[0], for: route, at: 1)
        #expect(memory.known(route, at: 2) == RouteMemory.Known(worked: nil, failed: [resolved[0]]))
        #expect(order(memory, route, at: 2) == ["10.0.0.1", "::2", "10.0.0.2", "::3", "::1"])
        // Another address that fails takes nothing from the one that worked.
        memory.worked(resolved[1], for: route, at: 3)
        memory.failed(resolved[2], for: route, at: 4)
        #expect(memory.known(route, at: 5).worked == resolved[1])
    }

    @Test("wire WR-14 an outcome counts for 10 minutes")
    func life() {
        var memory = RouteMemory()
        memory.worked(resolved[1], for: route, at: 5)
        memory.failed(resolved[0], for: route, at: 5)
        let end = 5 + 600_000_000_000 as Int64
        #expect(memory.known(route, at: end - 1) == RouteMemory.Known(worked: resolved[1], failed: [resolved[0]]))
        #expect(memory.known(route, at: end) == RouteMemory.Known())
    }

    @Test("remembers 256 routes at most, and drops those first whose outcomes count no more")
    func bound() {
        var memory = RouteMemory()
        for port in 0..<255 { memory.worked(resolved[0], for: .host("old.test", port: UInt16(port)), at: 0) }
        memory.worked(resolved[0], for: route, at: RouteMemory.life)
        memory.worked(resolved[0], for: .host("b.test", port: 1), at: RouteMemory.life)
        #expect(memory.count == 2)
        for port in 0..<1_000 {
            memory.failed(resolved[0], for: .host("n.test", port: UInt16(port)), at: RouteMemory.life)
        }
        #expect(memory.count <= RouteMemory.most)
    }
}
