import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request in the platform's form, apart from its body.
struct PlatformRequest: Sendable {
    let urlRequest: URLRequest
    let body: RequestBody?
    /// Whether the request must not meet a connection that was used before.
    ///
    /// FoundationNetworking sends a request again when a used connection turns out dead, whatever its method, and then
    /// forgets the body: the server waits for bytes that never come. On a fresh connection it does neither.
    let needsFreshConnection: Bool
    /// Whether the caller rather waits for a network than fails without one.
    let waitsForConnectivity: Bool

    /// Translates a request.
    ///
    /// - Throws: ``LoadingError/invalidRequest(_:_:)`` for what the platform cannot do or would ignore.
    init(_ request: Request) throws(LoadingError) {
        let body = request.body?.length == 0 && request.method.isBodyless ? nil : request.body
        func refuse(_ feature: String) -> LoadingError {
            .invalidRequest(.unsupportedFeature(feature), ErrorContext(request))
        }
        if request.destination != nil { throw refuse("way to dial another destination than the address names") }
        if request.version != .automatic { throw refuse("choice of the protocol version") }
        if request.body?.trailers != nil { throw refuse("request trailers") }
        if body != nil, request.method.isBodyless { throw refuse("body for a \(request.method) request") }

        var urlRequest = URLRequest(url: request.url, timeoutInterval: TransportSettings.never)
        urlRequest.httpMethod = request.method.rawValue
        // The platform writes the names of common methods in capitals, which are other methods (RFC 9110 §9.1).
        guard urlRequest.httpMethod == request.method.rawValue else {
            throw refuse("method “\(request.method)” in this spelling")
        }
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            // The platform writes the length of the body itself; a field of the caller's would come second.
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

extension Method {
    /// Whether the platform sends the method without a body only.
    fileprivate var isBodyless: Bool { self == .get || self == .head }
}

extension Request.Priority {
    /// The platform's measure, 0 to 1.
    var taskPriority: Float {
        switch self {
        case .low: URLSessionTask.lowPriority
        case .normal: URLSessionTask.defaultPriority
        case .high: URLSessionTask.highPriority
        }
    }
}
