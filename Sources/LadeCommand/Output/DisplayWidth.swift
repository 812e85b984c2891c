// The widths of texts on a terminal, where some characters take two columns and some take none.

extension Character {
    /// The number of columns that the character takes: 2 for East Asian wide characters and emoji, 0 for a mark without
    /// a base.
    var columnCount: Int {
        if isASCII { return 1 }
        // A sequence of scalars is drawn as one glyph, which is as wide as its widest part.
        let widest = unicodeScalars.reduce(0) { max($0, $1.columnCount) }
        // U+FE0F selects the form of an emoji with colours, which takes two columns.
        return unicodeScalars.dropFirst().first == "\u{FE0F}" ? 2 : widest
    }
}

extension Unicode.Scalar {
    fileprivate var columnCount: Int {
        if Self.wide.contains(where: { $0.contains(value) }) || properties.isEmojiPresentation { return 2 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return properties.isDefaultIgnorableCodePoint ? 0 : 1
        }
    }

    /// The blocks whose characters are wide or full width (UAX #11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]
}

extension String {
    /// The number of columns that the text takes on a terminal.
    var columnCount: Int { reduce(0) { $0 + $1.columnCount } }

    /// The text in at most a number of columns; a shortened text ends with an ellipsis.
    func truncated(toColumns limit: Int) -> String {
        guard columnCount > limit else { return self }
        var (result, columns) = ("", 0)
        for character in self {
            // The ellipsis takes the last column.
            guard columns + character.columnCount < limit else { break }
            result.append(character)
            columns += character.columnCount
        }
        return limit > 0 ? result + "…" : ""
    }

    /// The text followed by spaces, or preceded by them, up to a number of columns.
    func padded(toColumns count: Int, atFront: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, count - columnCount))
        return atFront ? spaces + self : self + spaces
    }
}
