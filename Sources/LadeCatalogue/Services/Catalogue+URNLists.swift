#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import Lade

extension Catalogue {
    /// Some medias, in the order of their URNs; the service omits unknown ones.
    ///
    /// The URNs are sent one page at a time, 10 by default, so the list can have any length. The service accepts at
    /// most 50 per page.
    ///
    /// - Throws: ``CatalogueError/malformedURN(_:)`` for a URN that is empty or cannot be sent in a list.
    public func medias(urns: [String]) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        try urnPages("medias", urns) { $0.decoding(Listing<Media>.self) }
    }

    /// Some shows, in the order of their URNs, with the same rules as ``medias(urns:)``.
    public func shows(urns: [String]) throws(CatalogueError) -> PagedEndpoint<Listing<Show>> {
        try urnPages("shows", urns) { $0.decoding(Listing<Show>.self) }
    }

    func urnPages<Value>(
        _ name: String,
        _ urns: [String],
        _ decoding: (Endpoint<Data>) -> Endpoint<Value>
    ) throws(CatalogueError) -> PagedEndpoint<Value> {
        // All URNs are validated before the first request.
        _ = try joined(urns[...])
        let first = urns.prefix(PageSize.default).joined(separator: ",")
        return PagedEndpoint(
            decoding(try endpoint(name, nil, ["urns": first])),
            sizer: Pages.Sizer { request, size in Self.request(request, urns.prefix(size)) },
            paginator: Pages.Paginator { page in
                let size = page.size == 0 ? PageSize.default : page.size
                let (start, isBeyond) = page.number.multipliedReportingOverflow(by: size)
                guard !isBeyond, start < urns.count else { return nil }
                return Self.request(page.original, urns.dropFirst(start).prefix(size))
            }
        )
    }

    private static func request(_ request: Request, _ urns: some Sequence<String>) -> Request {
        Endpoint(request).query("urns", urns.joined(separator: ",")).request
    }
}
