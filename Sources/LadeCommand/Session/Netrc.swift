#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The user names and passwords of a `.netrc` file.
struct Netrc: Sendable {
    /// The entry for one machine.
    struct Entry: Sendable {
        /// The host; nil for the default entry.
        var machine: String?
        var login: String?
        var password: Secret?
    }

    var entries: [Entry] = []

    /// Makes an empty list.
    init() {}

    /// Reads a file.
    ///
    /// - Throws: A local error that names the file, when it does not exist or is malformed.
    init(_ file: PrivateFile) throws(CommandError) {
        guard let data = try file.read() else { throw file.refused("does not exist", "Make it, or leave out --netrc.") }
        guard let text = String(validating: data, as: UTF8.self) else { throw file.refused("is no text in UTF-8") }
        guard let entries = Self.entries(text) else {
            throw file.refused("cannot be read", "Write “machine HOST login USER password PASSWORD”.")
        }
        self.entries = entries
    }

    /// The user name and password for a host, from its entry or the default one.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - user: The user name if it is known; then only an entry with this name counts.
    /// - Returns: The user name and password, separated by a colon; nil when there are none.
    func credentials(for host: String, user: String?) -> Secret? {
        let entry = entries.first { entry in
            let isMachine = entry.machine.map { $0.equalsIgnoringASCIICase(host) } ?? true
            return isMachine && (user == nil || entry.login == user)
        }
        guard let login = entry?.login else { return nil }
        return Secret("\(login):\(entry?.password?.reveal() ?? "")")
    }

    /// Parses a text; nil when it is not a list of machines.
    static func entries(_ text: String) -> [Entry]? {
        var entries: [Entry] = []
        var rest = text[...]
        while let word = word(&rest) {
            switch word {
            case "machine":
                guard let name = Self.word(&rest) else { return nil }
                entries.append(Entry(machine: name))
            case "default": entries.append(Entry())
            case "login", "password", "account":
                guard !entries.isEmpty, let value = Self.word(&rest) else { return nil }
                if word == "login" { entries[entries.count - 1].login = value }
                if word == "password" { entries[entries.count - 1].password = Secret(value) }
            case "macdef":
                // A macro ends at the next empty line.
                rest = rest.firstRange(of: "\n\n").map { rest[$0.upperBound...] } ?? ""
            default: return nil
            }
        }
        return entries
    }

    /// The next word, quoted or not; a number sign before a word starts a comment.
    private static func word(_ rest: inout Substring) -> String? {
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
            } else if first == "#" {
                rest = rest.drop { !$0.isNewline }
            } else {
                break
            }
        }
        guard let first = rest.first else { return nil }
        guard first == "\"" else {
            let word = rest.prefix { !$0.isWhitespace }
            rest = rest[word.endIndex...]
            return String(word)
        }
        rest.removeFirst()
        var word = ""
        while let character = rest.popFirst(), character != "\"" {
            word.append(character == "\\" ? rest.popFirst() ?? character : character)
        }
        return word
    }
}
