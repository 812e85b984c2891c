import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request in the platform's form, without its body.
struct PlatformRequest: Sendable {
    let urlRequest: URLRequest
    let body: Request.Body?
    /// Whether the request must not use an existing connection.
    ///
    /// When a used connection turns out to be closed, FoundationNetworking sends a request with any method again, and
    /// without its body. The server then waits for bytes that never arrive. On a fresh connection this does not happen.
    let needsFreshConnection: Bool
    /// Whether the exchange waits for a network instead of failing without one.
    let waitsForConnectivity: Bool

    /// Translates a request.
    ///
    /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` for features that the platform does not support or would ignore.
    init(_ request: Request) throws(LoadingError) {
        let body = request.body?.length == 0 && request.method.isBodyless ? nil : request.body
        func refuse(_ feature: String) -> LoadingError {
            LoadingError(.invalidRequest(.unsupportedFeature(feature)), LoadingError.Context(request))
        }
        if request.destination != nil { throw refuse("way to dial another destination than the address names") }
        if request.version != .automatic { throw refuse("choice of the protocol version") }
        if request.body?.trailers != nil { throw refuse("request trailers") }
        if body != nil, request.method.isBodyless { throw refuse("body for a \(request.method) request") }

        var urlRequest = URLRequest(url: request.url, timeoutInterval: TransportSettings.never)
        urlRequest.httpMethod = request.method.rawValue
        // The platform changes the names of common methods to upper case, which are different methods (RFC 9110 §9.1).
        guard urlRequest.httpMethod == request.method.rawValue else {
            throw refuse("method “\(request.method)” in this spelling")
        }
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            // The platform adds the length of the body itself; a field from the caller would be a duplicate.
            urlRequest.addValue(field.value, forHTTPHeaderField: field.name)
        }
        if let type = body?.contentType, !request.headers.contains("Content-Type") {
            urlRequest.setValue(type, forHTTPHeaderField: "Content-Type")
        }
        self.urlRequest = urlRequest
        self.body = body
        waitsForConnectivity = request.waitsForConnectivity
        #if canImport(FoundationNetworking)
            needsFreshConnection = body != nil || !request.method.isIdempotent
        #else
            needsFreshConnection = false
        #endif
    }
}

extension Request.Method {
    /// Whether the platform sends the method only without a body.
    fileprivate var isBodyless: Bool { self == .get || self == .head }
}

extension Request.Priority {
    /// The priority on the platform's scale, 0 to 1.
    var taskPriority: Float {
        switch self {
        case .low: URLSessionTask.lowPriority
        case .normal: URLSessionTask.defaultPriority
        case .high: URLSessionTask.highPriority
        }
    }
}
