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
        let behind = characters[(index + separator.rawValue.utf8.count)...]
        let name = Self.text(characters[..<index])
        let value = Self.text(behind)
        guard !name.isEmpty else { throw Self.usage(text, "has no name before “\(separator.rawValue)”") }
        if let first = behind.first, first.scalar == "@", !first.isEscaped, [.text, .json, .header].contains(separator)
        {
            let path = Self.text(behind.dropFirst())
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
            if ["http", "https"].contains(name.lowercased()), value.begins(with: "//") {
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

    /// A scalar of an item.
    ///
    /// A delimiter counts also when combining characters follow it.
    private typealias Scalar = (scalar: Unicode.Scalar, isEscaped: Bool)

    private static func unescaped(_ text: String) -> [Scalar] {
        var result: [Scalar] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == "\\", let next = rest.first, ":=@;".has(next) {
                result.append((next, true))
                rest.removeFirst()
            } else {
                result.append((scalar, false))
            }
        }
        return result
    }

    private static func text(_ scalars: ArraySlice<Scalar>) -> String {
        scalars.reduce(into: "") { $0.unicodeScalars.append($1.scalar) }
    }

    private static func firstSeparator(in scalars: [Scalar]) -> (Separator, Int)? {
        for index in scalars.indices {
            let found = Separator.allCases.first { separator in
                let piece = scalars[index...].prefix(separator.rawValue.utf8.count)
                return text(piece).isSpelled(like: separator.rawValue) && !piece.contains { $0.isEscaped }
            }
            guard let found else { continue }
            // A semicolon is a separator only as the last character.
            if found == .emptyHeader, index + 1 < scalars.count { continue }
            return (found, index)
        }
        return nil
    }

    /// The error for a malformed item; it does not show the value, which may be a secret.
    private static func usage(_ text: String, _ fault: String) -> CommandError {
        let (name, rest) = text.halves { ":=@; \t".has($0) }
        let separator = rest.halves { !":=@; \t".has($0) }.text
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
        if let (name, text) = line.cut(at: ":") {
            let value = text.halves { $0 != " " && $0 != "\t" }.rest
            self = value.isEmpty ? .remove(String(name)) : .set(String(name), String(value))
        } else if line.ends(with: ";") {
            self = .set(String(line.unicodeScalars.dropLast()), "")
        } else {
            throw .usage("a header has neither colon nor semicolon", advice: "Write it as 'Name: value'.")
        }
    }
}
