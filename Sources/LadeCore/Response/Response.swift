/// The response to a request: a status, headers, and a body that may still be arriving.
public struct Response: Sendable {
    /// Where a response came from.
    public enum Source: Sendable, Hashable {
        /// The server.
        case network
        /// The cache, without a request to the server.
        case cache
        /// The cache, after the server confirmed it.
        case revalidated
    }

    // One reference: every interceptor on the way up copies a response, and few change it.
    private var parts: Parts

    /// The status code.
    public var status: Response.Status {
        get { parts.status }
        set { change { $0.status = newValue } }
    }

    /// The header section.
    public var headers: Headers {
        get { parts.headers }
        // A reading of another head says nothing about this one.
        set { change { ($0.headers, $0.reading) = (newValue, nil) } }
    }

    /// The content; ``Response/Body`` describes how to read it.
    public var body: Response.Body {
        get { parts.body }
        set { change { $0.body = newValue } }
    }

    /// Where the response came from.
    public var source: Source {
        get { parts.source }
        set { change { $0.source = newValue } }
    }

    /// The request that the response belongs to, after redirects and decorators.
    public var request: Request {
        get { parts.request }
        set { change { $0.request = newValue } }
    }
    /// The limits of ``request``, read and set without a copy of it.
    package var requestTimeouts: Request.Timeouts {
        get { parts.request.timeouts }
        set { if newValue != parts.request.timeouts { change { $0.request.timeouts = newValue } } }
    }

    /// The protocol version of the response; nil for responses that did not come over HTTP.
    public var version: Response.Version? {
        get { parts.version }
        set { change { $0.version = newValue } }
    }

    /// When the exchange began and its head arrived; nil where no cache needs it.
    package var times: ExchangeTimes? {
        get { parts.times }
        set { change { $0.times = newValue } }
    }

    /// The reading of ``headers`` by a policy; nil where nothing was read, and after the fields were changed.
    package var reading: (any HeadReading)? {
        get { parts.reading }
        set { change { $0.reading = newValue } }
    }

    /// Makes a response.
    public init(
        status: Response.Status,
        headers: Headers = Headers(),
        body: Response.Body = Response.Body(),
        source: Source = .network,
        request: Request,
        version: Response.Version? = nil
    ) {
        parts = Parts(status, headers, body, source, request, version)
    }

    private mutating func change(_ body: (Parts) -> Void) {
        if !isKnownUniquelyReferenced(&parts) { parts = Parts(copying: parts) }
        body(parts)
    }

    // Sendable: written only by `change` while this response holds the only reference. The same rule makes run-time
    // exclusivity checks unnecessary.
    private final class Parts: @unchecked Sendable {
        @exclusivity(unchecked) var status: Response.Status
        @exclusivity(unchecked) var headers: Headers
        @exclusivity(unchecked) var body: Response.Body
        @exclusivity(unchecked) var source: Source
        @exclusivity(unchecked) var request: Request
        @exclusivity(unchecked) var version: Response.Version?
        @exclusivity(unchecked) var times: ExchangeTimes?
        @exclusivity(unchecked) var reading: (any HeadReading)?

        init(
            _ status: Response.Status,
            _ headers: Headers,
            _ body: Response.Body,
            _ source: Source,
            _ request: Request,
            _ version: Response.Version?
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.source = source
            self.request = request
            self.version = version
        }

        convenience init(copying other: Parts) {
            self.init(other.status, other.headers, other.body, other.source, other.request, other.version)
            (times, reading) = (other.times, other.reading)
        }
    }

    /// The trailer section; empty until the body has ended.
    public var trailers: Headers { body.trailers }

    /// The costs of the exchange; final once the body has ended.
    public var metrics: Response.Metrics { body.metrics }
}

/// The reading of the head of a response by a policy, for the policies above it.
package protocol HeadReading: AnyObject, Sendable {}
