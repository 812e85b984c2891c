import LadeCore

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension Pages.Rule {
    /// The treatment of a page with the same content as the first page or the page before it.
    ///
    /// A server that ignores the page number or the offset sends the same page for every request, so the list has no end. Other
    /// servers send their last page, or their first one, again after the end of the list.
    public enum RepeatedPages: String, Sendable, Hashable {
        /// The page is not delivered, and the pages end with ``PageError/Cause/repeated``.
        case refused
        /// The page is not delivered, and the list counts as complete.
        ///
        /// For a server that sends a page again after the end of the list. Where a server ignores the page number, everything
        /// but the first page is missing. A page that is loaded alone, as by ``Loader/load(_:of:)``, is refused.
        case end
        /// The page is delivered.
        ///
        /// For a list in which different pages may have the same content. The list needs a limit, or it may have no
        /// end.
        case kept
    }
}

/// The contents of the first page and of the previous page, with which the next page is compared.
///
/// Checksums, because they are stored with a page, and because contents take too much memory.
package struct PageContents: Hashable, Sendable {
    package let first: UInt64
    package let last: UInt64

    /// Makes the contents from their checksums.
    package init(first: UInt64, last: UInt64) {
        self.first = first
        self.last = last
    }

    /// Whether a page has the content of one of these pages.
    func contains(_ content: UInt64) -> Bool { content == first || content == last }

    /// The contents for the page after a page with this content; nil for an unknown one.
    static func following(_ content: UInt64?, after earlier: PageContents?) -> PageContents? {
        guard let content else { return earlier }
        return PageContents(first: earlier?.first ?? content, last: content)
    }

    /// The checksum of a page's content.
    package static func checksum(_ bytes: Data) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.update($0) }
        return crc.value
    }
}

// Stored as text: many programs that read JSON round large numbers.
extension PageContents: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let numbers = try container.decode(String.self).utf8.split(separator: UInt8(ascii: " ")).map {
            UInt64(Substring($0), radix: 16)
        }
        guard numbers.count == 2, let first = numbers[0], let last = numbers[1] else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not two checksums")
        }
        self.init(first: first, last: last)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(String(first, radix: 16)) \(String(last, radix: 16))")
    }
}
