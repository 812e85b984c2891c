#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// The services of the media catalogue, as endpoints that any loader loads.
///
/// ```swift
/// let catalogue = try Catalogue(.production)
/// let topics = try await loader.load(catalogue.tvTopics(.rts))
/// for try await page in loader.pages(of: try catalogue.tvLatestEpisodes(.rts), size: 20) {
///     render(page.value.items)
/// }
/// ```
///
/// The catalogue is a value that makes requests but sends none. It throws a ``CatalogueError`` before anything is sent,
/// for a service that the business unit does not offer, for a malformed URN, or for an empty query.
/// ``CatalogueProvider`` adds a loader.
public struct Catalogue: Sendable {
    /// A public installation of the service.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
        /// The installation for released applications.
        case production = "https://il.srgssr.ch"
        /// The installation for the next release.
        case staging = "https://il-stage.srgssr.ch"
        /// The installation for tests.
        case test = "https://il-test.srgssr.ch"
    }

    /// The kind of device that receives the responses.
    public enum Vector: String, Sendable, Hashable, CaseIterable {
        /// Phones, tablets, computers, watches.
        case app = "appplay"
        /// Television sets.
        case tv = "tvplay"

        /// The kind of device for the current platform.
        public static var current: Vector {
            #if os(tvOS)
                .tv
            #else
                .app
            #endif
        }
    }

    /// The base address, unchanged.
    public let serviceURL: URL
    /// Header fields of every request.
    public var globalHeaders = Headers()
    /// Query items of every request, such as `forceLocation`, sent in the order of their names.
    public var globalParameters: [String: String] = [:]
    /// The kind of device that receives the responses; that of the current platform by default.
    public var vector = Vector.current
    /// The decoder for responses.
    public var decoder = CatalogueDecoder()
    /// Whether a service that a business unit does not offer is an error before a request is sent; true by default.
    ///
    /// Without the check the service itself responds. The services of a business unit change over the years.
    public var checksAvailability = true

    /// Makes the catalogue for a public installation.
    public init(_ stage: Stage = .production) throws(CatalogueError) {
        try self.init(stage.rawValue)
    }

    /// Makes the catalogue for a base address.
    ///
    /// - Throws: ``CatalogueError/serviceURL(_:reason:)`` for anything but an absolute address with http or https, and
    ///   without query and fragment.
    public init(_ serviceURL: URL) throws(CatalogueError) {
        let request = Request(serviceURL)
        let reason: String? =
            if !["http", "https"].contains(serviceURL.scheme?.lowercased()) {
                "it is not http or https"
            } else if serviceURL.query(percentEncoded: true) != nil || serviceURL.fragment(percentEncoded: true) != nil
            {
                "it has a query or a fragment"
            } else {
                nil
            }
        do {
            try request.validate()
        } catch {
            throw .request(error)
        }
        if let reason { throw .serviceURL(serviceURL.absoluteString.escapedForDisplay(limit: 200), reason: reason) }
        self.serviceURL = serviceURL
    }

    /// Makes the catalogue for a base address.
    ///
    /// - Throws: The same errors as ``init(_:)-(URL)``.
    public init(_ serviceURL: String) throws(CatalogueError) {
        guard let url = URL(string: serviceURL, encodingInvalidCharacters: false) else {
            throw .serviceURL(serviceURL.escapedForDisplay(limit: 200), reason: "it cannot be parsed")
        }
        try self.init(url)
    }

    // MARK: - Requests

    /// Makes the request of a service, whose value is the raw response.
    ///
    /// - Parameters:
    ///   - service: The service.
    ///   - unit: The business unit; not needed for services without one in their path.
    ///   - values: The values of path variables and query items, by name; query items without a value are omitted.
    /// - Returns: The endpoint.
    /// - Throws: ``CatalogueError`` when the business unit does not offer the service, and for an invalid value.
    public func endpoint(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Data> {
        if let unit { try checkAvailability(of: service, unit) }
        var values = values
        if let unit { values["bu"] = unit.rawValue }
        let path = try service.path(values)
        var api = API(serviceURL)
        api.headers = globalHeaders
        api.decoder = decoder
        var endpoint: Endpoint<Data>
        do {
            endpoint = try api.endpoint(service.method, API.Path(stringLiteral: path))
        } catch {
            throw .request(error)
        }
        // A redirect is always an error, because the catalogue never redirects.
        endpoint.request.redirectLimit = 0
        for (name, value) in items(service, values) { endpoint = endpoint.query(name, value) }
        return endpoint
    }

    func checkAvailability(of service: CatalogueService, _ unit: BusinessUnit) throws(CatalogueError) {
        guard checksAvailability, !service.units.contains(unit) else { return }
        throw .unavailable(service: service.name, unit, availableFor: service.sortedUnits)
    }

    private func items(_ service: CatalogueService, _ values: [String: String]) -> [(String, String)] {
        let own = service.query.compactMap { item -> (String, String)? in
            let parts = item.parts(at: "=", most: 2, omitsEmpty: true)
            if parts.count == 2 { return (String(parts[0]), String(parts[1])) }
            return values[item].map { (item, $0) }
        }
        let vector = [("vector", vector.rawValue)]
        let global = globalParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if service.isFirstGeneration { return global + vector + own }
        let size = service.paging.isSized ? [("pageSize", String(PageSize.default))] : []
        return global + own + vector + size
    }

    // MARK: - Answers

    func object<Value: Decodable & Sendable>(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Value> {
        try endpoint(service, unit, values).decoding(Value.self)
    }

    func list<Item: ListedModel>(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<[Item]> {
        try endpoint(service, unit, values).decoding(Listing<Item>.self).map(\.items)
    }

    func pages<Item: ListedModel>(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Item>> {
        let endpoint = try endpoint(service, unit, values).decoding(Listing<Item>.self)
        return PagedEndpoint(endpoint, paginator: .target { $0.next }, itemCount: { $0.items.count }).sized(
            for: service
        )
    }

    func objectPages<Object: CatalogueModel>(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<Object>> {
        let endpoint = try endpoint(service, unit, values).decoding(PagedObject<Object>.self)
        return PagedEndpoint(endpoint, paginator: .target { $0.next }).sized(for: service)
    }
}

extension PagedEndpoint {
    /// The pages with the sizes of a service, all of them from the host that the catalogue was made for.
    ///
    /// A mirror, or a test server, may name the public installation in `next`.
    func sized(for service: CatalogueService) -> PagedEndpoint {
        var paged = self
        paged.sizer = PageSize.sizer(for: service)
        paged.sizes = PageSize.sizes(for: service)
        paged.otherOrigins = .replacedByFirst
        return paged
    }
}

extension Catalogue: CustomStringConvertible {
    /// The address of the catalogue.
    public var description: String { "catalogue at \(serviceURL.absoluteString)" }
}
