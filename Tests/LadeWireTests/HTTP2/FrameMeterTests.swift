import CNghttp2
import Testing

@testable import LadeWire

@Suite("The count of frames that bring nothing", .timeLimit(.minutes(5)))
struct FrameMeterTests {
    private static func take(_ bytes: [UInt8], into meter: inout FrameMeter, at now: Int64 = 0) -> Int? {
        var units = Int.max
        let share = bytes.withUnsafeBytes { meter.take($0, at: now, units: &units) }
        return share.isFlood ? share.count : nil
    }

    /// A meter that knows of two streams.
    private static func meter() -> FrameMeter {
        var meter = FrameMeter(at: 0)
        meter.opened(1)
        meter.opened(3)
        return meter
    }

    private static let empty: [(String, [UInt8])] = [
        ("WINDOW_UPDATE", RawFrame.bytes(RawFrame.windowUpdate, [0, 0, 0, 1])),
        ("PING", RawFrame.bytes(RawFrame.ping, Array(repeating: 0, count: 8))),
        ("SETTINGS", RawFrame.settings()),
        ("PRIORITY", RawFrame.bytes(RawFrame.priority, stream: 1, [0, 0, 0, 0, 1])),
        ("empty DATA", RawFrame.bytes(RawFrame.data, stream: 1)),
        ("padding alone", RawFrame.bytes(RawFrame.data, flags: RawFrame.padded, stream: 1, [3, 0, 0, 0])),
        ("CONTINUATION", RawFrame.bytes(RawFrame.continuation, stream: 1, [1])),
        ("unknown", RawFrame.bytes(77, stream: 9, [1, 2, 3])),
    ]

    @Test("wire WR-59 the 1,001st frame without progress is one too many, whatever it is", arguments: empty)
    func countsEmptyFrames(name: String, frame: [UInt8]) {
        var meter = Self.meter()
        let thousand = Array((0..<1_000).map { _ in frame }.joined())

        #expect(Self.take(thousand, into: &meter) == nil)
        #expect(meter.count == 1_000)
        let first = Array(frame.prefix(1))
        let rest = Array(frame.dropFirst())
        #expect(Self.take(first, into: &meter) == nil, "a part of a header")
        #expect(Self.take(rest, into: &meter) == 0)
    }

    @Test(
        "wire WR-59 a useful frame makes up for ten others",
        arguments: [
            ("DATA", RawFrame.bytes(RawFrame.data, stream: 1, [1])),
            ("padded DATA", RawFrame.bytes(RawFrame.data, flags: RawFrame.padded, stream: 1, [1, 9, 0])),
            ("HEADERS", RawFrame.head([(":status", "200")])),
        ]
    )
    func forgives(name: String, frame: [UInt8]) {
        var meter = Self.meter()
        let pings = Array((0..<20).map { _ in Self.empty[1].1 }.joined())
        _ = Self.take(pings, into: &meter)

        _ = Self.take(frame, into: &meter)

        #expect(meter.count == 10)
        _ = Self.take(frame + frame, into: &meter)
        #expect(meter.count == 0)
    }

    @Test("wire WR-59 a second and a sent DATA frame make up for ten others; ends of streams count nothing")
    func forgivesWithTime() {
        var meter = Self.meter()
        _ = Self.take(Array((0..<50).map { _ in Self.empty[0].1 }.joined()), into: &meter)

        meter.sentData()
        #expect(meter.count == 40)
        _ = Self.take([], into: &meter, at: 1_999_999_999)
        #expect(meter.count == 30)
        _ = Self.take([], into: &meter, at: 2_000_000_000)
        #expect(meter.count == 20)
        _ = Self.take(RawFrame.reset(NGHTTP2_CANCEL), into: &meter, at: 2_000_000_000)
        let last = RawFrame.bytes(RawFrame.data, flags: RawFrame.endStream, stream: 3)
        _ = Self.take(last, into: &meter, at: 2_000_000_000)
        #expect(meter.count == 20)
    }

