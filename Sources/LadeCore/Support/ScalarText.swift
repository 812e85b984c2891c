// Reading text of others by Unicode scalars.
//
// A `Character` joins CR LF, and a delimiter with the combining marks that follow it. So a search for the delimiter as
// a `Character` misses it. Every parser of text splits and searches with these functions, or reads bytes.

extension StringProtocol where SubSequence == Substring {
    /// The parts between the separators.
    ///
    /// - Parameters:
    ///   - separator: The scalar between the parts.
    ///   - most: The largest number of parts; the last one contains further separators.
    ///   - omitsEmpty: Whether empty parts are left out.
    /// - Returns: The parts.
    package func parts(at separator: Unicode.Scalar, most: Int = .max, omitsEmpty: Bool = false) -> [Substring] {
        self[...].unicodeScalars
            .split(separator: separator, maxSplits: most - 1, omittingEmptySubsequences: omitsEmpty)
            .map { Substring($0) }
    }

    /// The texts before and after the first separator; nil without one.
    package func cut(at separator: Unicode.Scalar) -> (before: Substring, after: Substring)? {
        let scalars = self[...].unicodeScalars
        guard let place = scalars.firstIndex(of: separator) else { return nil }
        return (self[..<place], Substring(scalars[scalars.index(after: place)...]))
    }

    /// The texts before and after the last separator; nil without one.
    package func cut(atLast separator: Unicode.Scalar) -> (before: Substring, after: Substring)? {
        let scalars = self[...].unicodeScalars
        guard let place = scalars.lastIndex(of: separator) else { return nil }
        return (self[..<place], Substring(scalars[scalars.index(after: place)...]))
    }

    /// The texts before and after the first occurrence of a text; nil without one.
    package func cut(at text: String) -> (before: Substring, after: Substring)? {
        guard let range = self[...].utf8.firstRange(of: text.utf8) else { return nil }
        return (self[..<range.lowerBound], self[range.upperBound...])
    }

    /// The text before the first scalar that ends it, and the rest, which begins with that scalar.
    package func halves(before isEnd: (Unicode.Scalar) -> Bool) -> (text: Substring, rest: Substring) {
        let text = Substring(self[...].unicodeScalars.prefix { !isEnd($0) })
        return (text, self[text.endIndex...])
    }

    /// Whether the text has a scalar.
    package func has(_ scalar: Unicode.Scalar) -> Bool { unicodeScalars.contains(scalar) }

    /// Whether the text has the same bytes as another; `==` also finds canonically equivalent texts equal.
    package func hasBytes(of other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the text begins with the bytes of another.
    package func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the text ends with the bytes of another.
    package func ends(with suffix: String) -> Bool { utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }

    /// The text without this prefix; nil when it begins otherwise.
    package func behind(_ prefix: String) -> Substring? {
        begins(with: prefix) ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
    }

    /// The text without spaces, tabs and line ends of ASCII at both ends.
    package var trimmedOfSpace: Substring {
        var scalars = self[...].unicodeScalars
        while scalars.first?.isSpace == true { scalars.removeFirst() }
        while scalars.last?.isSpace == true { scalars.removeLast() }
        return Substring(scalars)
    }

    /// The text with each occurrence of a scalar replaced.
    package func replacingEach(_ scalar: Unicode.Scalar, with text: String) -> String {
        var result = ""
        for other in unicodeScalars {
            if other == scalar { result += text } else { result.unicodeScalars.append(other) }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether this is white space of ASCII: space, tab, LF, VT, FF or CR.
    package var isSpace: Bool { value == 0x20 || (0x09...0x0D).contains(value) }
}

/// The lines of a text file, read by bytes.
///
/// A line ends with LF or CR LF. A byte order mark at the beginning of the file is not part of the first line.
package struct TextLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    /// Reads the lines of a file.
    package init(_ bytes: some Sequence<UInt8>) {
        rest = Array(bytes)[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    }

    /// The next line, without its end; an empty one after the last line end is left out.
    package mutating func next() -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        var line = rest.prefix { $0 != 0x0A }
        rest = rest[line.endIndex...].dropFirst()
        if line.last == 0x0D { line.removeLast() }
        return line
    }
}
