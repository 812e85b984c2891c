import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Splits one simple command into words by the rules of a POSIX shell, with the `$'…'` of bash, and quotes words.
///
/// All other work of a shell on a line is a ``Fault``: variables, substitutions, further commands, redirections. There, the
/// words would not be those that the shell passes to the program.
enum ShellWords {
    /// Why a line is not a list of words.
    enum Fault: Error, Equatable {
        /// A quote or an escape has no end.
        case unfinished
        /// A construct of the shell that is not carried out.
        case unsupported(String)
    }

    /// Splits a line into words and resolves quotes and escapes; the words are bytes, which need not be text.
    static func words(_ line: String) throws(Fault) -> [[UInt8]] {
        var reader = ShellReader(Array(line.utf8))
        return try reader.readWords()
    }

    /// Quotes a text as one word of a POSIX shell, in printable characters and line ends only.
    static func quoted(_ text: String) -> String { quoted(text.utf8) }

    /// Quotes bytes as one word of a POSIX shell.
    ///
    /// Bytes that a terminal must not receive, and bytes that are not UTF-8, are written as octal numbers for `printf`. Every
    /// shell has `printf`; only some know `$'…'`.
    static func quoted(_ bytes: some Collection<UInt8>) -> String {
        guard !bytes.isEmpty, bytes.allSatisfy(\.isPlainInShell) else { return quotedPieces(Array(bytes)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func quotedPieces(_ bytes: [UInt8]) -> String {
        guard !bytes.isEmpty else { return "''" }
        var (result, open) = ("", Kind.none)
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "'") {
                result += open.end + "\\'"
                open = .none
                rest.removeFirst()
                continue
            }
            let scalar = firstScalar(of: rest)
            let kind = scalar.map { $0.rewritesDisplay && $0 != "\n" } ?? true ? Kind.octal : .quoted
            if kind != open { result += open.end + kind.start }
            open = kind
            let piece = rest.prefix(scalar.map { UTF8.width($0) } ?? 1)
            rest = rest.dropFirst(piece.count)
            if kind == .quoted {
                result += String(decoding: piece, as: UTF8.self)
            } else {
                for byte in piece { result += "\\" + String(Int(byte) + 0o1000, radix: 8).dropFirst() }
            }
        }
        return result + open.end
    }

    private enum Kind {
        case none
        case quoted
        case octal

        var start: String {
            switch self {
            case .none: ""
            case .quoted: "'"
            case .octal: ShellReader.octalStart
            }
        }

        var end: String {
            switch self {
            case .none: ""
            case .quoted: "'"
            case .octal: ShellReader.octalEnd
            }
        }
    }

    private static func firstScalar(of bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        var iterator = bytes.prefix(4).makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return scalar
    }
}

/// Reads the words of one simple command.
private struct ShellReader {
    /// The text that ``ShellWords/quoted(_:)-(String)`` writes around octal numbers.
    ///
    /// It is the one substitution that is read, because it runs no program of others.
    static let octalStart = "\"$(printf '"
    static let octalEnd = "')\""

    private var rest: ArraySlice<UInt8>
    private var words: [[UInt8]] = []
    private var word: [UInt8]?
    /// The word as a pattern of file names; quoted characters are escaped.
    private var pattern: [UInt8] = []
    private var isPattern = false
    /// The unquoted characters of the word that could be a brace expansion.
    private var braces: [UInt8] = []

    init(_ line: [UInt8]) { rest = line[...] }

