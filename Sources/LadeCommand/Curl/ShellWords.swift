import Lade

/// Splits and quotes words by the rules of a POSIX shell.
enum ShellWords {
    /// Splits a line into words and resolves quotes and escapes; nil when a quote is not closed.
    static func words(_ line: String) -> [(text: String, isQuoted: Bool)]? {
        var words: [(text: String, isQuoted: Bool)] = []
        var word: (text: String, isQuoted: Bool)?
        var rest = line[...]
        while let character = rest.popFirst() {
            switch character {
            case _ where character.isWhitespace:
                if let finished = word { words.append(finished) }
                word = nil
            case "'":
                guard let end = rest.firstIndex(of: "'") else { return nil }
                word = ((word?.text ?? "") + rest[..<end], true)
                rest = rest[end...].dropFirst()
            case "\"":
                guard let text = doubleQuoted(&rest) else { return nil }
                word = ((word?.text ?? "") + text, true)
            case "$" where rest.first == "'":
                rest.removeFirst()
                guard let text = ansiQuoted(&rest) else { return nil }
                word = ((word?.text ?? "") + text, true)
            case "\\":
                guard let next = rest.popFirst() else { return nil }
                // A backslash before a line end continues the line.
                if !next.isNewline { word = ((word?.text ?? "") + String(next), true) }
            default: word = ((word?.text ?? "") + String(character), word?.isQuoted ?? false)
            }
        }
        if let finished = word { words.append(finished) }
        return words
    }

    private static func doubleQuoted(_ rest: inout Substring) -> String? {
        var text = ""
        while let character = rest.popFirst() {
            if character == "\"" { return text }
            guard character == "\\", let next = rest.first else {
                text.append(character)
                continue
            }
            if next.isNewline {
                rest.removeFirst()
            } else if "$`\"\\".contains(next) {
                text.append(next)
                rest.removeFirst()
            } else {
                text.append(character)
            }
        }
        return nil
    }

    private static func ansiQuoted(_ rest: inout Substring) -> String? {
        let plain: [Character: Character] = [
            "n": "\n", "r": "\r", "t": "\t", "a": "\u{7}", "b": "\u{8}", "e": "\u{1B}",
        ]
        var bytes: [UInt8] = []
        while let character = rest.popFirst() {
            if character == "'" { return String(validating: bytes, as: UTF8.self) }
            guard character == "\\", let next = rest.popFirst() else {
                bytes += Array(String(character).utf8)
                continue
            }
            let widest = ["x": 2, "u": 4, "U": 8][next]
            if let widest {
                let digits = rest.prefix(widest).prefix { $0.isHexDigit }
                guard let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number) else { return nil }
                bytes += next == "x" ? [UInt8(number)] : Array(String(scalar).utf8)
                rest = rest.dropFirst(digits.count)
            } else {
                bytes += Array(String(plain[next] ?? next).utf8)
            }
        }
        return nil
    }

    /// Quotes a text as one word, in printable characters only.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "._-/:=@%+,".utf8.contains(byte)
        }
        if isPlain, !text.isEmpty { return text }
        guard text.unicodeScalars.contains(where: \.rewritesDisplay) else {
            return "'" + text.replacing("'", with: "'\\''") + "'"
        }
        var result = "$'"
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" {
                result += "\\\(scalar)"
            } else if scalar.rewritesDisplay {
                for byte in String(scalar).utf8 {
                    result += "\\x" + String(byte, radix: 16).leftPadded(to: 2).replacing(" ", with: "0")
                }
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "'"
    }
}
