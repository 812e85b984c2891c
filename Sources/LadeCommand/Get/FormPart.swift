/// A part of a multipart form as `--form-part` writes it: `name=text`, `name=@file` or `name=<file`.
struct FormPart: Equatable, Sendable {
    /// The content of a part.
    enum Content: Equatable, Sendable {
        /// The text of the argument.
        case text(String)
        /// A file, sent with a file name.
        case file(String)
        /// The contents of a file, sent as a plain field.
        case fieldFile(String)
    }

    var name: String
    var content: Content
    /// The content type; nil to send none.
    var contentType: String?
    /// The file name that is sent; nil to send the last component of the path.
    var fileName: String?

    /// The path of the file that the part reads; nil for a text.
    var path: String? {
        switch content {
        case .text: nil
        case .file(let path), .fieldFile(let path): path
        }
    }

    /// Makes a part.
    init(_ name: String, _ content: Content) {
        self.name = name
        self.content = content
    }

    /// Parses an argument.
    ///
    /// - Throws: A usage error that shows only the name, because the text may be a secret.
    init(argument: String) throws(CommandError) {
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else {
            throw .usage("--form-part: a part has no name", advice: "Write NAME=TEXT, NAME=@FILE or NAME=<FILE.")
        }
        name = String(argument[..<equals])
        let value = argument[argument.index(after: equals)...]
        guard let sign = value.first, "@<".contains(sign) else {
            content = .text(String(value))
            return
        }
        // The parameters follow the path, which may itself contain semicolons.
        var path = value.dropFirst()
        while let semicolon = path.lastIndex(of: ";") {
            let parameter = path[path.index(after: semicolon)...]
            if parameter.hasPrefix("type=") {
                contentType = String(parameter.dropFirst(5))
            } else if parameter.hasPrefix("filename=") {
                fileName = String(parameter.dropFirst(9))
            } else {
                break
            }
            path = path[..<semicolon]
        }
        guard !path.isEmpty else {
            throw .usage("--form-part: the part “\(name)” names no file", advice: "Write \(name)=\(sign)FILE.")
        }
        content = sign == "@" ? .file(String(path)) : .fieldFile(String(path))
    }
}
