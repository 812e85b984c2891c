public import Lade

/// The catalogue with a loader of its own, for applications.
///
/// ```swift
/// let provider = CatalogueProvider(try Catalogue(.production))
/// CatalogueProvider.setCurrent(provider)
///
/// let topics = try await provider.load { try $0.tvTopics(.rts) }
/// ```
///
/// There may be several at a time. When the last reference to one is released, what it loads is cancelled and nothing
/// calls back.
public final class CatalogueProvider: Sendable {
    /// The services.
    public let catalogue: Catalogue
    /// What loads them.
    public let loader: Loader

    /// Makes a provider on a service's connections; signed out.
    public convenience init(_ catalogue: Catalogue, service: Service) {
        self.init(catalogue, loader: service.anonymous.makeLoader())
    }

    /// Makes a provider with a service of its own.
    ///
    /// - Throws: `LoadingError.invalidSetting` for a setting that cannot be used.
    public convenience init(
        _ catalogue: Catalogue,
        settings: Service.Settings = Service.Settings()
    ) throws(LoadingError) {
        self.init(catalogue, loader: try Loader(settings))
    }

    /// Makes a provider with a loader, which should not be used for anything else.
    public init(_ catalogue: Catalogue, loader: Loader) {
        self.catalogue = catalogue
        self.loader = loader
    }

    // MARK: - The shared provider

    private static let shared = Locked<CatalogueProvider?>(nil)

    /// The provider that the whole program shares; nil until one is set.
    public static var current: CatalogueProvider? { shared.withLock { $0 } }

    /// Sets the provider that the whole program shares, which is kept until another one is set.
    ///
    /// - Returns: The one before.
    @discardableResult
    public static func setCurrent(_ provider: CatalogueProvider?) -> CatalogueProvider? {
        shared.withLock { current in
            defer { current = provider }
            return current
        }
    }

    // MARK: - Loading

    /// Loads what a service delivers.
    ///
    /// - Parameter make: Chooses the service.
    /// - Returns: The value.
    /// - Throws: ``CatalogueError`` for what cannot be asked for; `LoadingError` for what could not be loaded.
    public func load<Value>(
        _ make: (Catalogue) throws -> Endpoint<Value>
    ) async throws -> Value {
        try await loader.load(make(catalogue))
    }

    /// The pages that a service delivers; nothing is loaded until the sequence is walked.
    ///
    /// - Parameters:
    ///   - size: How many items a page has, from 1 to 100, or ``PageSize/unlimited``; 10 by default.
    ///   - prefetch: How many pages are loaded beyond the one asked for; none by default.
    ///   - make: Chooses the service.
    /// - Returns: The sequence.
    /// - Throws: ``CatalogueError`` for what cannot be asked for, and for another size.
    public func pages<Value>(
        size: Int = PageSize.default,
        prefetch: Int = 0,
        _ make: (Catalogue) throws -> PagedEndpoint<Value>
    ) throws -> PageSequence<Value> {
        try PageSize.validate(size)
        return loader.pages(of: try make(catalogue), size: size, prefetch: prefetch)
    }
}

extension CatalogueProvider: CustomStringConvertible {
    /// The address of the service.
    public var description: String { "CatalogueProvider for the \(catalogue)" }
}
