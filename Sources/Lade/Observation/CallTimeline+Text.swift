import LadeCore

extension CallTimeline: CustomStringConvertible {
    /// A table for people: when, how long, a bar in the whole of the time, and what; then the sum of each stage.
    ///
    /// Times are in milliseconds with a tenth. Each shown duration is the difference of the two shown times it lies
    /// between, so that the column adds up to the last line exactly.
    public var description: String {
        "\(heading)\(table(rows))\n\(sums)"
    }

    /// The same with the sums before the table, and without the rows that took a smaller share of the whole.
    ///
    /// - Parameter share: The least share of a row that is shown; 0 for all rows. Rows that took no time by their nature, as
    ///   an answer, are always shown.
    /// - Returns: The text, and how many rows it leaves out.
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

    /// Where in the time of the call the row lies; at least one cell of it.
    private func bar(_ row: Row) -> String {
        let whole = max(elapsed.inSeconds, 1e-9)
        let first = min(Int(row.start.inSeconds / whole * Double(Self.barWidth)), Self.barWidth - 1)
        let end = Int(((row.start + row.duration).inSeconds / whole * Double(Self.barWidth)).rounded(.up))
        let count = min(max(end - first, 1), Self.barWidth - first)
        return String(repeating: "·", count: first) + String(repeating: "█", count: count)
            + String(repeating: "·", count: Self.barWidth - first - count)
    }

    /// The totals in tenths of milliseconds as the rows show them, so that both columns have one sum.
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

    /// A text of a server or of a lower layer cannot make lines of its own, nor control a terminal.
    private static func shown(_ text: String) -> String { text.escapedForDisplay(limit: 400) }
}
