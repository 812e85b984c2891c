#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Responds to requests for `data:` (RFC 2397) and `file:` (RFC 8089) addresses without a network.
public struct LocalTransport: Transport {
    /// Makes the transport; all values of this type are equal.
    public init() {}

    /// Returns the content of a `data:` or `file:` address with status 200.
    ///
    /// - Parameters:
    ///   - request: GET or HEAD of the address.
    ///   - call: The call that the request belongs to.
    /// - Returns: A complete body for `buffered` delivery, pieces of the file for `streamed`.
    /// - Throws: ``LoadingError/Kind/file(_:)`` for a file that cannot be read, ``LoadingError/Kind/invalidRequest(_:)`` for
    ///   another scheme, another method or a malformed `data:` address.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try request.validate()
        guard request.method == .get || request.method == .head else {
            throw LoadingError(.invalidRequest(.method(request.method.rawValue)), LoadingError.Context(request))
        }
        switch request.url.scheme?.lowercased() {
        case "data": return try data(request)
        case "file": return try await file(request)
        case let other:
            throw LoadingError(.invalidRequest(.unsupportedScheme(other ?? "")), LoadingError.Context(request))
        }
    }

    /// True: it waits for nothing.
    public var observesScope: Bool { true }
    /// True: it collects bodies.
    public var collectsBodies: Bool { true }

    private func data(_ request: Request) throws(LoadingError) -> Response {
        // scheme ":" [mediatype] [";base64"] "," data; the fragment is not part of the data.
        let text = request.url.absoluteString.halves(before: { $0 == "#" }).text.dropFirst("data:".count)
        guard let (declared, data) = text.cut(at: ",") else {
            throw LoadingError(
                .invalidRequest(.url("data:…", reason: "a data address has a comma")),
                LoadingError.Context(request)
            )
        }
        var type = String(declared)
        var bytes = Data(data.percentDecodedBytes)
        if type.asciiLowercased.ends(with: ";base64") {
            type.removeLast(";base64".count)
            guard let decoded = Data(base64Encoded: bytes, options: .ignoreUnknownCharacters) else {
                throw LoadingError(
                    .invalidRequest(.url("data:…", reason: "its base64 is damaged")),
                    LoadingError.Context(request)
                )
            }
            bytes = decoded
        }
        // Without a type, the parameters are those of text (RFC 2397 §2).
        let written = String(decoding: type.percentDecodedBytes, as: UTF8.self)
        let known = written.isEmpty ? ";charset=US-ASCII" : written
        let whole = known.utf8.first == UInt8(ascii: ";") ? "text/plain" + known : known
        return try response(request, bytes, contentType: whole)
    }

    private func file(_ request: Request) async throws(LoadingError) -> Response {
        let path = String(decoding: request.url.path(percentEncoded: true).percentDecodedBytes, as: UTF8.self)
        guard !path.utf8.contains(0) else {
            throw LoadingError(
                .invalidRequest(.url("file:…", reason: "a path has no NUL")),
                LoadingError.Context(request)
            )
        }
        let source = try FileSource(path: path, context: LoadingError.Context(request))
        if case .buffered(let limit) = request.delivery, let length = source.length, length > Int64(limit) {
            throw LoadingError(.bodyTooLarge(limit: limit, announced: length), LoadingError.Context(request))
        }
        var body = request.method == .head ? Response.Body() : Response.Body(streaming: source)
        if case .buffered(let limit) = request.delivery { body = Response.Body(try await body.collect(limit: limit)) }
        let headers: Headers = source.length.map { ["Content-Length": String($0)] } ?? [:]
        return Response(status: 200, headers: headers, body: body, request: request)
    }

    private func response(
        _ request: Request,
        _ bytes: Data,
        contentType: String?
    ) throws(LoadingError) -> Response {
        if case .buffered(let limit) = request.delivery, bytes.count > limit {
            throw LoadingError(
                .bodyTooLarge(limit: limit, announced: Int64(bytes.count)),
                LoadingError.Context(request)
            )
        }
        var headers = Headers()
        if let contentType { headers.add("Content-Type", contentType) }
        headers.add("Content-Length", String(bytes.count))
        let body = Response.Body(request.method == .head ? Data() : bytes)
        return Response(status: 200, headers: headers, body: body, request: request)
    }
}
