/// Splits the command lines that the menus of browsers make for the command prompt of Windows.
///
/// They escape for two readers: the prompt, which resolves `^`, and the program's start-up code, which resolves quotes
/// and backslashes.
enum WindowsWords {
    /// Whether a line is one for the prompt of Windows: its first argument is in `^"`, or its lines end with `^`.
    static func isMade(_ line: String) -> Bool {
        let bytes = line.utf8.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D }
        let name = bytes.prefix { $0 != 0x20 }
        guard ["curl", "curl.exe"].contains(String(decoding: name, as: UTF8.self)) else { return false }
        let rest = Array(bytes.dropFirst(name.count).drop { $0 == 0x20 })
        if rest.starts(with: "^\"".utf8) { return true }
        // In a line of a POSIX shell that ends there, a caret before the line end would be a word of its own.
        guard rest.first == UInt8(ascii: "\"") else { return false }
        return zip(rest.indices, rest).contains { index, byte in
            byte == UInt8(ascii: "^") && index > 0 && rest[index - 1] == 0x20
                && rest[(index + 1)...].drop { $0 == 0x0D }.first == 0x0A
        }
    }

    /// The words of a line.
    static func words(_ line: String) throws(ShellWords.Fault) -> [[UInt8]] {
        try arguments(of: try commandLine(of: Array(line.utf8)))
    }

    /// Resolves the escapes that the prompt resolves.
    private static func commandLine(of bytes: [UInt8]) throws(ShellWords.Fault) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes.filter { $0 != 0x0D }[...]
        var isQuoted = false
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                // The prompt looks for a variable up to the next percent sign, before it resolves carets.
                let name = rest.prefix { $0 != UInt8(ascii: "%") && $0 != 0x0A }
                if rest.dropFirst(name.count).first == byte, !name.isEmpty,
                    !name.contains(UInt8(ascii: "^")), !name.contains(UInt8(ascii: "\""))
                {
                    throw .unsupported("a variable (“%”)")
                }
                result.append(byte)
            case 0x0A:
                guard rest.allSatisfy({ $0 == 0x20 || $0 == 0x0A }) else { throw .unsupported("a further command") }
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                result.append(byte)
            case _ where isQuoted: result.append(byte)
            case UInt8(ascii: "^"):
                guard var next = rest.popFirst() else { throw .unfinished }
                // A caret before a line end joins the lines, and the next character stands for itself.
                if next == 0x0A {
                    guard let after = rest.popFirst() else { continue }
                    next = after
                }
                result.append(next)
            case UInt8(ascii: "&"), UInt8(ascii: "|"): throw .unsupported("a further command")
            case UInt8(ascii: "<"), UInt8(ascii: ">"): throw .unsupported("a redirection")
            default: result.append(byte)
            }
        }
        return result
    }

    /// Resolves the escapes that the start-up code of a program resolves.
    private static func arguments(of bytes: [UInt8]) throws(ShellWords.Fault) -> [[UInt8]] {
        var words: [[UInt8]] = []
        var word: [UInt8]?
        var isQuoted = false
        var rest = bytes[...]
        while let byte = rest.first {
            switch byte {
            case 0x20 where !isQuoted, 0x09 where !isQuoted:
                rest.removeFirst()
                if let finished = word { words.append(finished) }
                word = nil
            case UInt8(ascii: "\\"):
                let slashes = rest.prefix { $0 == byte }.count
                rest = rest.dropFirst(slashes)
                let isBeforeQuote = rest.first == UInt8(ascii: "\"")
                let count = isBeforeQuote ? slashes / 2 : slashes
                word = (word ?? []) + [UInt8](repeating: byte, count: count)
                if isBeforeQuote, slashes % 2 == 1 {
                    word?.append(UInt8(ascii: "\""))
                    rest.removeFirst()
                }
            case UInt8(ascii: "\""):
                rest.removeFirst()
                word = word ?? []
                if isQuoted, rest.first == byte {
                    word?.append(byte)
                    rest.removeFirst()
                } else {
                    isQuoted.toggle()
                }
            default:
                word = (word ?? []) + [byte]
                rest.removeFirst()
            }
        }
        guard !isQuoted else { throw .unfinished }
        if let finished = word { words.append(finished) }
        return words
    }
}
