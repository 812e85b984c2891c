/// The selected row of a list, and the rows that are visible.
struct ListCursor: Equatable {
    /// The selected row, from 0.
    private(set) var selection = 0
    /// The first visible row.
    private(set) var top = 0

    /// Moves the selection, and scrolls so that it stays visible.
    mutating func move(by distance: Int, count: Int, height: Int) {
        // The distance to an end may be as large as an integer can be.
        let (target, isBeyond) = selection.addingReportingOverflow(distance)
        selection = isBeyond ? (distance > 0 ? count : 0) : target
        fit(count: count, height: height)
    }

    /// Keeps the selection within the list and visible, after the list or the terminal has changed.
    mutating func fit(count: Int, height: Int) {
        selection = max(0, min(selection, count - 1))
        top = max(0, min(top, selection, count - height))
        if selection >= top + height { top = selection - height + 1 }
    }

    /// Whether the end of the loaded rows is near, so that the next page is worth loading.
    func isNearEnd(of count: Int, height: Int) -> Bool { top + 2 * height >= count || selection + height >= count }
}

/// A list as it is shown: its rows, and what happens to it.
struct ListView: Equatable {
    /// A row: a title, and facts that are shown where there is room.
    struct Row: Equatable {
        var title: String
        var facts = ""
    }

    /// What happens to the list.
    enum Status: Equatable {
        /// Nothing is loaded; the text says what to do.
        case hint(String)
        case loading
        case empty
        case failed(String)
        /// Rows are loaded.
        case loaded(hasMore: Bool)
        /// Other rows are being loaded, which replace the loaded ones.
        case refreshing
        /// The page after the loaded rows is being loaded.
        case loadingMore
        /// The page after the loaded rows could not be loaded.
        case moreFailed(String)
    }

    /// The number of loaded rows.
    var count: Int
    /// The visible rows.
    var rows: [Row]
    /// The position of the selected row among the visible ones.
    var selection: Int
    var status: Status
    /// The key that loads again after a failure.
    var retryKey = "r"

    /// The lines: the rows, and below them one for the status.
    func lines(in size: Size) -> [Line] {
        let height = max(0, size.rows - 1)
        switch status {
        case .hint(let text): return message([Line(text, .dim)], size)
        case .loading: return message([Line("Loading…", .dim)], size)
        case .empty: return message([Line("Nothing found.", .bold)], size)
        case .failed(let reason):
            let reasons = reason.wrapped(in: max(10, size.columns - 8)).map { Line($0, .warning) }
            return message(reasons + [Line(), Line("Press \(retryKey) to try again.", .dim)], size)
        case .loaded(let hasMore):
            return page(height, size) + [Line("  \(count) loaded\(hasMore ? "" : ", that is all")", .dim)]
        case .refreshing: return page(height, size) + [Line("  Loading…", .dim)]
        case .loadingMore: return page(height, size) + [Line("  \(count) loaded, loading more…", .dim)]
        case .moreFailed(let reason):
            // The key comes first, because a long reason is shortened.
            let line = "  Press \(retryKey) to try again: \(reason)"
            return page(height, size) + [Line(line.truncated(toColumns: size.columns), .warning)]
        }
    }

    private func page(_ height: Int, _ size: Size) -> [Line] {
        let lines = rows.prefix(height).enumerated().map { index, row in
            let isSelected = index == selection
            return Line(
                "\(isSelected ? "›" : " ") \(row.title)",
                right: row.facts,
                in: size.columns,
                isSelected ? .selected : .plain,
                rightStyle: isSelected ? .selected : .dim
            )
        }
        return lines + Array(repeating: Line(), count: max(0, height - lines.count))
    }

    /// Lines in the middle of the screen.
    private func message(_ lines: [Line], _ size: Size) -> [Line] {
        Array(repeating: Line(), count: max(0, (size.rows - lines.count) / 2))
            + lines.map { $0.centred(in: size.columns) }
    }
}
