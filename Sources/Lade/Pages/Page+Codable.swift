import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A page can be stored, to continue with it in another run of the program.
///
/// Method, address and a body of bytes are stored, header fields are not. A page that was read back is loaded with the
/// fields of its endpoint. An address on another origin than the endpoint's is followed like a link of a server, by
/// ``PagedEndpoint/otherOrigins``. The address is stored whole, so a page is as confidential as its address.
extension PageRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case size, number, itemsBefore, method, url, body, trail, contents, cursor, emptyBefore
    }

    /// Reads a page.
    ///
    /// - Throws: `DecodingError` for a negative number, and for an address that is not one of HTTP.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int {
            let value = try container.decode(Int.self, forKey: key)
            guard value >= 0 else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "below 0")
            }
            return value
        }
        let method = try container.decodeIfPresent(String.self, forKey: .method)
        let address = try container.decode(String.self, forKey: .url)
        var request: Request
        do throws(LoadingError) {
            request = try Request(method.map { name throws(LoadingError) in try Request.Method(name) } ?? .get, address)
        } catch {
            throw DecodingError.dataCorruptedError(forKey: .url, in: container, debugDescription: "\(error)")
        }
        guard request.isHTTP else {
            throw DecodingError.dataCorruptedError(forKey: .url, in: container, debugDescription: "not an HTTP address")
        }
        if let body = try container.decodeIfPresent(Data.self, forKey: .body) { request.body = .bytes(body) }
        self.init(
            size: try count(.size),
            number: try count(.number),
            request: request,
            itemsBefore: try container.contains(.itemsBefore) ? count(.itemsBefore) : nil
        )
        trail = try container.decodeIfPresent(PageMarks.self, forKey: .trail) ?? PageMarks()
        contents = try container.decodeIfPresent(PageContents.self, forKey: .contents)
        cursor = try container.decodeIfPresent(PageCursor.self, forKey: .cursor)
        emptyBefore = try container.contains(.emptyBefore) ? count(.emptyBefore) : 0
        isDetached = true
    }

    /// Writes a page.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(size, forKey: .size)
        try container.encode(number, forKey: .number)
        try container.encodeIfPresent(itemsBefore, forKey: .itemsBefore)
        if request.method != .get { try container.encode(request.method.rawValue, forKey: .method) }
        try container.encode(request.url.absoluteString, forKey: .url)
        if case .bytes(let bytes) = request.body?.content { try container.encode(bytes, forKey: .body) }
        if !trail.keys.isEmpty { try container.encode(trail, forKey: .trail) }
        try container.encodeIfPresent(contents, forKey: .contents)
        try container.encodeIfPresent(cursor, forKey: .cursor)
        if emptyBefore > 0 { try container.encode(emptyBefore, forKey: .emptyBefore) }
    }
}
