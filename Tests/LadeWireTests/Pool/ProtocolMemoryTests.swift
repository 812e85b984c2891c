import Testing

@testable import LadeWire

@Suite("The memory of negotiated protocols", .timeLimit(.minutes(5)))
struct ProtocolMemoryTests {
    private static let minute: Int64 = 60_000_000_000

    @Test("remembers the latest choice of a host for ten minutes")
    func forgets() {
        var memory = ProtocolMemory()
        memory.note(.http1_1, 1, at: 0)
        memory.note(.http2, 1, at: Self.minute)

        #expect(memory.choice(1, at: 11 * Self.minute - 1) == .http2)
        #expect(memory.choice(1, at: 11 * Self.minute) == nil)
        #expect(memory.choice(2, at: 0) == nil)
    }

    @Test("remembers 1,024 hosts, and forgets the oldest first")
    func isBounded() {
        var memory = ProtocolMemory()
        for key in 0..<1_024 { memory.note(.http2, key, at: Int64(key)) }
        memory.note(.http2, 5, at: 2_000)
        memory.note(.http2, 9_999, at: 2_001)

        #expect(memory.choice(0, at: 2_001) == nil)
        #expect(memory.choice(1, at: 2_001) == .http2)
        #expect(memory.choice(9_999, at: 2_001) == .http2)
    }
}
