#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The configuration file, with options for every call and options of named profiles.
///
/// ```
/// # ~/.config/lade/config
/// connect-timeout = 5s
/// header = X-Team: blue
///
/// [staging]
/// cacert = /etc/staging.pem
/// location
/// ```
struct Configuration: Sendable {
    /// An option in the file.
    struct Entry: Equatable, Sendable {
        var name: String
        var value: String?
        var line: Int
    }

    let file: PrivateFile
    private(set) var defaults: [Entry] = []
    private(set) var profiles: [(name: String, entries: [Entry])] = []

    /// The standard location; nil without a home directory.
    static var standardFile: PrivateFile? {
        PrivateFile.folder.map { PrivateFile(path: $0 + "/config", kind: "configuration") }
    }

    /// Reads a file; nil when it does not exist.
    ///
    /// - Throws: A local error that names the file and the invalid line.
    init?(_ file: PrivateFile) throws(CommandError) {
        guard let data = try file.read() else { return nil }
        try self.init(data, of: file)
    }

    /// Parses the bytes of a file, whose lines end with LF or CR LF.
    init(_ bytes: some Sequence<UInt8>, of file: PrivateFile) throws(CommandError) {
        self.file = file
        var number = 0
        for line in TextLines(bytes) {
            number += 1
            guard let text = String(validating: line, as: UTF8.self) else { throw wrong(number, "no text in UTF-8") }
            // A control character would end up in a header field or a path.
            guard line.allSatisfy(\.isFieldContent) else { throw wrong(number, "a control character") }
            let line = text.trimmedOfSpace
            switch line.unicodeScalars.first {
            case nil, "#": continue
            case "[":
                let name = Substring(line.unicodeScalars.dropFirst().dropLast()).trimmedOfSpace
                guard line.ends(with: "]"), !name.isEmpty, !profiles.contains(where: { $0.name == name }) else {
                    throw wrong(number, "no new profile in brackets")
                }
                profiles.append((String(name), []))
            default:
                let entry = try entry(line, number)
                if profiles.isEmpty {
                    defaults.append(entry)
                } else {
                    profiles[profiles.count - 1].entries.append(entry)
                }
            }
        }
    }

    private func entry(_ line: Substring, _ number: Int) throws(CommandError) -> Entry {
        let (name, rest) = line.halves { $0 == "=" || $0.isSpace }
        var value: Substring?
        if var text = rest.trimmedOfSpace.behind("=")?.trimmedOfSpace {
            if text.utf8.count > 1, text.begins(with: "\""), text.ends(with: "\"") {
                text = Substring(text.unicodeScalars.dropFirst().dropLast())
            }
            value = text
        } else if !rest.trimmedOfSpace.isEmpty {
            throw wrong(number, "neither an option nor “option = value”")
        }
        let bare = Substring(name.unicodeScalars.drop { $0 == "-" })
        guard !bare.isEmpty else { throw wrong(number, "no option") }
        return Entry(name: String(bare), value: value.map(String.init), line: number)
    }

    /// The arguments for a command.
    ///
    /// - Parameters:
    ///   - rows: The options of the command; options of other commands are left out.
    ///   - profile: The requested profile.
    ///   - known: The options of all commands.
    /// - Returns: The arguments.
    /// - Throws: A local error for an unknown option and for one that is not allowed in a file, a usage error for an
    ///   unknown profile.
    func arguments(
        for rows: [OptionInfo],
        profile: String?,
        known: [OptionInfo]
    ) throws(CommandError) -> [String] {
        var entries = defaults
        if let profile {
            guard let found = profiles.first(where: { $0.name == profile }) else {
                let nearest = Suggestion.nearest(to: profile, among: profiles.map(\.name))
                throw .usage(
                    "there is no profile “\(profile.asArgument)”" + (nearest.map { "; did you mean “\($0)”?" } ?? ""),
                    advice: "The configuration \(file.path) names profiles as [\(profile)]."
                )
            }
            entries += found.entries
        }
        var arguments: [String] = []
        for entry in entries {
            let names = { (row: OptionInfo) in row.name == entry.name || row.aliases.contains(entry.name) }
            guard let row = known.first(where: names), !["profile", "no-config", "help"].contains(row.name) else {
                let nearest = Suggestion.nearest(to: entry.name, among: known.map(\.name))
                throw wrong(entry.line, "no option of the command line" + (nearest.map { "; is it “\($0)”?" } ?? ""))
            }
            guard (row.metavar == nil) == (entry.value == nil) else {
                throw wrong(entry.line, row.metavar == nil ? "a value that \(row.name) does not take" : "no value")
            }
            guard rows.contains(where: names) else { continue }
            arguments.append("--\(entry.name)" + (entry.value.map { "=\($0)" } ?? ""))
        }
        return arguments
    }

    /// The error for a line, without its value, which may be a secret.
    private func wrong(_ line: Int, _ what: String) -> CommandError {
        file.refused(
            "has in line \(line) \(what)",
            "Write “option = value” or “option”, as “lade help get --all” lists them."
        )
    }
}
