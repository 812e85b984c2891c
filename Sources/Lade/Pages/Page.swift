import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A page of a list that a server gives in pieces: which one, how large, and the request that fetches it.
///
/// Pages are never made by callers: they come from a ``PagedEndpoint``, a ``LoadedPage``, a ``PageFailure``, or from a
/// decoder that reads what an encoder wrote. Two pages are equal when size, number and address are. Source: SRG Network,
/// `SRGPage`.
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
    /// Which pages were passed before this one, to notice that a server leads in a circle; empty where pages are counted.
    var trail = PageMarks()
    /// Whether it was read by a decoder: everything but method, address and body is its endpoint's.
    var isDetached = false

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
