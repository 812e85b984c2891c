#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Marks of the pages of a list that were passed, few enough to be stored beside the output of a harvest.
///
/// Up to ``limit`` pages, each page has a mark; then every second, every fourth and so on. In a list of 10,000 pages
/// every 32nd has one. So a loop that was entered before an interruption is detected after it, in a long list some
/// pages late.
package struct PageMarks: Equatable, Sendable {
    /// The maximum number of marks.
    package static let limit = 512

    /// Every page whose position is a multiple of this has a mark.
    package private(set) var stride = 1
    /// The marks, in the order of the pages.
    package private(set) var keys: [UInt64] = []

    /// Makes marks of no page.
    package init() {}

    /// Marks a page by its position in the list, from 0; positions come in order.
    package mutating func add(_ key: UInt64, at position: Int) {
        guard position.isMultiple(of: stride) else { return }
        if keys.count == Self.limit {
            stride *= 2
            keys = keys.enumerated().compactMap { $0.offset.isMultiple(of: 2) ? $0.element : nil }
            guard position.isMultiple(of: stride) else { return }
        }
        keys.append(key)
    }

    /// A key that identifies a page in this run and in later ones, made of its request and of a cursor in a header field.
    package static func key(of page: PageRequest) -> UInt64 { key(of: page.request, page.cursor) }

    /// A key that identifies a request: from its method, address and body.
    package static func key(of request: Request) -> UInt64 { key(of: request, nil) }

    private static func key(of request: Request, _ cursor: PageCursor?) -> UInt64 {
        var crc = CRC64()
        func add(_ text: String) {
            var text = text + "\n"
            text.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        }
        add(request.method.rawValue)
        // The fragment is not sent.
        add(String(request.url.absoluteString.prefix { $0 != "#" }))
        if let cursor, case .header(let name) = cursor.target { add("\(name): \(cursor.json)") }
        if case .bytes(let bytes) = request.body?.content { bytes.withUnsafeBytes { crc.update($0) } }
        return crc.value
    }
}

// Stored as one string of digits: five hundred lines in the journal would hide the rest.
extension PageMarks: Codable {
    private enum CodingKeys: String, CodingKey {
        case stride = "every"
        case keys
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        stride = try container.decode(Int.self, forKey: .stride)
        // Twice the stride is a number, too.
        guard (1...Int.max / 4).contains(stride) else {
            throw DecodingError.dataCorruptedError(forKey: .stride, in: container, debugDescription: "no stride")
        }
        let digits = try container.decode(String.self, forKey: .keys).utf8
        var rest = digits[...]
        while !rest.isEmpty {
            guard let key = UInt64(Substring(rest.prefix(16)), radix: 16), rest.count >= 16,
                keys.count < Self.limit
            else {
                throw DecodingError.dataCorruptedError(forKey: .keys, in: container, debugDescription: "no marks")
            }
            keys.append(key)
            rest = rest.dropFirst(16)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(stride, forKey: .stride)
        let digits = keys.map { key in
            let text = String(key, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        try container.encode(digits.joined(), forKey: .keys)
    }
}
