#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The settings that the endpoints of one server share, and methods that make these endpoints.
///
/// ```swift
/// let api = try API("https://api.example.com/v1").failure(as: API.Problem.self)
///
/// let show: Show = try await loader.load(api.get("shows", id))
/// let created: Show = try await loader.load(api.post("shows", json: draft))
/// ```
///
/// An API is a value. Changing a copy does not change endpoints that were made before. Nothing is sent until a
/// ``Loader`` loads an endpoint.
public struct API: Sendable {
    /// The address that paths are appended to; a trailing slash makes no difference.
    public var baseURL: URL
    /// Header fields of every request; ``Endpoint/header(_:_:)`` replaces fields of the same name for one endpoint.
    public var headers = Headers()
    /// Query items of every request, before those of the endpoint.
    ///
    /// An item without a value is left out.
    public var query: KeyValuePairs<String, String?> = [:]
    /// The names of query items whose values are hidden in errors, events and logs.
    public var secretQueryNames: Set<String> = []
    /// Encodes the bodies of requests; JSON by default.
    public var encoder: any BodyEncoder = FastJSONEncoder()
    /// Decodes the bodies of responses; JSON by default.
    public var decoder: any BodyDecoder = FastJSONDecoder()
    /// The status codes that count as success; nil, the default, uses those of the service.
    public var acceptableStatuses: Response.StatusSet?
    private var failureModel: FailureModel?

    /// Makes an API at an address.
    public init(_ baseURL: URL) {
        self.baseURL = baseURL
    }

    /// Makes an API from the text of an address.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` when the text is not an absolute URL with a host. The same holds
    ///   for a query or a fragment, because a path cannot be appended to either.
    public init(_ baseURL: String) throws(LoadingError) {
        let url = try Request(baseURL).url
        guard url.query == nil, url.fragment == nil else {
            throw LoadingError(
                .invalidRequest(.url(url.redacted(), reason: "the base of an API has no query and no fragment"))
            )
        }
        self.init(url)
    }

    /// Returns a copy whose errors for unacceptable statuses carry the decoded body of the response.
    ///
    /// ```swift
    /// do throws(LoadingError) {
    ///     let show: Show = try await loader.load(api.get("shows", id))
    ///     print(show.title)
    /// } catch {
    ///     print(error.failure(as: API.Problem.self)?.detail ?? error.description)
    /// }
    /// ```
    ///
    /// - Parameter model: The type to which ``decoder`` decodes the body of a refused response, for example ``API/Problem``
    ///   (RFC 9457). When a body cannot be decoded, `LoadingError.failure(as:)` is nil and `context.processingError` contains
    ///   the reason.
    /// - Returns: The changed copy.
    public func failure<Model: Decodable & Sendable>(as model: Model.Type) -> API {
        var copy = self
        copy.failureModel = FailureModel(model)
        return copy
    }

    // MARK: - Endpoints

