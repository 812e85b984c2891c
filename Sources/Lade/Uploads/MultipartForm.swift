#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

/// A body of form fields and files (RFC 7578), sent piece by piece from memory and disk.
///
/// ```swift
/// var form = MultipartForm()
/// form.addField("title", "Tagesschau")
/// try form.addFile("image", URL(filePath: "cover.png"), contentType: "image/png")
/// request.body = form.body
/// ```
public struct MultipartForm: Sendable {
    private enum Piece: Sendable {
        case bytes(Data)
        case body(Request.Body)
    }

    /// The line that separates the parts.
    public let boundary: String
    private var pieces: [Piece] = []

    /// Makes an empty form.
    ///
    /// The boundary must not occur in any of its parts.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a boundary that is not a token of at most 70 characters (RFC 2046
    ///   §5.1.1).
    public init(boundary: String) throws(LoadingError) {
        guard !boundary.isEmpty, boundary.utf8.count <= 70, boundary.utf8.allSatisfy(\.isTokenCharacter) else {
            let reason = "it is no token of at most 70 characters"
            throw LoadingError(.invalidSetting(name: "boundary", reason: reason))
        }
        self.boundary = boundary
    }

    /// Makes an empty form with an unpredictable boundary: 128 random bits.
    public init(random: any RandomSource = SystemRandom()) {
        boundary = "lade-" + [random.next(), random.next()].map { String($0, radix: 36) }.joined()
    }

    /// Adds a text field.
    public mutating func addField(_ name: String, _ value: String) {
        add(name, head: "", .bytes(Data(value.utf8)))
    }

    /// Adds a file, which is read each time the form is sent.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - path: The file.
    ///   - fileName: The file name to send; the last part of the path by default.
    ///   - contentType: The content type; `application/octet-stream` by default.
    /// - Throws: `LoadingError.Kind.file` when the file cannot be read; otherwise the same as ``addBody(_:_:fileName:)``.
    public mutating func addFile(
        _ name: String,
        path: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(LoadingError) {
        let body = try Request.Body.file(path, contentType: contentType)
        try addBody(
            name,
            body,
            fileName: fileName ?? path.parts(at: "/", omitsEmpty: true).last.map(String.init) ?? path
        )
    }

    /// Adds a file from the disk, read again for each sending; see ``addFile(_:path:fileName:contentType:)``.
    ///
    /// - Throws: `LoadingError.Kind.file` also for a URL that names no file.
    public mutating func addFile(
        _ name: String,
        _ file: URL,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(LoadingError) {
        try addFile(name, path: file.localPath(for: .read), fileName: fileName, contentType: contentType)
    }

    /// Adds a part from memory.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - data: The content.
    ///   - fileName: The file name to send; nil, the default, for a part that is no file, such as JSON beside a file.
    ///   - contentType: The content type; `application/octet-stream` by default.
    /// - Throws: The same as ``addBody(_:_:fileName:)``.
    public mutating func addData(
        _ name: String,
        _ data: Data,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(LoadingError) {
        try addBody(name, .bytes(data, contentType: contentType), fileName: fileName)
    }

    /// Adds a part from any body: bytes, a file, or chunks produced during sending.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - body: The content. If its length is unknown, the length of the whole form is unknown, too.
    ///   - fileName: The file name to send; nil, the default, for a part that is no file.
    /// - Throws: `LoadingError.Kind.invalidRequest` for a content type that is not a valid field value, such as one with a
    ///   line break.
    public mutating func addBody(_ name: String, _ body: Request.Body, fileName: String? = nil) throws(LoadingError) {
        let fields = Headers([("Content-Type", body.contentType ?? "application/octet-stream")])
        try addPart(name, fileName: fileName, fields: fields, body)
    }

    /// Adds a part whose head the caller decides.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - fileName: The file name to send, if any.
    ///   - fields: The fields after `Content-Disposition`; they must be valid.
    ///   - body: The content.
    /// - Throws: `LoadingError.Kind.invalidRequest` for a field that is not valid, such as one with a line break.
    package mutating func addPart(
        _ name: String,
        fileName: String?,
        fields: Headers,
        _ body: Request.Body
    ) throws(LoadingError) {
        if let fault = fields.fault { throw LoadingError(.invalidRequest(.header(fault))) }
        var head = fileName.map { "; filename=\"\(Self.quoted($0))\"" } ?? ""
        for field in fields { head += "\r\n\(field.name): \(field.value)" }
        add(name, head: head, .body(body))
    }

    /// Adds files as one part of several attachments (RFC 2388 §4.2).
    ///
    /// - Throws: The same as ``addPart(_:fileName:fields:_:)``.
    package mutating func addAttachments(
        _ name: String,
        _ files: [(fileName: String, fields: Headers, body: Request.Body)],
        boundary: String
    ) throws(LoadingError) {
        let head = "Content-Disposition: form-data; name=\"\(Self.quoted(name))\"\r\n"
        pieces.append(
            .bytes(
                Data("--\(self.boundary)\r\n\(head)Content-Type: multipart/mixed; boundary=\(boundary)\r\n\r\n".utf8)
            )
        )
        for file in files {
            if let fault = file.fields.fault { throw LoadingError(.invalidRequest(.header(fault))) }
            let fields = file.fields.map { "\r\n\($0.name): \($0.value)" }.joined()
            let name = Self.quoted(file.fileName)
            let start = "--\(boundary)\r\nContent-Disposition: attachment; filename=\"\(name)\"\(fields)\r\n\r\n"
            pieces += [.bytes(Data(start.utf8)), .body(file.body), .bytes(Data("\r\n".utf8))]
        }
        pieces.append(.bytes(Data("--\(boundary)--\r\n\r\n".utf8)))
    }

    /// The form as the body of a request.
    ///
    /// The length of the form is known if the lengths of all parts are. It can be sent again if all parts can.
    public var body: Request.Body {
        let pieces = pieces + [.bytes(Data("--\(boundary)--\r\n".utf8))]
        var length: Int64? = 0
        var isReplayable = true
        for piece in pieces {
            switch piece {
            case .bytes(let bytes):
                length = length.map { $0 + Int64(bytes.count) }
            case .body(let body):
                length = length.flatMap { sum in body.length.map { sum + $0 } }
                isReplayable = isReplayable && body.isReplayable
            }
        }
        let type = "multipart/form-data; boundary=\(boundary)"
        return .writer(length: length, isReplayable: isReplayable, contentType: type) { write in
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): try await write(bytes)
                case .body(let body): try await body.write(to: write)
                }
            }
        }
    }

    private mutating func add(_ name: String, head: String, _ content: Piece) {
        let start = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(name))\"\(head)\r\n\r\n"
        pieces.append(.bytes(Data(start.utf8)))
        pieces.append(content)
        pieces.append(.bytes(Data("\r\n".utf8)))
    }

    /// A name inside quotes: line ends and quotes percent-encoded, as browsers do (RFC 7578 §2).
    private static func quoted(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            case "\"": result += "%22"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
