import LadeCore
import LadeExchange
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
        #expect(table.due == 2 * Self.second)
        #expect(table.startable(at: 2 * Self.second - 1) == [])
        #expect(table.startable(at: 2 * Self.second) == ["hangs8.test"])
    }

    @Test(
        "finding WF-1 the due time is a function of what is stored: when it is reached a look-up starts, and not before"
    )
    func dueTimes() {
        var weather = Weather(state: 1)
        var table = NameTable()
        var running: [String] = []
        var now: Int64 = 0
        func start() {
            let started = table.startable(at: now)
            running += started
            if table.hasWaiting, running.count < NameTable.mostSlow { #expect(table.due > now) }
        }
        for number in 0..<5_000 {
            switch weather.next() % 4 {
            case 0, 1:
                _ = table.ask("\(number).test", for: number, at: now)
                start()
            case 2 where !running.isEmpty:
                let name = running.remove(at: Int(weather.next() % UInt64(running.count)))
                _ = table.done(name, [], at: now)
                start()
            default:
                let due = table.due
                guard due < .max else {
                    now += Self.second / 10
                    continue
                }
                #expect(table.startable(at: due - 1) == [])
                now = max(now, due)
                let before = running.count
                start()
                #expect(running.count > before)
            }
        }
        #expect(now > Self.second)
    }

    @Test("finding WF-1 the end of a look-up that no call waits for wakes the loop, whose due time it has changed")
    func wakes() {
        let inbox = Inbox(wakeUpDescriptor: -1)
        let endings = Locked<[String: @Sendable ([SocketAddress]) -> Void]>([:])
        let resolver = Resolver(inbox: inbox, now: { 15 * Self.second / 2 }) { name, done in
            endings.withLock { $0[name] = done }
        }
        for number in 0..<65 {
            let isKnown = resolver.ask("\(number).test", for: number, at: Int64(number / 8) * Self.second) != nil
            #expect(!isKnown)
        }
        #expect(resolver.due == .max)
        resolver.leave("0.test", 0)
        endings.withLock { $0["0.test"] }?([])

        #expect(resolver.due == 8 * Self.second)
        var messages: [LoopMessage] = []
        _ = inbox.drain(into: &messages)
        #expect(messages.count == 1)
    }

    @Test("never runs more than 64 look-ups, slow ones included")
    func bounded() {
        var table = NameTable()
        for number in 0..<100 { _ = table.ask("\(number).test", for: number, at: 0) }
        var running = 0
        for second in 0..<20 { running += table.startable(at: Int64(second) * Self.second).count }
        #expect(running == 64)
        #expect(table.due == .max)
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
