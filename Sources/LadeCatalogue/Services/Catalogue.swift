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
/// The catalogue is a value that makes requests but sends none. An invalid request throws a ``CatalogueError`` before
/// anything is sent: a service that the business unit does not offer, a malformed URN, an empty query.
/// ``CatalogueProvider`` adds a loader.
///
/// A catalogue for one business unit needs it only once:
///
/// ```swift
/// let catalogue = try Catalogue(.production, unit: .rts)
/// let topics = try await loader.load(catalogue.tvTopics())
/// ```
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
    /// The business unit of calls that name none; nil when each call must name one.
    public var unit: BusinessUnit?
    /// Header fields of every request.
    public var globalHeaders = Headers()
    /// Query items of every request, such as `forceLocation`, sent in the order of their names.
    public var globalParameters: [String: String] = [:]
    /// The kind of device that receives the responses; the current platform's by default.
    public var vector = Vector.current
    /// The decoder for responses.
    public var decoder = CatalogueDecoder()
    /// Whether a service that a business unit does not offer is an error before a request is sent; true by default.
    ///
    /// Without the check the service itself responds. The services of a business unit change over the years.
    public var checksAvailability = true

    /// Makes the catalogue for a public installation.
    public init(_ stage: Stage = .production, unit: BusinessUnit? = nil) throws(CatalogueError) {
        try self.init(stage.rawValue, unit: unit)
    }

    /// Makes the catalogue for a base address.
    ///
    /// - Throws: ``CatalogueError/serviceURL(_:reason:)`` for anything but an absolute address with http or https, and
    ///   without query and fragment.
    public init(_ serviceURL: URL, unit: BusinessUnit? = nil) throws(CatalogueError) {
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
        self.unit = unit
    }

    /// Makes the catalogue for a base address.
    ///
    /// - Throws: The same errors as ``init(_:unit:)-(URL,_)``.
    public init(_ serviceURL: String, unit: BusinessUnit? = nil) throws(CatalogueError) {
        let url: URL
        do throws(AddressFault) {
            url = try AddressFault.address(serviceURL, ofAnyProtocol: true)
        } catch {
            throw .serviceURL(Redaction.standard.unparsable(serviceURL).escapedForDisplay(), reason: error.clause)
        }
        try self.init(url, unit: unit)
    }

    // MARK: - Requests

    /// Makes the request of a service, whose value is the raw response.
    ///
    /// - Parameters:
    ///   - service: The service.
    ///   - unit: The business unit; by default the one of the catalogue. Services without a business unit in their path need none.
    ///   - values: The values of path variables and query items, by name; query items without a value are omitted.
    /// - Returns: The endpoint.
    /// - Throws: ``CatalogueError`` when the business unit does not offer the service, and for an invalid value.
    public func endpoint(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Data> {
        var values = values
        values["bu"] = try checkAvailability(of: service, unit)?.rawValue
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

    /// The endpoint of the service with a name.
    func endpoint(
        _ name: String,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Data> {
        try endpoint(service(name), unit, values)
    }

    private func service(_ name: String) throws(CatalogueError) -> CatalogueService {
        guard let service = CatalogueService.named(name) else { throw .unknownService(name) }
        return service
    }

    /// The business unit for a service: the given unit, or the catalogue's where the service needs one.
    @discardableResult
    func checkAvailability(
        of service: CatalogueService,
        _ given: BusinessUnit?
    ) throws(CatalogueError) -> BusinessUnit? {
        guard let unit = given ?? (service.needsBusinessUnit ? self.unit : nil) else {
            guard service.needsBusinessUnit else { return nil }
            throw .missingBusinessUnit(service: service.name, availableFor: service.sortedUnits)
        }
        guard checksAvailability, !service.units.contains(unit) else { return unit }
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

    // MARK: - Responses

    func object<Value: Decodable & Sendable>(
        _ name: String,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Value> {
        try endpoint(name, unit, values).decoding(Value.self)
    }

    func list<Item: ListedModel>(
        _ name: String,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<[Item]> {
        try endpoint(name, unit, values).decoding(Listing<Item>.self).map(\.items)
    }

    func pages<Item: ListedModel>(
        _ name: String,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Item>> {
        let service = try service(name)
        let endpoint = try endpoint(service, unit, values).decoding(Listing<Item>.self)
        return PagedEndpoint(endpoint, paginator: .target { $0.next }, itemCount: { $0.items.count }).sized(
            for: service
        )
    }

    func objectPages<Object: CatalogueModel>(
        _ name: String,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<Object>> {
        let service = try service(name)
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
        paged.sizer = Catalogue.PageSize.sizer(for: service)
        paged.sizes = Catalogue.PageSize.sizes(for: service)
        paged.otherOrigins = .replacedByFirst
        return paged
    }
}

extension Catalogue: CustomStringConvertible {
    /// The address of the catalogue.
    public var description: String { "catalogue at \(serviceURL.absoluteString)" }
}
