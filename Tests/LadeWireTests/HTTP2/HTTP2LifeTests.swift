import Testing

@testable import LadeWire

@Suite("The life of a connection of HTTP/2 as a value", .timeLimit(.minutes(5)))
struct HTTP2LifeTests {
    private static let second: Int64 = 1_000_000_000

    private static func makeReady(_ streams: Int = 10) -> HTTP2Life {
        var life = HTTP2Life(at: 0)
        life.allowed(streams)
        return life
    }

    @Test("wire WR-53 a connection is open with the peer's settings, unless they allow no stream")
    func opens() {
        var life = HTTP2Life(at: 0)
        #expect(life.isConnecting)
        for number in 0..<100 {
            #expect(life.canOpen)
            _ = life.opened(Int32(2 * number + 1), at: 0)
        }
        #expect(!life.canOpen)

        life.allowed(0)
        #expect(life.isConnecting)
        #expect(!life.canOpen)
        life.allowed(101)
        #expect(!life.isConnecting)
        #expect(life.canOpen)
    }

    @Test("wire WR-54 a lower limit ends nothing, and admits nothing until enough streams have ended")
    func lowersTheLimit() {
        var life = Self.makeReady(3)
        for number in [1, 3, 5] { _ = life.opened(Int32(number), at: 0) }
        life.allowed(2)

        #expect(life.streams == 3)
        life.closedStream(at: 0)
        #expect(!life.canOpen)
        life.closedStream(at: 0)
        #expect(life.canOpen)
    }

    @Test("wire WR-55 GOAWAY ends no stream up to its last one, and takes no new stream")
    func goesAway() {
        var life = Self.makeReady()
        life.goneAway(last: .max)
        #expect(life.state == .draining)
        #expect(!life.canOpen)
        #expect(!life.isUnprocessed(99))

        life.goneAway(last: 3)
        life.goneAway(last: 7)
        let unprocessed = [1, 3, 5].map { life.isUnprocessed($0) }
        #expect(unprocessed == [false, false, true])
    }

    @Test("a connection whose stream identifiers are half used up takes no new stream")
    func runsOutOfStreams() {
        var life = Self.makeReady()
        _ = life.opened((1 << 30) - 1, at: 0)
        #expect(life.canOpen)
        _ = life.opened((1 << 30) + 1, at: 0)
        #expect(life.state == .draining)
    }

    @Test(
        "wire WR-61 the first request after 30 s without a stream brings a PING",
        arguments: [(Int64(29), HTTP2Life.Action.none), (Int64(30), HTTP2Life.Action.ping)]
    )
    func pingsAfterIdleness(seconds: Int64, action: HTTP2Life.Action) {
        var life = Self.makeReady()
        _ = life.opened(1, at: 0)
        life.closedStream(at: 5 * Self.second)

        #expect(life.opened(3, at: (5 + seconds) * Self.second) == action)
        #expect(life.opened(5, at: (5 + seconds) * Self.second) == .none)
        #expect(life.isDoubtful == (action == .ping))
    }

    @Test("wire WR-61 silent streams bring one PING after 15 s, and the next only after a frame of a stream")
    func pingsSilentStreams() {
        var life = Self.makeReady()
        #expect(life.due == .max)
        _ = life.opened(1, at: 0)
        #expect(life.due == 15 * Self.second)
        #expect(life.expired(at: 15 * Self.second - 1) == .none)
        #expect(life.expired(at: 15 * Self.second) == .ping)
        #expect(life.due == 30 * Self.second)

        // The answer to the PING is no frame of a stream.
        life.heard()
        #expect(!life.isDoubtful)
        #expect(life.due == .max)

        life.heardStream(at: 40 * Self.second)
        #expect(life.due == 55 * Self.second)
        #expect(life.expired(at: 55 * Self.second) == .ping)
    }

    @Test("wire WR-61 a peer that sends nothing for 15 s after a PING is lost; any frame is enough")
    func losesTheSilent() {
        var life = Self.makeReady()
        _ = life.opened(1, at: 0)
        #expect(life.expired(at: 15 * Self.second) == .ping)
        var other = life
        #expect(life.expired(at: 30 * Self.second - 1) == .none)
        #expect(life.expired(at: 30 * Self.second) == .lost)
        #expect(life.state == .closed)

        other.heard()
        #expect(other.expired(at: 30 * Self.second) == .none)
    }

    @Test("no PING is sent before the settings, and none for a connection without streams")
    func staysQuiet() {
        var life = HTTP2Life(at: 0)
        #expect(life.opened(1, at: 60 * Self.second) == .none)
        #expect(life.due == .max)
        life.allowed(1)
        life.closedStream(at: 60 * Self.second)
        #expect(life.due == .max)
    }

    @Test("finding WF-1 nothing is due of a connection that has ended, also with a PING in flight")
    func endsWithoutDueTimes() {
        for isLost in [true, false] {
            var life = Self.makeReady()
            _ = life.opened(1, at: 0)
            #expect(life.expired(at: life.due) == .ping)
            let silence = life.due
            if isLost { #expect(life.expired(at: silence) == .lost) } else { life.closed() }

            #expect(life.due == .max)
            #expect(life.expired(at: silence) == .none)
        }
    }

    @Test("wire WR-57 the window of a stream is half of the high-water mark, and at least a frame")
    func sizesWindows() {
        let marks: [Int] = [0, 64 << 10, 2 << 20, Int.max]
        let sizes: [Int32] = [16 << 10, 32 << 10, 1 << 20, .max]
        #expect(marks.map { StreamWindow.size(highWater: $0) } == sizes)
    }

    @Test("wire WR-56 a stream's window returns as its reader takes bytes, or on arrival")
    func returnsWindows() {
        var read = StreamWindow(.asTaken)
        #expect(read.arrived(10) == 0)
        #expect(read.taken(4) == 4)
        #expect(read.taken(9) == 6, "no more returns than has arrived")
        #expect(read.arrived(5) == 0)
        #expect(read.released() == 5)
        #expect(read.arrived(3) == 3)

        var buffered = StreamWindow(.onArrival)
        #expect(buffered.arrived(10) == 10)
        #expect(buffered.held == 0)
    }
}
