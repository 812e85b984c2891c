#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The user names and passwords of a `.netrc` file, as curl reads them.
///
/// Words that are not known are skipped, keywords are in either case, and a word may be quoted. A file is refused where
/// its words can be read in two ways, since a password would then go to another host.
struct Netrc: Sendable {
    /// The user name and password of a machine.
    struct Entry: Sendable {
        /// The host; nil for the default entry.
        var machine: String?
        var login: String?
        var password: Secret?
    }

    /// Why a file is damaged, with the number of its line.
    struct Fault: Error, Equatable {
        var line: Int
        var what: String
    }

    var entries: [Entry] = []

    /// Makes an empty list.
    init() {}

    /// Reads a file.
    ///
    /// - Throws: A local error that names the file, when it does not exist, and the line, when it is damaged.
    init(_ file: PrivateFile) throws(CommandError) {
        // A pipe of the shell, <(command), is the user's own, and has a writer. Opening a named pipe would wait for a writer.
        let isPipe =
            InputReader.isOwnPipe(file.path)
            && (file.path.utf8.starts(with: "/dev/fd/".utf8) || file.path.utf8.starts(with: "/proc/self/fd/".utf8))
        let data = isPipe ? Data(try ArgumentFile.bytes(file.path, of: "--netrc-file")) : try file.read()
        guard let data else { throw file.refused("does not exist", "Make it, or leave out --netrc.") }
        do throws(Fault) {
            self = try Netrc(data)
        } catch {
            throw file.refused(
                "is damaged in line \(error.line): \(error.what)",
                "Write “machine HOST login USER password PASSWORD”; a quoted word ends on its line."
            )
        }
    }

    /// Reads the bytes of a file.
    init(_ bytes: some Sequence<UInt8>) throws(Fault) {
        var reader = NetrcReader(bytes)
        entries = try reader.entries()
    }

    /// The user name and password for a host, separated by a colon; nil when there are none.
    ///
    /// A password that the entry lacks is empty, as with curl.
    func credentials(for host: String, user: String?) -> Secret? {
        entry(for: host, user: user).map { Secret("\($0.login ?? ""):\($0.password?.reveal() ?? "")") }
    }

    /// The first entry for a host, or the default one.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - user: The user name if it is known; then only an entry with this name counts, or an entry with a password alone.
    /// - Returns: The entry, with the user name if that is known; nil when there is none.
    func entry(for host: String, user: String?) -> Entry? {
        let entries = entries.filter { $0.machine.map { $0.equalsIgnoringASCIICase(host) } ?? true }
        guard let user else { return entries.first { $0.login != nil || $0.password != nil } }
        // A password without a user name is for every user of the machine.
        let own = entries.filter { $0.login?.isSpelled(like: user) == true }
        var entry =
            own.first { $0.password != nil } ?? entries.first { $0.login == nil && $0.password != nil } ?? own.first
        entry?.login = user
        return entry
    }
}

/// Reads the words of a `.netrc` file by bytes.
private struct NetrcReader {
    private struct Word {
        var text: String
        var isQuoted: Bool
        var line: Int
    }

    /// The words after which a value follows, with the meaning of the value.
    private static let keywords = ["machine", "login", "password", "account", "default", "macdef"]

    private var lines: TextLines
    private var number = 0
    private var rest: ArraySlice<UInt8> = []

    init(_ bytes: some Sequence<UInt8>) {
        lines = TextLines(bytes)
    }

    mutating func entries() throws(Netrc.Fault) -> [Netrc.Entry] {
        var entries: [Netrc.Entry] = []
        while let word = try word(isValue: false) {
            switch keyword(word) {
            case "machine": entries.append(Netrc.Entry(machine: try value(of: "machine")))
            case "default": entries.append(Netrc.Entry())
            case "login":
                let login = try value(of: "login")
                guard let last = entries.last else { continue }
                // A second user of the machine.
                if last.login != nil, last.password != nil { entries.append(Netrc.Entry(machine: last.machine)) }
                entries[entries.count - 1].login = login
            case "password":
                let password = Secret(try value(of: "password"))
                if !entries.isEmpty { entries[entries.count - 1].password = password }
            case "account": _ = try value(of: "account")
            case "macdef": skipMacro()
            default: break
            }
        }
        return entries
    }

    private func keyword(_ word: Word) -> String? {
        Self.keywords.first { word.text.equalsIgnoringASCIICase($0) }
    }

    /// The word after a keyword.
    private mutating func value(of name: String) throws(Netrc.Fault) -> String {
        let line = number
        guard let word = try word(isValue: true) else {
            throw Netrc.Fault(line: line, what: "nothing follows “\(name)”")
        }
        // On another line, or as the beginning of another entry, a keyword means that the value is missing. The words
        // behind it, passwords among them, belong to another machine.
        if !word.isQuoted, let keyword = keyword(word), word.line != line || keyword == "machine" {
            throw Netrc.Fault(line: line, what: "no value follows “\(name)”")
        }
        return word.text
    }

    /// A macro ends at the next empty line.
    private mutating func skipMacro() {
        repeat { guard nextLine() else { break } } while !rest.allSatisfy(Self.isSpace)
        rest = []
    }

    private mutating func nextLine() -> Bool {
        guard let line = lines.next() else { return false }
        number += 1
        rest = line
        return true
    }

    /// The next word, on this line or a later one.
    ///
    /// A number sign in the place of a keyword begins a comment.
    private mutating func word(isValue: Bool) throws(Netrc.Fault) -> Word? {
        while true {
            rest = rest.drop(while: Self.isSpace)
            if rest.first == UInt8(ascii: "#"), !isValue { rest = [] }
            if !rest.isEmpty { break }
            guard nextLine() else { return nil }
        }
        guard rest.first == UInt8(ascii: "\"") else {
            let bytes = rest.prefix { !Self.isSpace($0) }
            rest = rest[bytes.endIndex...]
            return Word(text: try text(Array(bytes)), isQuoted: false, line: number)
        }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return Word(text: try text(bytes), isQuoted: true, line: number)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { break }
                bytes.append(Self.escapes[escaped] ?? escaped)
            default: bytes.append(byte)
            }
        }
        throw Netrc.Fault(line: number, what: "a quoted word has no end")
    }

    private func text(_ bytes: [UInt8]) throws(Netrc.Fault) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw Netrc.Fault(line: number, what: "a word is no text in UTF-8")
        }
        return text
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
