#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

/// One header or trailer field as it was sent.
public struct ServerField: Sendable, Hashable, CustomStringConvertible {
    /// The name in the case it was written in.
    public let name: String
    /// The value without surrounding white space.
    public let value: String

    /// Makes a field without any checks, so that malformed responses can be written too.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The field as a line.
    public var description: String { "\(name): \(value)" }
}

/// A request that a ``LoopbackServer`` received.
public struct ServerRequest: Sendable {
    /// The number of its connection, from 0.
    public let connection: Int
    /// Its position among the requests of the connection, from 0.
    public let position: Int
    /// The method.
    public let method: String
    /// The target as written in the request line.
    public let target: String
    /// The version as written in the request line.
    public let version: String
    /// The header section in order.
    public let fields: [ServerField]
    /// The bytes of the request line and the header section, including the empty line.
    public let head: Data

    /// The body without its framing; only its beginning when it is larger than the server's limit.
    public internal(set) var body = Data()
    /// Length and checksum of the whole body.
    package internal(set) var digest = ContentDigest()
    /// The trailer section.
    public internal(set) var trailers: [ServerField] = []
    /// The sizes of the chunks, for a chunked body.
    public internal(set) var chunkSizes: [Int] = []
    /// Whether the body was read to its end.
    public internal(set) var isComplete = false

    /// The length of the whole body in bytes.
    public var bodyLength: Int64 { digest.count }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The query of the target, as written; nil without one.
    public var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The decoded value of a query item, the first of that name.
    public func queryItem(_ name: String) -> String? {
        for item in (query ?? "").split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0] == name[...] {
                return String(decoding: (parts.count > 1 ? parts[1] : "").percentDecodedBytes, as: UTF8.self)
            }
        }
        return nil
    }

    /// The value of the first field of that name, in any case.
    public subscript(name: String) -> String? {
        fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// The values of every field of that name, in order.
    public func all(_ name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// How the body is framed, from the head.
    var framing: BodyFraming {
        if all("Transfer-Encoding").contains(where: { $0.lowercased().hasSuffix("chunked") }) { return .chunked }
        return self["Content-Length"].flatMap { Int64($0) }.map { .length($0) } ?? .none
    }

    /// Reads a head.
    ///
    /// - Returns: nil when the bytes do not begin with a request line and fields.
    init?(head: Data, connection: Int, position: Int) {
        // Invalid bytes become replacement characters, so that every line is kept.
        let lines = String(decoding: head.dropLast(4), as: UTF8.self).split(
            separator: "\r\n",
            omittingEmptySubsequences: false
        )
        let parts = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[2].hasPrefix("HTTP/") else { return nil }
        self.head = head
        self.connection = connection
        self.position = position
        method = String(parts[0])
        target = String(parts[1])
        version = String(parts[2])
        fields = Self.fields(lines.dropFirst())
    }

    static func fields(_ lines: some Sequence<Substring>) -> [ServerField] {
        lines.compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...]
            return ServerField(String(line[..<colon]), String(value).trimmingSpaces)
        }
    }
}

enum BodyFraming: Sendable {
    case none
    case length(Int64)
    case chunked
}

extension String {
    fileprivate var trimmingSpaces: String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
