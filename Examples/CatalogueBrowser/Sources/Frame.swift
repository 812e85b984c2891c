/// The size of the terminal in characters.
struct Size: Equatable {
    var columns: Int
    var rows: Int
}

/// A line of the screen: texts in styles.
struct Line: Equatable {
    /// The look of a text.
    enum Style: String {
        case plain = "0"
        case bold = "1"
        case dim = "2"
        case selected = "7"
        case title = "1;7"
        case warning = "31"
    }

    private(set) var parts: [(text: String, style: Style)]

    init(_ text: String = "", _ style: Style = .plain) {
        parts = [(text, style)]
    }

    /// A line with a text on each side, the right one only where there is room for it.
    init(_ left: String, right: String, in columns: Int, _ style: Style = .plain, rightStyle: Style? = nil) {
        let room = columns - right.columnCount - 2
        guard !right.isEmpty, room >= min(left.columnCount, 20) else {
            parts = [(left.truncated(toColumns: columns).padded(toColumns: columns), style)]
            return
        }
        parts = [
            (left.truncated(toColumns: room).padded(toColumns: room) + "  ", style), (right, rightStyle ?? style),
        ]
    }

    /// The text without styles.
    var text: String { parts.map(\.text).joined() }

    /// The text with the control sequences of the styles.
    var encoded: String {
        parts.map { $0.style == .plain ? $0.text : "\u{1B}[\($0.style.rawValue)m\($0.text)\u{1B}[0m" }.joined()
    }

    /// The line in the middle of a number of columns.
    func centred(in columns: Int) -> Line {
        var line = self
        line.parts.insert((String(repeating: " ", count: max(0, (columns - text.columnCount) / 2)), .plain), at: 0)
        return line
    }

    static func == (lhs: Line, rhs: Line) -> Bool { lhs.encoded == rhs.encoded }
}

/// Everything that the terminal shows, as lines.
struct Frame: Equatable {
    let size: Size
    /// As many lines as the terminal has rows.
    let lines: [Line]

    /// Makes a frame; missing lines are empty, and further ones are not shown.
    init(_ size: Size, _ lines: [Line]) {
        self.size = size
        self.lines = Array((lines + Array(repeating: Line(), count: max(0, size.rows - lines.count))).prefix(size.rows))
    }

    /// The control sequences that turn another frame into this one.
    ///
    /// Only the lines that differ are written, so that the terminal does not flicker.
    func changes(from old: Frame?) -> String {
        let isNew = old?.size != size
        var result = isNew ? "\u{1B}[2J" : ""
        for (index, line) in lines.enumerated() where isNew || old?.lines[index] != line {
            result += "\u{1B}[\(index + 1);1H\(line.encoded)\u{1B}[K"
        }
        return result
    }
}

extension String {
    /// The text without characters that control the terminal or the direction of writing; those are shown as `·`.
    ///
    /// Every text of a server passes through this before it is shown.
    var shown: String {
        var result = ""
        for scalar in unicodeScalars {
            let isDirection =
                (0x200E...0x200F).contains(scalar.value) || scalar.value == 0x061C
                || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            let isControl = scalar.properties.generalCategory == .control
            result.unicodeScalars.append(isControl || isDirection ? "·" : scalar)
        }
        return result
    }

    /// The text in lines of at most a number of columns, divided at spaces where there are some.
    func wrapped(in columns: Int) -> [String] {
        guard columns > 0 else { return [] }
        var lines: [String] = []
        var line = ""
        for word in split(separator: " ").map(String.init) {
            var word = word
            if line.columnCount + word.columnCount + 1 > columns, !line.isEmpty {
                lines.append(line)
                line = ""
            }
            // A word that is longer than a line is divided.
            while word.columnCount > columns {
                var (piece, width) = ("", 0)
                while let next = word.first, width + next.columnCount <= max(columns, next.columnCount) {
                    piece.append(word.removeFirst())
                    width += next.columnCount
                }
                lines.append(piece)
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
