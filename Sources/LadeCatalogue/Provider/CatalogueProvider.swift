public import Lade

/// The catalogue with its own loader, for applications.
///
/// ```swift
/// let provider = try CatalogueProvider(Catalogue(.production, unit: .rts))
/// CatalogueProvider.setCurrent(provider)
///
/// let topics = try await provider.load { try $0.tvTopics() }
/// let latest = try await provider.load(size: 20) { try $0.tvLatestEpisodes() }.items
/// let others = try await provider.load { try $0.tvTopics(.srf) }
/// ```
///
/// The calls of a catalogue that was made for a business unit, such as `.rts` here, need no other. `load` loads the
/// first page of a list in pages, and ``pages(size:prefetch:from:_:)`` loads all of them.
///
/// A program can have several providers. When the last reference to a provider is released, its loads are cancelled. The
/// closures of calls of ``loader`` and of request handles are not called afterwards. Pages that are iterated, and calls that
/// are awaited, keep the provider.
public final class CatalogueProvider: Sendable {
    /// The services of the catalogue.
    public let catalogue: Catalogue
    /// The loader for the services.
    public let loader: Loader

    /// Makes a provider that uses the connections of a service, signed out.
    public convenience init(_ catalogue: Catalogue, service: Service) {
        self.init(catalogue, loader: service.anonymous.makeLoader())
    }

    /// Makes a provider with its own service.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for an invalid setting.
    public convenience init(
        _ catalogue: Catalogue,
        settings: Service.Settings = Service.Settings()
    ) throws(LoadingError) {
        self.init(catalogue, loader: try Loader(settings))
    }

    /// Makes a provider with a loader, which must not be used for anything else.
    public init(_ catalogue: Catalogue, loader: Loader) {
        self.catalogue = catalogue
        self.loader = loader
    }

    deinit {
        // A request handle keeps its loader; the provider's release ends it all the same.
        loader.dissolve()
    }

    // MARK: - The shared provider

    private static let shared = Locked<CatalogueProvider?>(nil)

    /// The provider that the whole program shares; nil until one is set.
    public static var current: CatalogueProvider? { shared.withLock { $0 } }

    /// Sets the provider that the whole program shares, and keeps it until another one is set.
    ///
    /// - Returns: The previous provider.
    @discardableResult
    public static func setCurrent(_ provider: CatalogueProvider?) -> CatalogueProvider? {
        shared.withLock { current in
            defer { current = provider }
            return current
        }
    }

    // MARK: - Loading

    /// Loads the value of a service.
    ///
    /// - Parameter make: Makes the endpoint.
    /// - Returns: The value.
    /// - Throws: ``CatalogueError`` for an invalid request; `LoadingError` when loading fails.
    public func load<Value>(
        _ make: (Catalogue) throws -> Endpoint<Value>
    ) async throws -> Value {
        try await loader.load(make(catalogue))
    }

    /// Loads the value of the first page of a service; its size is 10 by default.
    ///
    /// Where a service has a list and pages under one name, the list is loaded unless the type of the result says
    /// otherwise.
    ///
    /// - Parameters:
    ///   - size: The number of items on the page, from 1 to 100, or ``Catalogue/PageSize/unlimited``.
    ///   - make: Makes the endpoint.
    /// - Returns: The value.
    /// - Throws: ``CatalogueError`` for an invalid request or page size; `LoadingError` when loading fails.
    @_disfavoredOverload
    public func load<Value>(
        size: Int = Catalogue.PageSize.default,
        _ make: (Catalogue) throws -> PagedEndpoint<Value>
    ) async throws -> Value {
        try Catalogue.PageSize.validate(size)
        return try await loader.load(make(catalogue), size: size)
    }

    /// The pages of a service; nothing is loaded before the iteration starts.
    ///
    /// - Parameters:
    ///   - size: The number of items per page, from 1 to 100, or ``Catalogue/PageSize/unlimited``; 10 by default.
    ///   - prefetch: The number of pages to load ahead; none by default.
    ///   - start: The page to start with, such as the page of a `PageError`; nil for the first page.
    ///   - make: Makes the endpoint.
    /// - Returns: The sequence.
    /// - Throws: ``CatalogueError`` for an invalid request or page size.
    public func pages<Value>(
        size: Int = Catalogue.PageSize.default,
        prefetch: Int = 0,
        from start: PageRequest? = nil,
        _ make: (Catalogue) throws -> PagedEndpoint<Value>
    ) throws -> Pages.Sequence<Value> {
        try Catalogue.PageSize.validate(size)
        return try make(catalogue).pages(size: size, prefetch: prefetch, from: start) {
            (endpoint) async throws(LoadingError) in
            try await self.loader.loadValue(of: endpoint)
        }
    }
}

extension CatalogueProvider: CustomStringConvertible {
    /// The address of the service.
    public var description: String { "CatalogueProvider for the \(catalogue)" }
}
