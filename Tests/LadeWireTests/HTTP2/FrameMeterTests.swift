import CNghttp2
import Testing

@testable import LadeWire

@Suite("The count of frames that bring nothing", .timeLimit(.minutes(5)))
struct FrameMeterTests {
    private static func take(_ bytes: [UInt8], into meter: inout FrameMeter, at now: Int64 = 0) -> Int? {
        bytes.withUnsafeBytes { meter.take($0, at: now) }
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
        var meter = FrameMeter(at: 0)
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
        var meter = FrameMeter(at: 0)
        let pings = Array((0..<20).map { _ in Self.empty[1].1 }.joined())
        _ = Self.take(pings, into: &meter)

        _ = Self.take(frame, into: &meter)

        #expect(meter.count == 10)
        _ = Self.take(frame + frame, into: &meter)
        #expect(meter.count == 0)
    }

    @Test("wire WR-59 a second and a sent DATA frame make up for ten others; ends of streams count nothing")
    func forgivesWithTime() {
        var meter = FrameMeter(at: 0)
        _ = Self.take(Array((0..<50).map { _ in Self.empty[0].1 }.joined()), into: &meter)

        meter.sentData()
        #expect(meter.count == 40)
        _ = Self.take([], into: &meter, at: 1_999_999_999)
        #expect(meter.count == 30)
        _ = Self.take([], into: &meter, at: 2_000_000_000)
        #expect(meter.count == 20)
        _ = Self.take(RawFrame.reset(NGHTTP2_CANCEL), into: &meter, at: 2_000_000_000)
        let last = RawFrame.bytes(RawFrame.data, flags: RawFrame.endStream, stream: 1)
        _ = Self.take(last, into: &meter, at: 2_000_000_000)
        #expect(meter.count == 20)
    }

    @Test("gives the place before the frame that is one too many, wherever the bytes are cut")
    func splits() {
        let useful = RawFrame.bytes(RawFrame.data, flags: RawFrame.padded, stream: 1, [2, 1, 2, 3, 4, 0, 0])
        let flood = Array((0..<1_001).map { Self.empty[$0 % Self.empty.count].1 }.joined())
        let last = Self.empty[1_000 % Self.empty.count].1
        let bytes = useful + flood + useful

        let end = useful.count + flood.count - last.count
        var whole = FrameMeter(at: 0)
        #expect(Self.take(bytes, into: &whole) == end)

        var pieces = FrameMeter(at: 0)
        let place = bytes.indices.first { Self.take([bytes[$0]], into: &pieces) != nil }
        // The frame is known when its header is complete.
        #expect(place == end + 8)
    }
}