    @Test(
        "finding WF-4 a frame of a stream that has ended is no progress, and an end happens once",
        arguments: [
            ("DATA", RawFrame.bytes(RawFrame.data, stream: 1, [1])),
            ("the end", RawFrame.bytes(RawFrame.data, flags: RawFrame.endStream, stream: 1)),
            ("HEADERS", RawFrame.head([(":status", "200")])), ("RST_STREAM", RawFrame.reset(NGHTTP2_CANCEL)),
            ("DATA of a stream that was never opened", RawFrame.bytes(RawFrame.data, stream: 9, [1])),
        ]
    )
    func endedStreams(name: String, frame: [UInt8]) {
        var meter = Self.meter()
        _ = Self.take(RawFrame.bytes(RawFrame.data, flags: RawFrame.endStream, stream: 1, [1]), into: &meter)
        #expect(meter.count == 0)
        _ = Self.take(Array((0..<100).map { _ in frame }.joined()), into: &meter)
        #expect(meter.count == 100)
    }

    @Test(
        "finding WF-4 what is in flight when a stream is cancelled is covered by the window that was given, and no more"
    )
    func cancelled() {
        var meter = Self.meter()
        meter.ended(1, window: 64 << 10)
        let head = RawFrame.head([(":status", "200")])
        let data = RawFrame.bytes(RawFrame.data, stream: 1, Array(repeating: 0, count: 1_000))
        _ = Self.take(head + head + head, into: &meter)
        _ = Self.take(Array((0..<60).map { _ in data }.joined()), into: &meter)
        #expect(meter.count == 0)
        _ = Self.take(head, into: &meter)
        _ = Self.take(Array((0..<60).map { _ in data }.joined()), into: &meter)
        #expect(meter.count > 50)
    }

    @Test("finding WF-4 a header section of four times the limit of heads is a flood, whatever its fields are")
    func longSection() {
        var meter = FrameMeter(at: 0, headBytes: 10_000)
        meter.opened(1)
        let start = RawFrame.bytes(RawFrame.headers, stream: 1, Array(repeating: 0x82, count: 10_000))
        let more = RawFrame.bytes(RawFrame.continuation, stream: 1, Array(repeating: 0x82, count: 10_000))
        #expect(Self.take(start + more + more + more, into: &meter) == nil)
        #expect(Self.take(more, into: &meter) == 0)
    }

    @Test("finding WF-3 frames are handled as far as units last, wherever that is")
    func units() {
        let frame = RawFrame.bytes(RawFrame.data, stream: 1, [1])
        let head = RawFrame.bytes(
            RawFrame.headers,
            flags: RawFrame.endHeaders,
            stream: 3,
            Array(repeating: 0x82, count: 900)
        )
        let bytes = Array((0..<30).map { _ in frame }.joined()) + head + frame
        var meter = Self.meter()
        var position = 0
        var content = 0
        var rounds = 0
        while position < bytes.count, rounds < 100 {
            var units = 10
            let share = bytes[position...].withUnsafeBytes { meter.take($0, at: 0, units: &units) }
            #expect(share.count <= 10 * 10)
            position += share.count
            content += share.content
            rounds += 1
        }
        #expect(position == bytes.count)
        #expect(content == 31 + 900)
        #expect(rounds > 12)
    }

    @Test("gives the place before the frame that is one too many, wherever the bytes are cut")
    func splits() {
        let useful = RawFrame.bytes(RawFrame.data, flags: RawFrame.padded, stream: 1, [2, 1, 2, 3, 4, 0, 0])
        let flood = Array((0..<1_001).map { Self.empty[$0 % Self.empty.count].1 }.joined())
        let last = Self.empty[1_000 % Self.empty.count].1
        let bytes = useful + flood + useful

        let end = useful.count + flood.count - last.count
        var whole = Self.meter()
        #expect(Self.take(bytes, into: &whole) == end)

        var pieces = Self.meter()
        let place = bytes.indices.first { Self.take([bytes[$0]], into: &pieces) != nil }
        // The frame is known when its header is complete.
        #expect(place == end + 8)
    }
}
