import Lade

extension Catalogue {
    /// The number of items on a page of the catalogue.
    ///
    /// ``CatalogueProvider`` refuses a size that the services do not deliver. The endpoints of ``Catalogue`` replace it by
    /// the nearest, as the first generation of the data provider did: 1 for 0, and 100 for 101.
    public enum PageSize {
        /// The default size.
        public static let `default` = 10
        /// The maximum that the service delivers; a larger size is replaced by this number.
        public static let maximum = 100
        /// All items on one page, for services that support it; sent as `unlimited`.
        public static let unlimited = Int.max
        /// The maximum number of URNs in one request.
        public static let maximumURNs = 50

        /// Validates a requested size.
        ///
        /// - Throws: ``CatalogueError/pageSize(_:allowed:)`` for any value other than 1 to 100 and ``unlimited``.
        public static func validate(_ size: Int) throws(CatalogueError) {
            guard (1...maximum).contains(size) || size == unlimited else { throw .pageSize(size, allowed: 1...maximum) }
        }

        /// The sizes that a page of a service has when another size, or none, is requested; nil when the service chooses.
        static func sizes(for service: CatalogueService) -> Pages.Sizes? {
            guard service.paging.isSized else { return nil }
            return Pages.Sizes(standard: `default`, allowed: 1...maximum, unlimited: unlimited)
        }

        static func sizer(for service: CatalogueService) -> Pages.Sizer? {
            guard service.paging.isSized else { return nil }
            return Pages.Sizer { request, size in
                Endpoint(request).query("pageSize", size == unlimited ? "unlimited" : String(size)).request
            }
        }
    }
}
