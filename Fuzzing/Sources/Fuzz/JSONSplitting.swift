import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Target {
    /// A document whole, and in pieces whose sizes its own bytes give.
    static let jsonSplitter = Target(name: "json-splitter") { bytes in
        var settings = JSONSplitter.Settings(
            list: bytes.first == 0x5B ? [] : ["a"],
            values: [["b"], ["a", "0"]],
            identity: ["c"]
        )
        settings.nestingLimit = 20
        settings.itemLimit = 100
        settings.valueLimit = 50
        let whole = split(bytes, settings) { _ in bytes.count }
        let pieces = split(bytes, settings) { Int(bytes[$0] & 7) + 1 }
        // A limit may be noticed earlier when a piece ends within what is too large.
        if whole.isAccepted, pieces.isAccepted { expect(whole == pieces, "\(whole) and in pieces \(pieces)") }
        guard whole.isAccepted else { return }
        expect(whole.lines.filter { $0 == 0x0A }.count == whole.count, "a line is no item")
        // What was cut is itself a document with the same items.
        let lines = whole.lines.split(separator: 0x0A)
        let joined = [0x5B] + lines.joined(separator: [0x2C]) + [0x5D]
        settings.list = []
        let again = split(joined, settings) { _ in joined.count }
        expect(again.isAccepted && again.lines == whole.lines, "the lines are not what they are made of")
    }

    private struct Outcome: Equatable {
        var lines: [UInt8] = []
        var count = 0
        var isAccepted = true
        var values: [JSONSplitter.Scalar?] = []
    }

    private static func split(
        _ bytes: [UInt8],
        _ settings: JSONSplitter.Settings,
        _ size: (Int) -> Int
    ) -> Outcome {
        var splitter = JSONSplitter(settings)
        var outcome = Outcome()
        do throws(JSONError) {
            var offset = 0
            while offset < bytes.count {
                let end = min(bytes.count, offset + max(size(offset), 1))
                try splitter.consume(Data(bytes[offset..<end]))
                outcome.lines += splitter.takeLines()
                offset = end
            }
            try splitter.finish()
        } catch {
            outcome.isAccepted = false
        }
        outcome.count = splitter.itemCount
        outcome.values = [splitter.value(at: 0), splitter.value(at: 1)]
        return outcome
    }
}
