import Lade

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

    private(set) var columns: [Column]
    /// The cells of each row, as they are shown.
    private(set) var rows: [[String]] = []

    /// A flexible column is not made narrower than this.
    static let leastWidth = 8
    /// No column is wider on a terminal.
    static let mostWidth = 200
    /// The longest text of a cell in scalars, also in a pipe; it is cut before it is measured.
    static let cellLimit = 1_000
    private static let gap = 2

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - columns: The columns.
    ///   - rows: The texts of each row. They may come from a server: a cell cannot add a line or a column, or control
    ///     the terminal, and a long one is cut.
    init(columns: [Column], rows: some Sequence<[String]> = []) {
        self.columns = columns
        self.rows = rows.map { $0.map { $0.escapedForDisplay(limit: Self.cellLimit) } }
    }

    /// Removes a column.
    mutating func removeColumn(_ index: Int) {
        columns.remove(at: index)
        for row in rows.indices { rows[row].remove(at: index) }
    }

    /// The width of each column on a terminal with a number of columns.
    ///
    /// The widest flexible columns are made narrower until the table fits, or cannot become narrower.
    func widths(in limit: Int) -> [Int] {
        var widths = columns.indices.map { index in
            let widest = rows.reduce(columns[index].title.columnCount) { max($0, $1[index].columnCount) }
            return min(widest, Self.mostWidth)
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
            let most = columns[index].isFlexible ? widths[index] : Self.mostWidth
            let cell = cells[index].truncated(toColumns: most)
            if isLast, !columns[index].isNumeric { return cell }
            return cell.padded(toColumns: widths[index], atFront: columns[index].isNumeric)
        }
        let line = parts.joined(separator: String(repeating: " ", count: Self.gap))
        var scalars = line.unicodeScalars[...]
        while scalars.last == " " { scalars.removeLast() }
        return String(scalars)
    }
}
