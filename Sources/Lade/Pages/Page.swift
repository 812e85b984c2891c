import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A page of a list that a server gives in pieces: which one, how large, and the request that fetches it.
///
/// Pages are never made by callers: they come from a ``PagedEndpoint`` or a ``PageSequence``, and from a
/// ``PageFailure``, to go on from there. Two pages are equal when size, number and address are. Source: brief
/// `srg-network.txt`, `requests-pages-queues.md` §3.1.
public struct Page: Sendable {
    /// How many items were asked for.
    ///
    /// 0 leaves it to the service. What comes back may be more or less.
    public let size: Int
    /// 0 for the first page, one more for each that follows.
    public let number: Int
    /// What fetches the page.
    package let request: Request
    /// How many items the pages before this one had, where that is known.
    package let itemsBefore: Int?

    package init(size: Int, number: Int, request: Request, itemsBefore: Int?) {
        self.size = size
        self.number = number
        self.request = request
        self.itemsBefore = itemsBefore
    }
}

extension Page: Hashable {
    /// Whether size, number and address are the same.
    public static func == (lhs: Page, rhs: Page) -> Bool {
        lhs.size == rhs.size && lhs.number == rhs.number && lhs.request.url == rhs.request.url
    }

    /// Hashes size, number and address.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(size)
        hasher.combine(number)
        hasher.combine(request.url)
    }
}

extension Page: CustomStringConvertible {
    /// The number, the size and the address without secrets.
    public var description: String {
        "page \(number), size \(size == 0 ? "unspecified" : String(size)), \(request)"
    }
}
