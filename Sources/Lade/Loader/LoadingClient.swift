/// The calls that an app makes with a ``Loader``; a test, a preview or a wrapper can take its place.
///
/// Give view models and services of the app this protocol instead of a loader:
///
/// ```swift
/// struct ShowsStore {
///     let client: any LoadingClient
///
///     func titles() async throws -> [String] {
///         try await client.load(Endpoint("https://api.example.com/shows").decoding([String].self))
///     }
/// }
/// ```
///
/// ``Loader`` conforms to it. `ScriptedClient` of `LadeTesting` is a loader with scripted responses. A type of the app that
/// conforms implements the four requirements; everything else follows from them.
public protocol LoadingClient: Sendable {
    /// Loads a response; see ``Loader/load(_:)-(Request)``.
    ///
    /// - Throws: The error of the call; `LoadingError.Kind.unacceptableStatus` for an unacceptable status. Cancelling the
    ///   task cancels the call.
    func load(_ request: Request) async throws(LoadingError) -> Response

    /// Loads the value of an endpoint, and returns the response with it; see ``Loader/loadValue(of:)``.
    ///
    /// - Throws: The error of the call; `LoadingError.Kind.decoding` when a processor fails.
    func loadValue<Value>(of endpoint: Endpoint<Value>) async throws(LoadingError) -> Loader.Loaded<Value>

    /// Downloads into a file; see ``Loader/download(_:to:options:progress:)-(_,String,_,_)``.
    ///
    /// - Throws: The error of the call; `LoadingError.Kind.file` when the file cannot be written.
    func download(
        _ request: Request,
        to path: String,
        options: Download.Options,
        progress: (@Sendable (Download.Progress) -> Void)?
    ) async throws(LoadingError) -> Download

    /// The pages of a list, loaded while they are read; see ``Loader/pages(of:size:prefetch:pageLimit:from:meter:)``.
    func pages<Value>(of endpoint: PagedEndpoint<Value>, size: Int, prefetch: Int) -> Pages.Sequence<Value>
}

extension LoadingClient {
    /// Loads the value of an endpoint.
    ///
    /// - Throws: The error of the call; `LoadingError.Kind.decoding` when a processor fails.
    public func load<Value>(_ endpoint: Endpoint<Value>) async throws(LoadingError) -> Value {
        try await loadValue(of: endpoint).value
    }

    /// Downloads into a file with the default options.
    ///
    /// - Throws: The error of the call; `LoadingError.Kind.file` when the file cannot be written.
    public func download(_ request: Request, to path: String) async throws(LoadingError) -> Download {
        try await download(request, to: path, options: Download.Options(), progress: nil)
    }

    /// The pages of a list, one after the other.
    ///
    /// - Parameters:
    ///   - endpoint: The list.
    ///   - size: How many items a page should have; 0, the default, leaves it to the server.
    /// - Returns: The sequence, which loads nothing until it is read.
    public func pages<Value>(of endpoint: PagedEndpoint<Value>, size: Int = 0) -> Pages.Sequence<Value> {
        pages(of: endpoint, size: size, prefetch: 0)
    }
}

extension Loader: LoadingClient {
    /// The pages of a list, loaded while they are read.
    public func pages<Value>(of endpoint: PagedEndpoint<Value>, size: Int, prefetch: Int) -> Pages.Sequence<Value> {
        pages(of: endpoint, size: size, prefetch: prefetch, pageLimit: nil)
    }
}
