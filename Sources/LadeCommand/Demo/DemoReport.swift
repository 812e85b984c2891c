import Lade
import LadeHarvest

/// The report at the end of a demonstration.
struct DemoReport: Sendable {
    var summary: Harvest.Summary
    var time: Duration
    var counts: DemoTally.Counts
    /// How many requests the catalogue received.
    var requests: Int
    var path: String

    /// The lines of the report, without the result of the comparison.
    var text: String {
        var text = "\nHarvested  \(summary.items) medias in \(summary.pages) pages, "
        text += "\(ProgressLine.bytes(summary.bytes)), in \(time.shortText), with \(requests) requests\n"
        text += Self.lines("Met", counts.faults.map { "\($0.count) × \($0.kind)" })
        text += Self.lines(
            "Did",
            [
                Self.counted(counts.retries, "retry", "retries"), Self.counted(counts.refreshes, "token", "tokens"),
                Self.counted(
                    counts.replays,
                    "request sent again with a new token",
                    "requests sent again with a new token"
                ),
            ]
        )
        text += Self.lines(
            "Waited",
            counts.waits.map { "\($0.time.shortText) \($0.kind) (\(Self.counted($0.count, "time", "times")))" }
        )
        if summary.duplicates > 0 || (summary.missing ?? 0) > 0 {
            text += "But        \(summary.duplicates) came twice, \(summary.missing ?? 0) never came\n"
        }
        return text + "Output     \(path.escapedForDisplay(limit: 1_000))\n"
    }

    private static func counted(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }

    /// A heading and its entries, two on each line.
    private static func lines(_ heading: String, _ parts: [String]) -> String {
        guard !parts.isEmpty else { return "" }
        var text = ""
        for (index, part) in parts.enumerated() where index % 2 == 0 {
            let second = index + 1 < parts.count ? ", " + parts[index + 1] : ""
            text += (index == 0 ? heading : "").rightPadded(to: 11) + part + second + "\n"
        }
        return text
    }
}
