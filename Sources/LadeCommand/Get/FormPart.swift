import Lade

/// A part of a multipart form in curl's grammar: `name=text`, `name=@file,file` or `name=<file`, with parameters.
struct FormPart: Equatable, Sendable {
    /// A file to upload.
    struct File: Equatable, Sendable {
        var path: String
        /// The content type; nil for the type of the file's extension.
        var contentType: String?
        /// The file name that is sent; nil to send the last component of the path.
        var fileName: String?
        /// Further fields of the part.
        var fields: [HeaderEdit] = []
    }

    /// The content of a part.
    enum Content: Equatable, Sendable {
        /// The text of the argument.
        case text(String)
        /// Files, sent with file names; several are one part of attachments.
        case files([File])
        /// The contents of a file, sent as a plain field.
        case fieldFile(String)
    }

    var name: String
    var content: Content
    /// The content type of a text or a field; nil to send none.
    var contentType: String?
    /// The file name of a text or a field; nil to send none.
    var fileName: String?
    /// Further fields of a text or a field.
    var fields: [HeaderEdit] = []

    /// The paths of the files that the part reads.
    var paths: [String] {
        switch content {
        case .text: []
        case .files(let files): files.map(\.path)
        case .fieldFile(let path): [path]
        }
    }

    /// Makes a part.
    init(_ name: String, _ content: Content) {
        self.name = name
        self.content = content
    }

    /// Parses the argument of `--form-string`: everything after the equals sign is the text.
    init(literal argument: String) throws(CommandError) {
        let (name, text) = try Self.name(of: argument, "--form-string")
        self.init(name, .text(String(decoding: text, as: UTF8.self)))
    }

    /// Parses an argument.
    ///
    /// - Throws: A usage error that shows only the name, because the text may be a secret.
    init(argument: String) throws(CommandError) {
        let (name, value) = try Self.name(of: argument, "--form-part")
        if value.starts(with: "(".utf8) || argument == "=)" {
            throw .usage("--form-part: a group of parts, “=(”", advice: "Send the parts one by one.")
        }
        var reader = Reader(rest: value, part: name)
        guard value.first == UInt8(ascii: "@") else {
            let isFile = value.first == UInt8(ascii: "<")
            if isFile { reader.rest.removeFirst() }
            let word = try reader.word(endingAt: nil)
            self.init(name, isFile ? .fieldFile(word.path) : .text(word.path))
            (contentType, fileName, fields) = (word.contentType, word.fileName, word.fields)
            if isFile, word.path.isEmpty { throw Self.noFile(name, "<") }
            return
        }
        var files: [File] = []
        repeat {
            reader.rest.removeFirst()
            files.append(try reader.word(endingAt: UInt8(ascii: ",")))
        } while reader.rest.first == UInt8(ascii: ",")
        guard files.allSatisfy({ !$0.path.isEmpty }) else { throw Self.noFile(name, "@") }
        self.init(name, .files(files))
    }

    private static func name(
        of argument: String,
        _ option: String
    ) throws(CommandError) -> (String, ArraySlice<UInt8>) {
        let bytes = Array(argument.utf8)
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")), equals > 0 else {
            throw .usage("\(option): a part has no name", advice: "Write NAME=TEXT, NAME=@FILE or NAME=<FILE.")
        }
        return (String(decoding: bytes[..<equals], as: UTF8.self), bytes[(equals + 1)...])
    }

    private static func noFile(_ name: String, _ sign: String) -> CommandError {
        .usage(
            "--form-part: the part “\(name.escapedForDisplay())” names no file",
            advice: "Write \(name)=\(sign)FILE."
        )
    }

    /// The content type that curl gives a file, by its extension.
    static func contentType(ofFile path: String) -> String? {
        let path = path.lowercased()
        return contentTypes.first { path.ends(with: $0.0) }?.1
    }

    private static let contentTypes: [(String, String)] = [
        (".gif", "image/gif"), (".jpg", "image/jpeg"), (".jpeg", "image/jpeg"), (".png", "image/png"),
        (".svg", "image/svg+xml"), (".txt", "text/plain"), (".htm", "text/html"), (".html", "text/html"),
        (".pdf", "application/pdf"), (".xml", "application/xml"),
    ]
}

/// Reads a text or a file with its parameters.
private struct Reader {
    var rest: ArraySlice<UInt8>
    let part: String

