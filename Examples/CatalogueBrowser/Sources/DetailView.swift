/// A media as it is shown: its texts and facts, and its streams once they are loaded.
struct DetailView: Equatable {
    /// The streams and parts of the media.
    enum Playback: Equatable {
        case loading
        case failed(String)
        case loaded(streams: [String], parts: [String])
    }

    var title: String
    /// Names and values, such as the date.
    var facts: [(name: String, value: String)]
    /// Paragraphs.
    var texts: [String]
    var playback: Playback

    /// All lines, which may be more than fit on the screen.
    func lines(in columns: Int) -> [Line] {
        let width = max(10, columns - 4)
        var lines = [Line()] + title.wrapped(in: width).map { Line("  " + $0, .bold) } + [Line()]
        let column = facts.reduce(0) { max($0, $1.name.columnCount) }
        lines += facts.map { name, value in
            Line("  \(name.padded(toColumns: column))  \(value)".truncated(toColumns: columns))
        }
        for text in texts { lines += [Line()] + text.wrapped(in: width).map { Line("  " + $0) } }
        return lines + [Line()] + playbackLines(width)
    }

    private func playbackLines(_ width: Int) -> [Line] {
        switch playback {
        case .loading: return [Line("  Loading the streams…", .dim)]
        case .failed(let reason):
            return reason.wrapped(in: width).map { Line("  " + $0, .warning) }
                + [Line(), Line("  Press r to try again.", .dim)]
        case .loaded(let streams, let parts):
            return section("Parts", parts, width) + section("Streams", streams, width)
        }
    }

    private func section(_ title: String, _ items: [String], _ width: Int) -> [Line] {
        guard !items.isEmpty else { return title == "Streams" ? [Line("  There is no stream.", .dim)] : [] }
        return [Line("  " + title, .bold)] + items.map { Line("    " + $0.truncated(toColumns: width - 2)) } + [Line()]
    }

    static func == (lhs: DetailView, rhs: DetailView) -> Bool {
        lhs.title == rhs.title && lhs.texts == rhs.texts && lhs.playback == rhs.playback
            && lhs.facts.elementsEqual(rhs.facts) { $0 == $1 }
    }
}
