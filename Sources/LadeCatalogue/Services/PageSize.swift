import Lade

/// How many items a page of the catalogue may have.
public enum PageSize {
    /// What is asked for unless the caller says otherwise.
    public static let `default` = 10
    /// The most that the service delivers; what is asked for beyond is sent as this.
    public static let maximum = 100
    /// All items on one page, from the services that allow it; sent as `unlimited`.
    public static let unlimited = Int.max
    /// The most URNs that the service takes at a time.
    public static let maximumURNs = 50

    /// Checks a size that a caller asks for.
    ///
    /// - Throws: ``CatalogueError/pageSize(_:allowed:)`` for anything but 1 to 100 and ``unlimited``.
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
