#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A body of form fields and files (RFC 7578), sent from the disk piece by piece.
struct MultipartForm: Sendable {
    private enum Piece: Sendable {
        case bytes(Data)
        /// Of known length, read again for each sending.
        case file(path: String, length: Int64)
        /// Read once, to its end.
        case pipe(InputReader)
    }

    private let boundary: String
    private var pieces: [Piece] = []

    /// Makes an empty form; the boundary must occur in none of its parts.
    init(boundary: String) {
        self.boundary = boundary
    }

    /// A boundary that nobody can foresee: 128 random bits.
    static func makeBoundary(_ random: any RandomSource) -> String {
        "lade-" + [random.next(), random.next()].map { String($0, radix: 36) }.joined()
    }

    /// Adds a field.
    mutating func addField(_ name: String, _ value: String) {
        addHead(name)
        pieces.append(.bytes(Data((value + "\r\n").utf8)))
    }

    /// Adds a file, a pipe, or the standard input for `-`.
    ///
    /// - Throws: A local error when there is nothing to be read.
    mutating func addFile(_ name: String, path: String) throws(CommandError) {
        addHead(name, fileName: path.split(separator: "/").last.map(String.init) ?? path)
        if path == "-" || !InputReader.isRegularFile(path) {
            guard path == "-" || InputReader.exists(path) else {
                throw .file(path, "read", SystemError(number: ENOENT))
            }
            pieces.append(.pipe(InputReader(path)))
        } else {
            let file = try CommandError.translating { () throws(LoadingError) in try RequestBody.file(path) }
            pieces.append(.file(path: path, length: file.length ?? 0))
        }
        pieces.append(.bytes(Data("\r\n".utf8)))
    }

    /// The body: of known length and sendable again unless a pipe is in it.
    var body: RequestBody {
        let pieces = pieces + [.bytes(Data("--\(boundary)--\r\n".utf8))]
        var length: Int64? = 0
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): length = length.map { $0 + Int64(bytes.count) }
            case .file(_, let bytes): length = length.map { $0 + bytes }
            case .pipe: length = nil
            }
        }
        let type = "multipart/form-data; boundary=\(boundary)"
        return .writer(length: length, isReplayable: length != nil, contentType: type) { write in
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): try await write(bytes)
                case .file(let path, let length): try await Self.send(path, length, write)
                case .pipe(let reader): while let chunk = try await reader.next() { try await write(chunk) }
                }
            }
        }
    }

    /// Sends exactly as much as was announced, also of a file that has grown since.
    private static func send(_ path: String, _ length: Int64, _ write: RequestBody.ChunkWriter) async throws {
        let reader = InputReader(path)
        var remaining = length
        while remaining > 0 {
            guard let chunk = try await reader.next() else {
                throw CommandError.file(path, "read", SystemError(number: EIO))
            }
            let piece = chunk.prefix(Int(min(remaining, Int64(chunk.count))))
            remaining -= Int64(piece.count)
            try await write(piece)
        }
    }

    private mutating func addHead(_ name: String, fileName: String? = nil) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(name))\""
        if let fileName {
            head += "; filename=\"\(Self.quoted(fileName))\"\r\nContent-Type: application/octet-stream"
        }
        pieces.append(.bytes(Data((head + "\r\n\r\n").utf8)))
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
