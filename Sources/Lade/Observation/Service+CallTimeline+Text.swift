import LadeCore

extension Service.CallTimeline: CustomStringConvertible {
    /// A table of the rows: start, duration, a bar that shows the share of the call's time, and description; then the
    /// sum of each stage.
    ///
    /// Times are in milliseconds with one decimal. A shown duration is the difference between the shown start and end,
    /// so that the column adds up exactly to the last line.
    public var description: String {
        "\(heading)\(table(rows))\n\(sums)"
    }

    /// The table with the sums first, and without rows below a share of the call's time.
    ///
    /// - Parameter share: The least share of a row that is shown; 0 for all rows. Events, which have no duration, are
    ///   always shown.
    /// - Returns: The text, and the number of rows that it leaves out.
    package func summary(from share: Double) -> (text: String, hidden: Int) {
        let whole = elapsed.inSeconds
        let shown = rows.filter { $0.stage == nil || $0.duration.inSeconds >= whole * share }
        return ("\(heading)\(sums)\n\(table(shown))", rows.count - shown.count)
    }

    private var heading: String { title.isEmpty ? "" : "\(Self.shown(title))\n\n" }

    private func table(_ rows: [Row]) -> String {
        "  at/ms   took/ms\n" + rows.map(line).joined()
    }

    private var sums: String {
        var text = "took/ms   share\n"
        let whole = Self.tenths(elapsed)
        for (stage, tenths) in shownTotals {
            let share = whole == 0 ? 0 : (tenths * 100 + whole / 2) / whole
            text += "\(Self.padded(tenths))   \(Self.padded("\(share)", to: 3)) %  \(Self.shown("\(stage)"))\n"
        }
        return text + "\(Self.padded(whole))   100 %  in all\n"
    }

    private static let barWidth = 20

    private func line(_ row: Row) -> String {
        let at = Self.tenths(row.start)
        let words = Self.shown(row.text)
        guard row.stage != nil else {
            let room = String(repeating: " ", count: 10 + Self.barWidth + 4)
            return "\(Self.padded(at))\(room)\(words)\n"
        }
        let took = Self.shownDuration(row)
        return "\(Self.padded(at))\(Self.padded(took, to: 10))  \(bar(row))  \(words)\n"
    }

    /// The part of the call's time that the row covers, at least one cell wide.
    private func bar(_ row: Row) -> String {
        let whole = max(elapsed.inSeconds, 1e-9)
        let first = min(Int(row.start.inSeconds / whole * Double(Self.barWidth)), Self.barWidth - 1)
        let end = Int(((row.start + row.duration).inSeconds / whole * Double(Self.barWidth)).rounded(.up))
        let count = min(max(end - first, 1), Self.barWidth - first)
        return String(repeating: "·", count: first) + String(repeating: "█", count: count)
            + String(repeating: "·", count: Self.barWidth - first - count)
    }

    /// The totals in tenths of a millisecond, summed from the shown durations so that both columns have the same sum.
    private var shownTotals: [(Stage, Int64)] {
        totals.map { stage, _ in
            (stage, rows.reduce(0) { $1.stage == stage ? $0 + Self.shownDuration($1) : $0 })
        }
    }

    private static func shownDuration(_ row: Row) -> Int64 {
        tenths(row.start + row.duration) - tenths(row.start)
    }

    private static func tenths(_ duration: Duration) -> Int64 {
        (duration.wholeNanoseconds + 50_000) / 100_000
    }

    private static func padded(_ tenths: Int64, to width: Int = 7) -> String {
        padded("\(tenths / 10).\(tenths % 10)", to: width)
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Replaces control characters: a text from a server must not add lines or control the terminal.
    private static func shown(_ text: String) -> String { text.escapedForDisplay(limit: 400) }
}