    /// An endpoint that gets a resource.
    ///
    /// - Parameters:
    ///   - path: The path below ``baseURL``; values interpolated into it are percent-encoded (``Path``).
    ///   - components: Further components of the path, each percent-encoded and preceded by a slash.
    ///   - query: Query items in order; one whose value is nil is left out.
    /// - Returns: An endpoint that `load(_:)` decodes to the type that the caller expects.
    /// - Throws: `LoadingError.Kind.invalidRequest` for a component of the path that is empty, `.` or `..`.
    public func get(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:]
    ) throws(LoadingError) -> Endpoint<Data> {
        try endpoint(.get, path.appending(components), query)
    }

    /// An endpoint that deletes a resource; its parameters and errors are the same as of ``get(_:_:query:)``.
    public func delete(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:]
    ) throws(LoadingError) -> Endpoint<Data> {
        try endpoint(.delete, path.appending(components), query)
    }

    /// An endpoint that posts a value, encoded by ``encoder``.
    ///
    /// - Throws: The errors of ``get(_:_:query:)``; `LoadingError.Kind.requestBodyFailed` when the value cannot be
    ///   encoded.
    public func post(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:],
        json value: some Encodable
    ) throws(LoadingError) -> Endpoint<Data> {
        try encoded(value, into: endpoint(.post, path.appending(components), query))
    }

    /// An endpoint that puts a value, encoded by ``encoder``; it has the errors of ``post(_:_:query:json:)``.
    public func put(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:],
        json value: some Encodable
    ) throws(LoadingError) -> Endpoint<Data> {
        try encoded(value, into: endpoint(.put, path.appending(components), query))
    }

    /// An endpoint that patches a resource with a value, encoded by ``encoder``; it has the errors of
    /// ``post(_:_:query:json:)``.
    public func patch(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:],
        json value: some Encodable
    ) throws(LoadingError) -> Endpoint<Data> {
        try encoded(value, into: endpoint(.patch, path.appending(components), query))
    }

    /// An endpoint that posts any other body: a form, a file, a stream, or none.
    ///
    /// - Throws: The errors of ``get(_:_:query:)``.
    public func post(
        _ path: Path,
        _ components: any CustomStringConvertible...,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:],
        body: Request.Body? = nil
    ) throws(LoadingError) -> Endpoint<Data> {
        try endpoint(.post, path.appending(components), query).body(body)
    }

    /// An endpoint with any method and any body.
    ///
    /// - Throws: The errors of ``get(_:_:query:)``.
    public func endpoint(
        _ method: Request.Method,
        _ path: Path,
        query: KeyValuePairs<String, (any CustomStringConvertible)?> = [:],
        body: Request.Body? = nil
    ) throws(LoadingError) -> Endpoint<Data> {
        try endpoint(method, path, query).body(body)
    }

    private func endpoint(
        _ method: Request.Method,
        _ path: Path,
        _ query: KeyValuePairs<String, (any CustomStringConvertible)?>
    ) throws(LoadingError) -> Endpoint<Data> {
        var request = Request(method, try address(of: path, query), headers: headers)
        if request.headers["Accept"] == nil, let accepted = decoder.acceptedMediaTypes {
            request.headers["Accept"] = accepted
        }
        if !secretQueryNames.isEmpty { request.secretQueryNames = secretQueryNames }
        var endpoint = Endpoint(request)
        endpoint.acceptableStatuses = acceptableStatuses
        endpoint.decoder = decoder
        endpoint.failureModel = failureModel
        return endpoint
    }

    private func address(
        of path: Path,
        _ query: KeyValuePairs<String, (any CustomStringConvertible)?>
    ) throws(LoadingError) -> URL {
        var base = baseURL.absoluteString[...]
        while base.utf8.last == UInt8(ascii: "/") { base = base.dropLast() }
        if let fault = path.fault { throw fault.error(base + "/" + path.text.escapedForDisplay(limit: 200)) }
        var address = path.text.isEmpty ? baseURL.absoluteString : base + "/" + path.text
        let items =
            self.query.compactMap { name, value in value.map { (name, $0) } }
            + query.compactMap { name, value in value.map { (name, $0.description) } }
        if !items.isEmpty {
            address += "?" + items.map { "\($0.queryEncoded)=\($1.queryEncoded)" }.joined(separator: "&")
        }
        return try Request(address).url
    }

    private func encoded(_ value: some Encodable, into endpoint: Endpoint<Data>) throws(LoadingError) -> Endpoint<Data>
    {
        do {
            return endpoint.body(.bytes(try encoder.encode(value), contentType: encoder.contentType))
        } catch {
            throw LoadingError(.requestBodyFailed, LoadingError.Context(endpoint.request), underlyingError: error)
        }
    }
}

/// Decodes the body of a response with an unacceptable status.
struct FailureModel: Sendable {
    let decode: @Sendable (Data, any BodyDecoder) throws -> any Sendable

    init<Model: Decodable & Sendable>(_ model: Model.Type) {
        decode = { data, decoder in try decoder.decode(model, from: data) }
    }
}

extension LoadingError {
    /// The decoded body of a response with an unacceptable status.
    ///
    /// It has the type that was passed to ``API/failure(as:)`` or ``Endpoint/failure(as:)``. It is nil for every other
    /// error, and when the body could not be decoded.
    public func failure<Model>(as model: Model.Type) -> Model? {
        guard case .unacceptableStatus = kind else { return nil }
        return context.processedBody as? Model
    }
}
