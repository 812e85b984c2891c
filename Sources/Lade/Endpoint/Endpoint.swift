#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Something that can be asked of a server, and how its answer becomes a value.
///
/// It starts as raw bytes; each step gives a changed copy:
///
/// ```swift
/// let show = Endpoint(showURL)
///     .header("Accept", "application/json")
///     .decoding(Show.self)
/// let value = try await loader.load(show)
/// ```
///
/// On the way out the request passes the decorators of the service, then those of the endpoint. On the way in the bytes
/// pass the processors of the service, then those of the endpoint, each getting what the one before made. Source: brief
/// `bbc-httpclient.txt`, `client-decorators-processors.md` §4, §6, §7.
public struct Endpoint<Value: Sendable>: Sendable {
    /// What is sent.
    ///
    /// The answer is always received whole: `streamed` delivery is taken for `buffered` with the default limit.
    public var request: Request
    /// The status codes that count as success unless the request says otherwise; nil leaves it to the service.
    public var acceptableStatuses: StatusSet?
    /// Who changes the request before it is sent, in order, after those of the service.
    public var decorators: [any RequestDecorator] = []
    /// The names of the processors in order, for logs.
    public let processorNames: [String]

    let convert: @Sendable (Data, Response) throws -> Value
    // What decodes unless a builder names another.
    var decoder: any BodyDecoder = FastJSONDecoder()
    var failureModel: FailureModel?

    init(
        request: Request,
        acceptableStatuses: StatusSet?,
        decorators: [any RequestDecorator],
        processorNames: [String],
        convert: @escaping @Sendable (Data, Response) throws -> Value
    ) {
        self.request = request
        self.acceptableStatuses = acceptableStatuses
        self.decorators = decorators
        self.processorNames = processorNames
        self.convert = convert
    }

    /// Runs the processors over an answer that was received whole; its status is not looked at.
    ///
    /// - Parameter response: An answer with a complete body, as buffered delivery gives it.
    /// - Returns: What the last processor made.
    /// - Throws: `LoadingError.decoding(_:_:)` with what the processor threw, the status, the headers and the beginning
    ///   of the body; a `LoadingError` of a processor as it is; `LoadingError.invalidRequest(_:_:)` for a body that is
    ///   still a stream.
    public func value(from response: Response) throws(LoadingError) -> Value {
        guard let bytes = response.body.bytes else {
            throw .invalidRequest(.unsupportedFeature("processing of streamed bodies"), ErrorContext(response.request))
        }
        do {
            return try convert(bytes, response)
        } catch let error as LoadingError {
            throw error
        } catch {
            throw .decoding(error, ErrorContext(response))
        }
    }

    /// The request as it goes into the chain.
    var prepared: Request {
        var prepared = request
        if prepared.delivery == .streamed { prepared.delivery = .buffered(limit: Request.defaultBufferLimit) }
        if prepared.acceptableStatuses == nil { prepared.acceptableStatuses = acceptableStatuses }
        if !decorators.isEmpty { prepared[EndpointDecorators.self] = decorators }
        return prepared
    }
}

extension Endpoint where Value == Data {
    /// Makes an endpoint with a method, whose value is the raw body.
    public init(_ method: Method, _ url: URL) {
        self.init(Request(method, url))
    }

    /// Makes an endpoint with a method, whose value is the raw body.
    ///
    /// - Throws: `LoadingError.invalidRequest(_:_:)` for a text that is no address.
    public init(_ method: Method, _ address: String) throws(LoadingError) {
        self.init(try Request(method, address))
    }

    /// Makes an endpoint of a request, whose value is the raw body.
    public init(_ request: Request) {
        self.init(request: request, acceptableStatuses: nil, decorators: [], processorNames: []) { data, _ in data }
    }

    /// Makes an endpoint that gets an address, whose value is the raw body.
    public init(_ url: URL) {
        self.init(Request(url))
    }

    /// Makes an endpoint that gets an address, whose value is the raw body.
    ///
    /// - Throws: `LoadingError.invalidRequest(_:_:)` for a text that is no address.
    public init(_ address: String) throws(LoadingError) {
        self.init(try Request(address))
    }
}

extension Endpoint: CustomStringConvertible {
    /// The request without secrets, and the names of the processors.
    public var description: String { ([request.description] + processorNames).joined(separator: " → ") }
}

/// A value and the answer it was made from.
public struct LoadedValue<Value: Sendable>: Sendable {
    /// What the endpoint's processors made of the body.
    public var value: Value
    /// The answer: status, headers, the body after the service's processors, the request that was answered.
    public var response: Response

    /// Puts the two together.
    public init(value: Value, response: Response) {
        self.value = value
        self.response = response
    }
}

extension ErrorContext {
    /// The most bytes of an answer's body that an error keeps: 64 KiB.
    static let bodyLimit = 64 << 10

    /// What is known once an answer is there: its request, status, headers and the beginning of its body.
    init(_ response: Response) {
        self.init(response.request)
        status = response.status
        headers = response.headers
        body = response.body.bytes?.prefix(Self.bodyLimit)
        if let name = response.refusedAuthoriser { detail = "it refuses the credentials of \(name)" }
    }
}
