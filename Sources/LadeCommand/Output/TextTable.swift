/// A table of texts for a terminal, or for a pipe with a tab between the columns.
struct TextTable: Equatable {
    /// A column of the table.
    struct Column: Equatable {
        var title: String
        /// Whether the values are aligned at their end, as numbers are.
        var isNumeric = false
        /// Whether values are shortened when the terminal is too narrow.
        var isFlexible = false
    }

    var columns: [Column]
    var rows: [[String]] = []

    /// A flexible column is not made narrower than this.
    static let leastWidth = 8
    private static let gap = 2

    /// The width of each column on a terminal with a number of columns.
    ///
    /// The widest flexible columns are made narrower until the table fits, or cannot become narrower.
    func widths(in limit: Int) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(columns[index].title.columnCount) { max($0, $1[index].columnCount) }
        }
        let flexible = columns.indices.filter { columns[$0].isFlexible }
        while widths.reduce(Self.gap * (columns.count - 1), +) > limit {
            guard let widest = flexible.max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.leastWidth else {
                break
            }
            widths[widest] -= 1
        }
        return widths
    }

    /// The line with the titles.
    func heading(_ widths: [Int]) -> String { line(columns.map(\.title), widths) }

    /// The lines of the rows.
    func lines(_ widths: [Int]) -> [String] { rows.map { line($0, widths) } }

    /// The rows with a tab between the values, whole and without titles.
    var tabSeparated: String {
        rows.map { $0.joined(separator: "\t") + "\n" }.joined()
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let parts = columns.indices.map { index -> String in
            let isLast = index == columns.count - 1
            let cell = columns[index].isFlexible ? cells[index].truncated(toColumns: widths[index]) : cells[index]
            if isLast, !columns[index].isNumeric { return cell }
            return cell.padded(toColumns: widths[index], atFront: columns[index].isNumeric)
        }
        let line = parts.joined(separator: String(repeating: " ", count: Self.gap))
        return String(line.reversed().drop { $0 == " " }.reversed())
    }
}
