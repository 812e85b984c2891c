import Lade

/// The number of items on a page of the catalogue.
public enum PageSize {
    /// The default size.
    public static let `default` = 10
    /// The maximum that the service delivers; a larger size is sent as this number.
    public static let maximum = 100
    /// All items on one page, for services that support it; sent as `unlimited`.
    public static let unlimited = Int.max
    /// The maximum number of URNs in one request.
    public static let maximumURNs = 50

    /// Validates a requested size.
    ///
    /// - Throws: ``CatalogueError/pageSize(_:allowed:)`` for any value other than 1 to 100 and ``unlimited``.
    static func validate(_ size: Int) throws(CatalogueError) {
        guard (1...maximum).contains(size) || size == unlimited else { throw .pageSize(size, allowed: 1...maximum) }
    }

    static func sizer(for service: CatalogueService) -> Sizer? {
        guard service.paging.isSized else { return nil }
        return Sizer { request, size in
            let text = size == unlimited ? "unlimited" : String(min(size, maximum))
            return Endpoint(request).query("pageSize", text).request
        }
    }
}