    mutating func readWords() throws(ShellWords.Fault) -> [[UInt8]] {
        // A NUL cannot be part of a line.
        guard !rest.contains(0) else { throw .unsupported("a NUL character") }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"): try endWord()
            case UInt8(ascii: "\n"), UInt8(ascii: ";"):
                try endWord()
                guard words.isEmpty || isAtEnd else { throw .unsupported("a further command") }
                guard byte == UInt8(ascii: "\n") || !words.isEmpty else { throw .unsupported("“;”") }
            case UInt8(ascii: "&"), UInt8(ascii: "|"), UInt8(ascii: "("), UInt8(ascii: ")"):
                throw .unsupported("“\(Unicode.Scalar(byte))” (a further command)")
            case UInt8(ascii: "<"), UInt8(ascii: ">"):
                throw .unsupported("“\(Unicode.Scalar(byte))” (a redirection)")
            case UInt8(ascii: "`"): throw .unsupported("“`” (a substitution)")
            case UInt8(ascii: "#") where word == nil:
                while let next = rest.first, next != UInt8(ascii: "\n") { rest.removeFirst() }
            case UInt8(ascii: "'"):
                guard let end = rest.firstIndex(of: byte) else { throw .unfinished }
                addQuoted(rest[..<end])
                rest = rest[(end + 1)...]
            case UInt8(ascii: "\""): addQuoted(try doubleQuoted())
            case UInt8(ascii: "$"): try readDollar()
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else { throw .unfinished }
                // A backslash before a line end continues the line.
                if next != UInt8(ascii: "\n") { addQuoted([next]) }
            case UInt8(ascii: "~") where word == nil: try readTilde()
            default: addPlain(byte)
            }
        }
        try endWord()
        return words
    }

    /// Whether only blanks, line ends and comments follow.
    private var isAtEnd: Bool {
        var isComment = false
        for byte in rest {
            switch byte {
            case UInt8(ascii: "\n"): isComment = false
            case UInt8(ascii: " "), UInt8(ascii: "\t"): break
            case UInt8(ascii: "#"): isComment = true
            default: if !isComment { return false }
            }
        }
        return true
    }

    private mutating func addQuoted(_ bytes: some Sequence<UInt8>) {
        var all = word ?? []
        for byte in bytes {
            all.append(byte)
            pattern += [UInt8(ascii: "\\"), byte]
        }
        word = all
    }

    private mutating func addPlain(_ byte: UInt8) {
        word = (word ?? []) + [byte]
        pattern.append(byte)
        if "*?[".utf8.contains(byte) { isPattern = true }
        if "{},.".utf8.contains(byte) { braces.append(byte) }
    }

    private mutating func endWord() throws(ShellWords.Fault) {
        guard let finished = word else { return }
        // bash expands {a,b} and {1..3}, other shells do not.
        if let open = braces.firstIndex(of: UInt8(ascii: "{")), let close = braces.lastIndex(of: UInt8(ascii: "}")),
            open < close
        {
            let inside = braces[open..<close]
            let hasDots = zip(inside, inside.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == $0 }
            if inside.contains(UInt8(ascii: ",")) || hasDots { throw .unsupported("“{” outside quotes") }
        }
        if isPattern, Self.matchesFiles(pattern, other: finished) { throw .unsupported("a pattern of file names") }
        if words.isEmpty, let equals = finished.firstIndex(of: UInt8(ascii: "=")), equals > 0,
            finished[..<equals].allSatisfy(\.isNameInShell)
        {
            throw .unsupported("an assignment")
        }
        words.append(finished)
        (word, pattern, isPattern, braces) = (nil, [], false, [])
    }

    /// Whether a pattern stands for other words than the one that is written.
    private static func matchesFiles(_ pattern: [UInt8], other word: [UInt8]) -> Bool {
        var found = glob_t()
        defer { globfree(&found) }
        let octets = pattern.map { CChar(bitPattern: $0) } + [0]
        guard glob(octets, 0, nil, &found) == 0 else { return false }
        guard found.gl_pathc == 1, let path = found.gl_pathv?[0] else { return true }
        return !UnsafeRawBufferPointer(start: path, count: strlen(path)).elementsEqual(word)
    }

    private mutating func readTilde() throws(ShellWords.Fault) {
        guard let next = rest.first, !" \t\n/;".utf8.contains(next) else {
            guard let home = Environment.value(.home) else { throw .unsupported("“~” without a home") }
            return addQuoted(home.utf8)
        }
        throw .unsupported("“~” with a user name")
    }

    private mutating func readDollar() throws(ShellWords.Fault) {
        switch rest.first {
        case UInt8(ascii: "'"):
            rest.removeFirst()
            addQuoted(try ansiQuoted())
        case UInt8(ascii: "\""): throw .unsupported("“$\"” (a translated text)")
        default:
            try checkDollar()
            addPlain(UInt8(ascii: "$"))
        }
    }

    /// Checks that the dollar sign before the rest is a character of its own.
    private func checkDollar() throws(ShellWords.Fault) {
        guard let next = rest.first else { return }
        if next == UInt8(ascii: "(") || next == UInt8(ascii: "[") {
            throw .unsupported("“$\(Unicode.Scalar(next))” (a substitution)")
        }
        guard next.isNameInShell || "{@*#?-$!".utf8.contains(next) else { return }
        throw .unsupported("a variable (“$”)")
    }

    private mutating func doubleQuoted() throws(ShellWords.Fault) -> [UInt8] {
        if let octal = octalNumbers() { return octal }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "`"): throw .unsupported("“`” (a substitution)")
            case UInt8(ascii: "$"):
                try checkDollar()
                text.append(byte)
            case UInt8(ascii: "\\"):
                guard let next = rest.first else { throw .unfinished }
                if next == UInt8(ascii: "\n") {
                    rest.removeFirst()
                } else if "$`\"\\".utf8.contains(next) {
                    text.append(next)
                    rest.removeFirst()
                } else {
                    text.append(byte)
                }
            default: text.append(byte)
            }
        }
        throw .unfinished
    }

    /// The bytes of `"$(printf '\ooo…')"`, whose opening quote was read.
    private mutating func octalNumbers() -> [UInt8]? {
        let start = Self.octalStart.utf8.dropFirst()
        guard rest.starts(with: start) else { return nil }
        var after = rest.dropFirst(start.count)
        var bytes: [UInt8] = []
        while after.first == UInt8(ascii: "\\") {
            let digits = after.dropFirst().prefix(3)
            guard digits.count == 3, digits.allSatisfy(\.isOctalDigit),
                let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            else { return nil }
            bytes.append(byte)
            after = after.dropFirst(4)
        }
        // A substitution loses the line ends at its end, and a NUL.
        guard after.starts(with: Self.octalEnd.utf8), bytes.last != UInt8(ascii: "\n"), !bytes.contains(0) else {
            return nil
        }
        rest = after.dropFirst(Self.octalEnd.utf8.count)
        return bytes
    }

    /// The bytes of `$'…'`, as bash reads them.
    private mutating func ansiQuoted() throws(ShellWords.Fault) -> [UInt8] {
        var text: [UInt8] = []
        // Bash ends the text at a NUL.
        var isCut = false
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "'") { return text }
            guard byte == UInt8(ascii: "\\") else {
                if !isCut { text.append(byte) }
                continue
            }
            guard let next = rest.popFirst() else { throw .unfinished }
            let bytes = ansiEscape(next)
            isCut = isCut || bytes == [0]
            if !isCut { text += bytes }
        }
        throw .unfinished
    }

    private mutating func ansiEscape(_ letter: UInt8) -> [UInt8] {
        let unchanged = [UInt8(ascii: "\\"), letter]
        switch letter {
        case UInt8(ascii: "a"): return [7]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "e"), UInt8(ascii: "E"): return [0x1B]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "v"): return [0x0B]
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"): return [letter]
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            let digits = [letter] + rest.prefix(2).prefix(while: \.isOctalDigit)
            rest = rest.dropFirst(digits.count - 1)
            return [UInt8(truncatingIfNeeded: digits.reduce(0) { $0 * 8 + Int($1 & 7) })]
        case UInt8(ascii: "x"):
            if rest.first == UInt8(ascii: "{") {
                rest.removeFirst()
                let number = hexNumber(atMost: .max)
                if rest.first == UInt8(ascii: "}") { rest.removeFirst() }
                return [UInt8(truncatingIfNeeded: number ?? 0)]
            }
            return hexNumber(atMost: 2).map { [UInt8(truncatingIfNeeded: $0)] } ?? unchanged
        case UInt8(ascii: "u"): return hexNumber(atMost: 4).map(Self.octets) ?? unchanged
        case UInt8(ascii: "U"): return hexNumber(atMost: 8).map(Self.octets) ?? unchanged
        case UInt8(ascii: "c"):
            guard let next = rest.first, next != UInt8(ascii: "'") else { return unchanged }
            rest.removeFirst()
            if next == UInt8(ascii: "\\"), rest.first == next { rest.removeFirst() }
            let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next) ? next & 0xDF : next
            return [next == UInt8(ascii: "?") ? 0x7F : upper & 0x1F]
        default: return unchanged
        }
    }

    private mutating func hexNumber(atMost count: Int) -> UInt32? {
        let digits = rest.prefix(count).prefix { $0.hexValue != nil }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        return digits.reduce(0) { ($0 << 4) | UInt32($1.hexValue ?? 0) }
    }

    /// The code point as bash writes it in UTF-8: also the halves of surrogate pairs, and numbers beyond Unicode.
    private static func octets(_ value: UInt32) -> [UInt8] {
        guard value >= 0x80 else { return [UInt8(value)] }
        let count = [0x800, 0x1_0000, 0x20_0000, 0x400_0000, 0x8000_0000].firstIndex { value < $0 }
        guard let count else { return [] }
        let following = count + 1
        let mark = UInt8(truncatingIfNeeded: 0xFF00 >> (following + 1))
        var bytes = [mark | UInt8(truncatingIfNeeded: value >> (6 * UInt32(following)))]
        for index in stride(from: following - 1, through: 0, by: -1) {
            bytes.append(0x80 | UInt8(value >> (6 * UInt32(index)) & 0x3F))
        }
        return bytes
    }
}

extension UInt8 {
    fileprivate var isPlainInShell: Bool { isNameInShell || "._-/:=@%+,".utf8.contains(self) }

    fileprivate var isNameInShell: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
    }

    fileprivate var isOctalDigit: Bool { (0x30...0x37).contains(self) }

    fileprivate var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
