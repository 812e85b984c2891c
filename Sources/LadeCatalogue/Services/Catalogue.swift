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
/// A value that makes requests and sends none. What a service cannot answer is a ``CatalogueError`` before anything is
/// sent: a business unit that does not have it, a malformed URN, an empty query. ``CatalogueProvider`` adds a loader.
public struct Catalogue: Sendable {
    /// A public installation of the service.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
        /// What applications use.
        case production = "https://il.srgssr.ch"
        /// What comes next.
        case staging = "https://il-stage.srgssr.ch"
        /// What is being tried.
        case test = "https://il-test.srgssr.ch"
    }

    /// What kind of device the answers are for.
    public enum Vector: String, Sendable, Hashable, CaseIterable {
        /// Phones, tablets, computers, watches.
        case app = "appplay"
        /// Television sets.
        case tv = "tvplay"

        /// The kind of the platform that the program is built for.
        public static var current: Vector {
            #if os(tvOS)
                .tv
            #else
                .app
            #endif
        }
    }

    /// The address that paths are appended to, as it was given.
    public let serviceURL: URL
    /// Header fields of every request.
    public var globalHeaders = Headers()
    /// Query items of every request, such as `forceLocation`; sent in the order of their names.
    public var globalParameters: [String: String] = [:]
    /// What kind of device the answers are for; that of the platform by default.
    public var vector = Vector.current
    /// Decodes the answers.
    public var decoder = CatalogueDecoder()
    /// Whether a service that a business unit does not have is refused before anything is sent; it is by default.
    ///
    /// Without the check the service says so itself, or answers: what it can do changes over the years.
    public var checksAvailability = true

    /// Makes the catalogue of a public installation.
    public init(_ stage: Stage = .production) throws(CatalogueError) {
        try self.init(stage.rawValue)
    }

    /// Makes the catalogue at an address.
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

    /// Makes the catalogue at an address.
    ///
    /// - Throws: The same as ``init(_:)-(URL)``.
    public init(_ serviceURL: String) throws(CatalogueError) {
        guard let url = URL(string: serviceURL) else {
            throw .serviceURL(serviceURL.escapedForDisplay(limit: 200), reason: "it cannot be parsed")
        }
        try self.init(url)
    }

    // MARK: - Requests

    /// Makes the request of a service, whose value is the raw answer.
    ///
    /// - Parameters:
    ///   - service: The service.
    ///   - unit: The business unit; not needed by services without one in their path.
    ///   - values: The values of the path's variables and of the query items, by name; what is missing of the latter is left
    ///     out.
    /// - Returns: The endpoint.
    /// - Throws: ``CatalogueError`` when the business unit does not have the service, and for a value that cannot be sent.
    public func endpoint(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> Endpoint<Data> {
        if let unit, checksAvailability, !service.units.contains(unit) {
            throw .unavailable(
                service: service.name,
                unit,
                availableFor: service.units.sorted { $0.rawValue < $1.rawValue }
            )
        }
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
        // A redirect of the catalogue is an error of its own: it never has any.
        endpoint.request.redirectLimit = 0
        for (name, value) in items(service, values) { endpoint = endpoint.query(name, value) }
        return endpoint
    }

    private func items(_ service: CatalogueService, _ values: [String: String]) -> [(String, String)] {
        let own = service.query.compactMap { item -> (String, String)? in
            let parts = item.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { return (String(parts[0]), String(parts[1])) }
            return values[item].map { (item, $0) }
        }
        let vector = [("vector", vector.rawValue)]
        let global = globalParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if service.isSeedEra { return global + vector + own }
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
        PagedEndpoint(
            try endpoint(service, unit, values).decoding(Listing<Item>.self),
            sizer: PageSize.sizer(for: service),
            paginator: .target { $0.next },
            itemCount: { $0.items.count }
        )
    }

    func objectPages<Object: CatalogueModel>(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<PagedObject<Object>> {
        PagedEndpoint(
            try endpoint(service, unit, values).decoding(PagedObject<Object>.self),
            sizer: PageSize.sizer(for: service),
            paginator: .target { $0.next }
        )
    }
}

extension Catalogue: CustomStringConvertible {
    /// The address of the service.
    public var description: String { "catalogue at \(serviceURL.absoluteString)" }
}
