/// What came back: a status, headers, and a body that may still be on its way.
public struct Response: Sendable {
    /// Where an answer came from.
    public enum Source: Sendable, Hashable {
        /// The server, just now.
        case network
        /// The cache, without asking the server.
        case cache
        /// The cache, after the server confirmed it.
        case revalidated
    }

    /// The status code.
    public var status: Status
    /// The header section.
    public var headers: Headers
    /// The content; see ``ResponseBody`` for how it is read.
    public var body: ResponseBody
    /// Where the answer came from.
    public var source: Source
    /// The request that was answered in the end, after redirects and decorators.
    public var request: Request
    /// The protocol version of the answer; nil for answers that did not come over HTTP.
    public var version: HTTPVersion?

    /// Makes a response.
    public init(
        status: Status,
        headers: Headers = Headers(),
        body: ResponseBody = ResponseBody(),
        source: Source = .network,
        request: Request,
        version: HTTPVersion? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.source = source
        self.request = request
        self.version = version
    }

    /// The trailer section; empty until the body has ended.
    public var trailers: Headers { body.trailers }

    /// What the exchange cost; final once the body has ended.
    public var metrics: Metrics { body.metrics }
}
