public import Lade
public import LadeCore

/// A client without a network, for tests of code that uses a `LoadingClient`.
///
/// ```swift
/// let client = ScriptedClient()
/// client.transport.on(.get, "/shows").respond(.json(#"["Tagesschau"]"#))
/// let store = ShowsStore(client: client)
/// ```
///
/// It is a loader on a ``ScriptedTransport``, so decoding, statuses, pages, retries and errors are those of the app's real
/// client. Every form of a call that only a loader has is there by ``loader``.
public final class ScriptedClient: LoadingClient {
    /// Gives the responses, and records the requests.
    public let transport: ScriptedTransport
    /// Makes the calls.
    public let loader: Loader

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - settings: The settings of its service; in a test usually with a `VirtualTime`.
    ///   - transport: The transport; one without rules by default.
    public init(_ settings: Service.Settings = Service.Settings(), transport: ScriptedTransport = ScriptedTransport()) {
        self.transport = transport
        loader = Service(settings, transport: transport).anonymous.makeLoader()
    }

    /// Loads a response.
    ///
    /// - Throws: The error that a loader throws for the scripted response.
    public func load(_ request: Request) async throws(LoadingError) -> Response {
        try await loader.load(request)
    }

    /// Loads the value of an endpoint, and returns the response with it.
    ///
    /// - Throws: The error that a loader throws for the scripted response.
    public func loadValue<Value>(of endpoint: Endpoint<Value>) async throws(LoadingError) -> Loader.Loaded<Value> {
        try await loader.loadValue(of: endpoint)
    }

    /// Downloads the scripted response into a file.
    ///
    /// - Throws: The error that a loader throws for the scripted response.
    public func download(
        _ request: Request,
        to path: String,
        options: Download.Options,
        progress: (@Sendable (Download.Progress) -> Void)?
    ) async throws(LoadingError) -> Download {
        try await loader.download(request, to: path, options: options, progress: progress)
    }

    /// The pages of a list.
    public func pages<Value>(of endpoint: PagedEndpoint<Value>, size: Int, prefetch: Int) -> Pages.Sequence<Value> {
        loader.pages(of: endpoint, size: size, prefetch: prefetch)
    }
}
