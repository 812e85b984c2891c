/// A file of options in the format of curl's `--config`.
struct OptionFile {
    /// An option with its value.
    struct Entry: Equatable {
        /// The option as it is written, with its dashes or without.
        var name: String
        var value: String?

        /// The arguments that say the same on a command line.
        var arguments: [String] {
            let isLetter = name.utf8.first == UInt8(ascii: "-") && name.utf8.dropFirst().first != UInt8(ascii: "-")
            guard !isLetter else { return [name] + [value].compactMap(\.self) }
            let bare = String(decoding: name.utf8.drop { $0 == UInt8(ascii: "-") }, as: UTF8.self)
            return ["--" + bare + (value.map { "=\($0)" } ?? "")]
        }
    }

    private(set) var entries: [Entry] = []

    /// Reads a file, or the standard input for `-`.
    ///
    /// - Throws: A local error that names the file, and the line but not its value.
    init(_ path: String) throws(CommandError) {
        var number = 0
        var bytes = try ArgumentFile.bytes(path, of: "--config")[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            number += 1
            do throws(Fault) {
                if let entry = try Self.entry(line.last == 0x0D ? line.dropLast() : line) { entries.append(entry) }
            } catch {
                throw CommandError(
                    what: "The file \(path) has in line \(number) \(error.reason).",
                    advice: "Write option = \"value\", with a backslash before quotes and backslashes.",
                    code: .localFile
                )
            }
        }
    }

    private struct Fault: Error {
        var reason: String
    }

    private static func entry(_ line: ArraySlice<UInt8>) throws(Fault) -> Entry? {
        var rest = line.drop(while: \.isBlank)
        guard let first = rest.first, first != UInt8(ascii: "#") else { return nil }
        // Behind a dash only a blank ends the name: `-uann:pw` is a letter with its value.
        let isDashed = first == UInt8(ascii: "-")
        let isSeparator = { (byte: UInt8) in !isDashed && (byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":")) }
        let name = rest.prefix { !$0.isBlank && !isSeparator($0) }
        guard let text = String(validating: name, as: UTF8.self), !text.isEmpty else {
            throw Fault(reason: "no option")
        }
        rest = rest.dropFirst(name.count).drop { $0.isBlank || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
        guard let start = rest.first else { return Entry(name: text) }
        var value: [UInt8] = []
        if start == UInt8(ascii: "\"") {
            rest.removeFirst()
            var isClosed = false
            while let byte = rest.popFirst() {
                isClosed = byte == start
                if isClosed { break }
                guard byte == UInt8(ascii: "\\") else {
                    value.append(byte)
                    continue
                }
                guard let next = rest.popFirst() else { throw Fault(reason: "a quote without an end") }
                switch next {
                case UInt8(ascii: "t"): value.append(0x09)
                case UInt8(ascii: "n"): value.append(0x0A)
                case UInt8(ascii: "r"): value.append(0x0D)
                case UInt8(ascii: "v"): value.append(0x0B)
                default: value.append(next)
                }
            }
            guard isClosed else { throw Fault(reason: "a quote without an end") }
        } else if start != UInt8(ascii: "#") {
            value = Array(rest.prefix { !$0.isBlank })
            rest = rest.dropFirst(value.count).drop(while: \.isBlank)
            guard rest.isEmpty || rest.first == UInt8(ascii: "#") else {
                throw Fault(reason: "a value with blanks that is not in quotes")
            }
        } else {
            return Entry(name: text)
        }
        guard let valueText = String(validating: value, as: UTF8.self) else {
            throw Fault(reason: "a value that is no text in UTF-8")
        }
        return Entry(name: text, value: valueText)
    }
}
