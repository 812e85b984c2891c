import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A page of a list: its number, its size, and the request that loads it.
///
/// Pages are never made by callers: they come from a ``PagedEndpoint``, a ``Pages/Page``, a ``PageError``, or from a
/// decoder that reads what an encoder wrote. Two pages are equal when size, number, address and cursor are. Source: SRG Network,
/// `SRGPage`.
public struct PageRequest: Sendable {
    /// The number of items that were requested.
    ///
    /// 0 leaves it to the service. The page may contain more or fewer.
    public let size: Int
    /// The number of the page, from 0.
    public let number: Int
    /// The request that loads the page.
    package var request: Request
    /// The number of items on all earlier pages, if known.
    package let itemsBefore: Int?
    /// Marks of the pages before this one, which reveal a loop; empty where pages are counted.
    var trail = PageMarks()
    /// The contents of earlier pages, which this page must not have again; nil for a first page, and where contents are not
    /// compared.
    package var contents: PageContents?
    /// The cursor in the request; nil where the address is all that distinguishes it from others.
    package var cursor: PageCursor?
    /// The number of pages without items directly before this one.
    package var emptyBefore = 0
    /// Whether it was read by a decoder: everything but method, address and body is its endpoint's.
    var isDetached = false

    package init(size: Int, number: Int, request: Request, itemsBefore: Int?) {
        self.size = size
        self.number = number
        self.request = request
        self.itemsBefore = itemsBefore
    }
}

extension PageRequest: Hashable {
    /// Whether size, number, address and cursor are the same.
    public static func == (lhs: PageRequest, rhs: PageRequest) -> Bool {
        lhs.size == rhs.size && lhs.number == rhs.number && lhs.request.url == rhs.request.url
            && lhs.cursor == rhs.cursor
    }

    /// Hashes size, number and address.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(size)
        hasher.combine(number)
        hasher.combine(request.url)
    }
}

extension PageRequest: CustomStringConvertible {
    /// The number, the size and the address without secrets.
    public var description: String {
        "page \(number), size \(size == 0 ? "unspecified" : String(size)), \(request)"
    }
}
