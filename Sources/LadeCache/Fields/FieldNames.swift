package import LadeCore

/// The fields of a section that mean something to a cache, found in one pass over the bytes of the names.
package struct FieldNames: OptionSet, Sendable, Hashable {
    /// A bit for each name.
    package let rawValue: UInt32

    /// Makes a set from bits.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    private init(bit: UInt32) { rawValue = 1 << bit }

    /// `Connection`.
    package static let connection = FieldNames(bit: 0)
    /// Any other field that belongs to one connection (RFC 9110 §7.6.1).
    package static let hopByHop = FieldNames(bit: 1)
    /// `Cache-Control`.
    package static let cacheControl = FieldNames(bit: 2)
    /// `Pragma`.
    package static let pragma = FieldNames(bit: 3)
    /// `Age`.
    package static let age = FieldNames(bit: 4)
    /// `Date`.
    package static let date = FieldNames(bit: 5)
    /// `Expires`.
    package static let expires = FieldNames(bit: 6)
    /// `Last-Modified`.
    package static let lastModified = FieldNames(bit: 7)
    /// `ETag`.
    package static let entityTag = FieldNames(bit: 8)
    /// `Vary`.
    package static let vary = FieldNames(bit: 9)
    /// `Content-Length`.
    package static let contentLength = FieldNames(bit: 10)
    /// `Content-Encoding`.
    package static let contentEncoding = FieldNames(bit: 11)
    /// `Set-Cookie`.
    package static let setCookie = FieldNames(bit: 12)
    /// `Clear-Site-Data`.
    package static let clearSiteData = FieldNames(bit: 13)
    /// `Repr-Digest` or `Content-Digest`.
    package static let digest = FieldNames(bit: 14)
    /// `Range`.
    package static let range = FieldNames(bit: 15)
    /// `If-None-Match`, `If-Modified-Since`, `If-Match`, `If-Unmodified-Since` or `If-Range`.
    package static let condition = FieldNames(bit: 16)
    /// `Authorization`.
    package static let authorization = FieldNames(bit: 17)
    /// `Host`.
    package static let host = FieldNames(bit: 18)
    /// `Accept-Encoding`.
    package static let acceptEncoding = FieldNames(bit: 19)

    /// The names that a section has.
    package init(_ headers: Headers) {
        var found: FieldNames = []
        headers.forEachName { found.formUnion(FieldNames(name: $1)) }
        self = found
    }

    /// The member for one name; empty for every other name.
    package init(name: UnsafeBufferPointer<UInt8>) {
        func isSpelled(_ text: StaticString) -> Bool {
            let text = text.utf8Start
            for index in 0..<name.count where name[index].lowercasedASCII != text[index] { return false }
            return true
        }
        let found: FieldNames =
            switch name.count {
            case 2: isSpelled("te") ? .hopByHop : []
            case 3: isSpelled("age") ? .age : []
            case 4:
                isSpelled("date")
                    ? .date
                    : isSpelled("etag")
                        ? .entityTag
                        : isSpelled("vary")
                            ? .vary
                            : isSpelled("host") ? .host : []
            case 5: isSpelled("range") ? .range : []
            case 6: isSpelled("pragma") ? .pragma : []
            case 7: isSpelled("expires") ? .expires : isSpelled("trailer") || isSpelled("upgrade") ? .hopByHop : []
            case 8: isSpelled("if-match") || isSpelled("if-range") ? .condition : []
            case 10:
                isSpelled("connection")
                    ? .connection
                    : isSpelled("set-cookie")
                        ? .setCookie
                        : isSpelled("keep-alive") ? .hopByHop : []
            case 11: isSpelled("repr-digest") ? .digest : []
            case 13:
                isSpelled("cache-control")
                    ? .cacheControl
                    : isSpelled("last-modified")
                        ? .lastModified
                        : isSpelled("if-none-match") ? .condition : isSpelled("authorization") ? .authorization : []
            case 14:
                isSpelled("content-length") ? .contentLength : isSpelled("content-digest") ? .digest : []
            case 15:
                isSpelled("accept-encoding") ? .acceptEncoding : isSpelled("clear-site-data") ? .clearSiteData : []
            case 16:
                isSpelled("content-encoding") ? .contentEncoding : isSpelled("proxy-connection") ? .hopByHop : []
            case 17:
                isSpelled("transfer-encoding") ? .hopByHop : isSpelled("if-modified-since") ? .condition : []
            case 18: isSpelled("proxy-authenticate") ? .hopByHop : []
            case 19:
                isSpelled("proxy-authorization") ? .hopByHop : isSpelled("if-unmodified-since") ? .condition : []
            case 25: isSpelled("proxy-authentication-info") ? .hopByHop : []
            default: []
            }
        self = found
    }
}
