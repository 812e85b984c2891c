#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A request to a server, and the steps that make a value from its response.
///
/// The value of a new endpoint is the raw body. Each step returns a changed copy:
///
/// ```swift
/// let show = Endpoint(showURL)
///     .header("Accept", "application/json")
///     .decoding(Show.self)
/// let value = try await loader.load(show)
/// ```
///
/// The decorators of the service change the request first, then those of the endpoint. The processors of the service
/// handle the body first, then those of the endpoint. Each processor receives the output of the one before.
public struct Endpoint<Value: Sendable>: Sendable {
    /// The request to send.
    ///
    /// The response is always received whole: `streamed` delivery is treated as `buffered` with the default limit.
    public var request: Request
    /// The status codes that count as success unless the request has its own; nil uses those of the service.
    public var acceptableStatuses: Response.StatusSet?
    /// The decorators that change the request before it is sent, in order, after those of the service.
    public var decorators: [any Service.Decorator] = []
    /// The names of the processors in order, for logs.
    public let processorNames: [String]

    let convert: @Sendable (Data, Response) throws -> Value
    // The decoder that is used unless a builder sets another.
    var decoder: any BodyDecoder = FastJSONDecoder()
    var failureModel: FailureModel?

    init(
        request: Request,
        acceptableStatuses: Response.StatusSet?,
        decorators: [any Service.Decorator],
        processorNames: [String],
        convert: @escaping @Sendable (Data, Response) throws -> Value
    ) {
        self.request = request
        self.acceptableStatuses = acceptableStatuses
        self.decorators = decorators
        self.processorNames = processorNames
        self.convert = convert
    }

    /// Runs the processors on a response that was received whole, without checking its status.
    ///
    /// - Parameter response: A response with a complete body, as buffered delivery returns it.
    /// - Returns: The output of the last processor.
    /// - Throws: `LoadingError.Kind.decoding` with the error of the processor, the status, the headers and the
    ///   beginning of the body. A `LoadingError` of a processor is thrown unchanged.
    ///   `LoadingError.Kind.invalidRequest` when the body is a stream.
    public func value(from response: Response) throws(LoadingError) -> Value {
        guard let bytes = response.body.bytes else {
            let clause = "A streamed body cannot be processed: load the request with buffered delivery"
            throw LoadingError(.invalidRequest(.streamedBody(clause)), LoadingError.Context(response.request))
        }
        do {
            return try convert(bytes, response)
        } catch let error as LoadingError {
            throw error
        } catch {
            throw LoadingError(.decoding, LoadingError.Context(response), underlyingError: error)
        }
    }

    /// The request as the interceptor chain receives it.
    var prepared: Request {
        var prepared = request
        if prepared.delivery == .streamed { prepared.delivery = .buffered(limit: Request.defaultBufferLimit) }
        // Nil for nil would copy the options of the request.
        if let acceptableStatuses, prepared.acceptableStatuses == nil {
            prepared.acceptableStatuses = acceptableStatuses
        }
        if !decorators.isEmpty { prepared[EndpointDecorators.self] = decorators }
        return prepared
    }
}

extension Endpoint where Value == Data {
    /// Makes an endpoint with a method, whose value is the raw body.
    public init(_ method: Request.Method, _ url: URL) {
        self.init(Request(method, url))
    }

    /// Makes an endpoint with a method, whose value is the raw body.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` when the text is not a valid URL.
    public init(_ method: Request.Method, _ address: String) throws(LoadingError) {
        self.init(try Request(method, address))
    }

    /// Makes an endpoint from a request; the endpoint's value is the raw body.
    public init(_ request: Request) {
        self.init(request: request, acceptableStatuses: nil, decorators: [], processorNames: []) { data, _ in data }
    }

    /// Makes an endpoint that gets an address, whose value is the raw body.
    public init(_ url: URL) {
        self.init(Request(url))
    }

    /// Makes an endpoint that gets an address, whose value is the raw body.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` when the text is not a valid URL.
    public init(_ address: String) throws(LoadingError) {
        self.init(try Request(address))
    }
}

extension Endpoint: CustomStringConvertible {
    /// The request without secrets, and the names of the processors.
    public var description: String { ([request.description] + processorNames).joined(separator: " → ") }
}

extension Loader {
    /// A value and the response that it was made from.
    public struct Loaded<Value: Sendable>: Sendable {
        /// The output of the endpoint's processors.
        public var value: Value
        /// The response: status, headers, the body that the service's processors return, and the request as it was sent.
        public var response: Response

        /// Makes a loaded value from its parts.
        public init(value: Value, response: Response) {
            self.value = value
            self.response = response
        }
    }
}

extension LoadingError.Context {
    /// The largest number of bytes of a response's body that an error keeps: 64 KiB.
    static let bodyLimit = 64 << 10

    /// The context of an error after a response: its request, status, headers and the beginning of its body.
    package init(_ response: Response) {
        self.init(response.request)
        attempts = response.attempts
        retryRefusal = response.retryRefusal
        status = response.status
        headers = response.headers
        body = response.body.bytes?.prefix(Self.bodyLimit)
        if let name = response.refusedAuthoriser { detail = "it refuses the credentials of \(name)" }
    }
}
