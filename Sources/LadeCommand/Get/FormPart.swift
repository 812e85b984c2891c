/// A part of a multipart form as `--form-part` writes it: `name=text`, `name=@file` or `name=<file`.
struct FormPart: Equatable, Sendable {
    /// What a part has.
    enum Content: Equatable, Sendable {
        /// The text of the argument.
        case text(String)
        /// A file, sent with its name.
        case file(String)
        /// What a file has, sent as a field.
        case fieldFile(String)
    }

    var name: String
    var content: Content
    /// The type of a file; unknown to the server when nil.
    var contentType: String?
    /// What the server is told the file is called; the last part of its path when nil.
    var fileName: String?

    /// The file that it is read from, if any.
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

    /// Reads an argument.
    ///
    /// - Throws: A usage error that shows the name alone, for the text may be a secret.
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
        // The parameters stand behind the path, which may contain semicolons itself.
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