    /// Reads up to an end character, which is left, or to the end.
    mutating func word(endingAt end: UInt8?) throws(CommandError) -> FormPart.File {
        skipBlanks()
        var file = FormPart.File(path: try text(endingAt: end))
        while rest.first == UInt8(ascii: ";") {
            rest.removeFirst()
            skipBlanks()
            if take("type=") {
                skipBlanks()
                file.contentType = try type(endingAt: end)
            } else if take("filename=") {
                skipBlanks()
                file.fileName = try text(endingAt: end)
            } else if take("headers=") {
                skipBlanks()
                try readFields(endingAt: end, of: &file)
            } else if take("encoder=") {
                throw .usage(
                    "--form-part: the part “\(part.escapedForDisplay())” has an encoder=",
                    advice: "Leave it out: the content is sent as it is."
                )
            } else if !rest.isEmpty, rest.first != end, rest.first != UInt8(ascii: ";") {
                // curl leaves such a piece out with a warning.
                throw .usage(
                    "--form-part: the part “\(part.escapedForDisplay())” has a semicolon before an unknown parameter",
                    advice: "Put a text with semicolons into double quotes: NAME=\"a;b\"; or use --form-string."
                )
            }
        }
        return file
    }

    private mutating func readFields(endingAt end: UInt8?, of file: inout FormPart.File) throws(CommandError) {
        let isFile = rest.first == UInt8(ascii: "@") || rest.first == UInt8(ascii: "<")
        if isFile { rest.removeFirst() }
        let value = try text(endingAt: end)
        guard isFile else {
            file.fields.append(try HeaderEdit(line: value))
            return
        }
        for line in try ArgumentFile.lines(value, of: "--form-part") where !line.begins(with: "#") {
            file.fields.append(try HeaderEdit(line: line))
        }
    }

    /// A content type, whose own parameters belong to it.
    private mutating func type(endingAt end: UInt8?) throws(CommandError) -> String {
        var type: [UInt8] = []
        var isFirst = true
        while true {
            let piece = rest.prefix { $0 != UInt8(ascii: ";") && $0 != end }
            if !isFirst {
                var ahead = self
                ahead.rest.removeFirst()
                ahead.skipBlanks()
                if ["filename=", "headers=", "encoder="].contains(where: { ahead.take($0) }) { break }
                rest.removeFirst()
                type.append(UInt8(ascii: ";"))
                type += rest.prefix { $0 != UInt8(ascii: ";") && $0 != end }
                rest = rest.drop { $0 != UInt8(ascii: ";") && $0 != end }
            } else {
                type += piece
                rest = rest.dropFirst(piece.count)
            }
            isFirst = false
            guard rest.first == UInt8(ascii: ";") else { break }
        }
        while type.last == 0x20 { type.removeLast() }
        let major = type.prefix { $0 != UInt8(ascii: "/") }
        guard !major.isEmpty, major.count + 1 < type.count, !major.contains(0x20) else {
            throw .usage(
                "--form-part: the part “\(part.escapedForDisplay())” has a type= that is none",
                advice: "Write it as ;type=text/plain."
            )
        }
        return String(decoding: type, as: UTF8.self)
    }

    /// A text, in double quotes or up to a semicolon or an end character.
    private mutating func text(endingAt end: UInt8?) throws(CommandError) -> String {
        if rest.first == UInt8(ascii: "\""), let quoted = try quotedText(endingAt: end) { return quoted }
        var text = rest.prefix { $0 != UInt8(ascii: ";") && $0 != end }
        rest = rest.dropFirst(text.count)
        while let last = text.last, last.isBlank { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func quotedText(endingAt end: UInt8?) throws(CommandError) -> String? {
        var text: [UInt8] = []
        var ahead = rest.dropFirst()
        while let byte = ahead.popFirst() {
            if byte == UInt8(ascii: "\\"), let next = ahead.first, next == byte || next == UInt8(ascii: "\"") {
                text.append(next)
                ahead.removeFirst()
            } else if byte == UInt8(ascii: "\"") {
                let trailing = ahead.prefix { $0 != UInt8(ascii: ";") && $0 != end }
                guard trailing.allSatisfy(\.isBlank) else {
                    throw .usage(
                        "--form-part: the part “\(part.escapedForDisplay())” has text after a quote",
                        advice: "Write the whole text in double quotes; \\\" is a quote in it."
                    )
                }
                rest = ahead.dropFirst(trailing.count)
                return String(decoding: text, as: UTF8.self)
            } else {
                text.append(byte)
            }
        }
        // A quote without an end is a character.
        return nil
    }

    private mutating func take(_ prefix: String) -> Bool {
        let start = rest.prefix(prefix.utf8.count)
        guard String(decoding: start, as: UTF8.self).lowercased() == prefix else { return false }
        rest = rest.dropFirst(start.count)
        return true
    }

    private mutating func skipBlanks() {
        rest = rest.drop(while: \.isBlank)
    }
}

extension UInt8 {
    /// Whether the byte is white space in C's default locale.
    var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
