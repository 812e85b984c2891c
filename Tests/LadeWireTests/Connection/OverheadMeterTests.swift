import Testing

@testable import LadeWire

@Suite("The overhead of a peer in proportion to its content", .timeLimit(.minutes(5)))
struct OverheadMeterTests {
    private static let second: Int64 = 1_000_000_000

    @Test(
        "finding WF-5 content pays for three times as many bytes, and 4 MiB that nothing pays for are a fault",
        arguments: [
            ("a body in large chunks", 8, 4_096, nil), ("events of twelve bytes in chunks and records", 30, 12, nil),
            ("chunks of two bytes", 5, 2, nil), ("chunks of one byte", 5, 1, OverheadMeter.Kind.framing),
            ("frames of padding", 210, 1, .framing),
        ] as [(String, Int, Int, OverheadMeter.Kind?)]
    )
    func proportion(name: String, overhead: Int, content: Int, fault: OverheadMeter.Kind?) {
        var meter = OverheadMeter(at: 0)
        var found: OverheadMeter.Kind?
        for _ in 0..<3_000_000 where found == nil {
            meter.add(overhead + content, .framing)
            meter.content(content)
            found = meter.fault(at: 0)
        }
        #expect(found == fault || (fault == nil && overhead > 3 * content))
    }

    @Test("finding WF-5 a body of 100 KB in chunks of one byte, each in a record of TLS, is no fault")
    func slowWriter() {
        var meter = OverheadMeter(at: 0)
        for _ in 0..<100_000 {
            meter.add(28, .records)
            meter.add(-6, .records)
            meter.add(6, .framing)
            meter.content(1)
        }
        #expect(meter.fault(at: 0) == nil)
    }

    @Test("finding WF-3 a key update for each 64 KiB of content is no fault, and thirty without content are one")
    func keyUpdates() {
        var meter = OverheadMeter(at: 0)
        for _ in 0..<1_000 {
            meter.add(OverheadMeter.keyUpdate, .keyUpdates)
            meter.add(64 << 10, .framing)
            meter.content(64 << 10)
        }
        #expect(meter.fault(at: 0) == nil)
        for _ in 0..<30 { meter.add(OverheadMeter.keyUpdate, .keyUpdates) }
        #expect(meter.fault(at: 0) == .keyUpdates)
    }

    @Test("finding WF-3 time pays, so that single bytes may come for hours")
    func time() {
        var meter = OverheadMeter(at: 0)
        // A thousand records of one byte a second, for an hour.
        for second in 0..<3_600 {
            meter.add(23_000, .records)
            meter.content(1_000)
            #expect(meter.fault(at: Int64(second) * Self.second) == nil)
        }
        meter.add(100 << 20, .records)
        #expect(meter.fault(at: 3_600 * Self.second) == .records)
    }

    @Test("finding WF-5 what was read and not looked at is no debt, and 256 KiB that nothing pays for are")
    func debt() {
        var meter = OverheadMeter(at: 0)
        for _ in 0..<1_000 {
            // Ciphertext, its content, and frames that wait for the next turn.
            meter.add(68_000, .records)
            meter.add(-65_536, .records)
            meter.add(65_536, .framing)
            meter.add(68_000, .records)
            #expect(!meter.isInDebt)
            meter.add(-65_536, .records)
            meter.add(65_536, .framing)
            meter.content(2 * 65_000)
            #expect(!meter.isInDebt)
        }
        meter.add(256 << 10, .framing)
        #expect(!meter.isInDebt)
        meter.add(1, .framing)
        #expect(meter.isInDebt)
        meter.content(1)
        #expect(!meter.isInDebt)
    }
}
