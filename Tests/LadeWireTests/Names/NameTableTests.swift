import LadeCore
import Testing

@testable import LadeWire

@Suite("The table of names", .timeLimit(.minutes(5)))
struct NameTableTests {
    private static let second: Int64 = 1_000_000_000

    @Test("wire WR-13 makes one look-up for all askers, and a hanging one keeps others waiting for a second at most")
    func shares() {
        var table = NameTable()
        for asker in 0..<100 { #expect(table.ask("one.test", for: asker, at: 0) == .later) }
        #expect(table.startable(at: 0) == ["one.test"])
        #expect(table.startable(at: 0) == [])
        #expect(table.done("one.test", SocketAddress.loopback, at: 1) == Array(0..<100))

        for number in 0..<9 { _ = table.ask("hangs\(number).test", for: number, at: Self.second) }
        #expect(table.startable(at: Self.second) == (0..<8).map { "hangs\($0).test" })
        #expect(table.due(at: Self.second) == 2 * Self.second)
        #expect(table.startable(at: 2 * Self.second - 1) == [])
        #expect(table.startable(at: 2 * Self.second) == ["hangs8.test"])
    }

    @Test("never runs more than 64 look-ups, slow ones included")
    func bounded() {
        var table = NameTable()
        for number in 0..<100 { _ = table.ask("\(number).test", for: number, at: 0) }
        var running = 0
        for second in 0..<20 { running += table.startable(at: Int64(second) * Self.second).count }
        #expect(running == 64)
        #expect(table.due(at: 100 * Self.second) == .max)
        _ = table.done("0.test", [], at: 20 * Self.second)
        #expect(table.startable(at: 20 * Self.second) == ["64.test"])
    }

    @Test("keeps addresses for 10 s, and failures not at all")
    func keeps() {
        var table = NameTable()
        _ = table.ask("a.test", for: 1, at: 0)
        _ = table.startable(at: 0)
        _ = table.done("a.test", SocketAddress.loopback, at: 0)
        #expect(table.ask("a.test", for: 2, at: 10 * Self.second - 1) == .known(SocketAddress.loopback))
        #expect(table.ask("a.test", for: 2, at: 10 * Self.second) == .later)

        _ = table.startable(at: 10 * Self.second)
        #expect(table.done("a.test", [], at: 10 * Self.second) == [2])
        #expect(table.ask("a.test", for: 3, at: 10 * Self.second) == .later)
    }

    @Test("an asker that has left is not notified, and a name that no one waits for is not looked up")
    func leaves() {
        var table = NameTable()
        _ = table.ask("a.test", for: 1, at: 0)
        table.leave("a.test", 1)
        #expect(table.startable(at: 0) == [])

        _ = table.ask("a.test", for: 1, at: 0)
        _ = table.ask("a.test", for: 2, at: 0)
        #expect(table.startable(at: 0) == ["a.test"])
        table.leave("a.test", 1)
        #expect(table.done("a.test", SocketAddress.loopback, at: 0) == [2])
    }

    @Test("forgets the addresses that could not be connected to")
    func forgets() {
        var table = NameTable()
        _ = table.ask("a.test", for: 1, at: 0)
        _ = table.startable(at: 0)
        _ = table.done("a.test", SocketAddress.loopback, at: 0)
        table.forget("a.test")
        #expect(table.ask("a.test", for: 2, at: 0) == .later)
    }
}
