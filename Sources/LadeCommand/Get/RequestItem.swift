import Lade

/// A part of a request, typed after the address (`name=value`, `Header:value` …).
///
/// The earliest separator counts, and the longer one of two that start at the same position. A backslash makes the next
/// separator character literal.
enum RequestItem: Equatable, Sendable {
    /// `name=value`: a string of the JSON body.
    case text(name: String, value: String)
    /// `name:=json`: any value of the JSON body.
    case json(name: String, value: String)
    /// `name==value`: a query item.
    case query(name: String, value: String)
    /// `Name:value`, `Name;` (empty) or `Name:` (removed): a header field.
    case header(HeaderEdit)
    /// `name@path`: a file in a form.
    case file(name: String, path: String)
    /// `name=@path`: a string of the JSON body, from a file.
    case textFile(name: String, path: String)
    /// `name:=@path`: any value of the JSON body, from a file.
    case jsonFile(name: String, path: String)
    /// `Name:@path`: a header field whose value is the line in a file.
    case headerFile(name: String, path: String)
    /// `-`: the standard input is the body.
    case standardInput

    /// The kinds of items, for the help.
    static let kinds: [(term: String, meaning: String)] = [
        ("name=text", "String in a JSON body (POST); with --form a form field"),
        ("name:=json", "Number, list, object ... in a JSON body"),
        ("a[b]=text", "The same in an object; a[]=text adds to a list"),
        ("name==text", "URL query parameter"),
        ("Name:text", "HTTP header; “Name:” unsets it, “Name;” sends it empty"),
        ("name@path", "File upload (multipart/form-data)"),
        ("name=@path", "The text of a file; also name:=@path and Name:@path"),
        ("-", "Standard input as the body"),
    ]

    /// Parses an item.
    ///
    /// - Throws: A usage error for a text without separator or name, and for invalid JSON.
    init(_ text: String) throws(CommandError) {
        guard text != "-" else {
            self = .standardInput
            return
        }
        let characters = Self.unescaped(text)
        guard let (separator, index) = Self.firstSeparator(in: characters) else {
            throw Self.usage(text, "has no separator such as = or :")
        }
        let name = String(characters[..<index].map(\.character))
        let value = String(characters[(index + separator.rawValue.count)...].map(\.character))
        guard !name.isEmpty else { throw Self.usage(text, "has no name before “\(separator.rawValue)”") }
        let first = characters.dropFirst(index + separator.rawValue.count).first
        if let first, first.character == "@", !first.isEscaped, [.text, .json, .header].contains(separator) {
            let path = String(value.dropFirst())
            guard !path.isEmpty else { throw Self.usage(text, "names no file after “@”; \\@ is the character") }
            self =
                switch separator {
                case .json: .jsonFile(name: name, path: path)
                case .header: .headerFile(name: name, path: path)
                default: .textFile(name: name, path: path)
                }
            return
        }
        switch separator {
        case .text: self = .text(name: name, value: value)
        case .query: self = .query(name: name, value: value)
        case .file: self = .file(name: name, path: value)
        case .emptyHeader: self = .header(.set(name, ""))
        case .header:
            if ["http", "https"].contains(name.lowercased()), value.hasPrefix("//") {
                throw .usage("“\(text.asArgument)” is no item", advice: "Addresses come before the items.")
            }
            self = .header(value.isEmpty ? .remove(name) : .set(name, value))
        case .json:
            guard JSONValue.isValid(value) else { throw Self.usage(text, "has no JSON after “:=”") }
            self = .json(name: name, value: value)
        }
    }

    private enum Separator: String, CaseIterable {
        // Longer separators come first, because the first match is taken.
        case json = ":="
        case query = "=="
        case text = "="
        case header = ":"
        case file = "@"
        case emptyHeader = ";"
    }

    private static func unescaped(_ text: String) -> [(character: Character, isEscaped: Bool)] {
        var result: [(character: Character, isEscaped: Bool)] = []
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.first, ":=@;".contains(next) {
                result.append((next, true))
                rest.removeFirst()
            } else {
                result.append((character, false))
            }
        }
        return result
    }

    private static func firstSeparator(
        in characters: [(character: Character, isEscaped: Bool)]
    ) -> (Separator, Int)? {
        for index in characters.indices {
            let found = Separator.allCases.first { separator in
                let piece = characters[index...].prefix(separator.rawValue.count)
                return String(piece.map(\.character)) == separator.rawValue && !piece.contains { $0.isEscaped }
            }
            guard let found else { continue }
            // A semicolon is a separator only as the last character.
            if found == .emptyHeader, index + 1 < characters.count { continue }
            return (found, index)
        }
        return nil
    }

    /// The error for a malformed item; it does not show the value, which may be a secret.
    private static func usage(_ text: String, _ fault: String) -> CommandError {
        let name = text.prefix { !":=@; \t".contains($0) }
        let separator = text[name.endIndex...].prefix { ":=@; \t".contains($0) }
        // A text without separator and space may be a secret as a whole.
        let shown = separator.isEmpty ? String(name.prefix(2)) : String(name + separator)
        return .usage(
            "the item “\(shown)\(shown.count < text.count ? "…" : "")” \(fault)",
            advice: "“lade get --help” lists the kinds of items."
        )
    }
}

/// A change to a header field.
enum HeaderEdit: Equatable, Sendable {
    /// Sends the field, even if it is empty.
    case set(String, String)
    /// Removes a field that the program would send by default.
    case remove(String)

    /// The name of the field.
    var name: String {
        switch self {
        case .set(let name, _), .remove(let name): name
        }
    }

    /// Parses `Name: value`, `Name:` (removed) or `Name;` (empty).
    ///
    /// - Throws: A usage error for any other text; it does not show the value, which may be a secret.
    init(line: String) throws(CommandError) {
        if let colon = line.firstIndex(of: ":") {
            let name = String(line[..<colon])
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            self = value.isEmpty ? .remove(name) : .set(name, String(value))
        } else if line.last == ";" {
            self = .set(String(line.dropLast()), "")
        } else {
            throw .usage("a header has neither colon nor semicolon", advice: "Write it as 'Name: value'.")
        }
    }
}
