public import LadeCore

/// The OpenTelemetry semantic conventions for HTTP clients, which the modules for logs, metrics and traces share.
package enum Conventions {
    /// The names of attributes.
    package enum Key: String, CaseIterable, Sendable {
        case method = "http.request.method"
        case originalMethod = "http.request.method_original"
        case resendCount = "http.request.resend_count"
        case requestBodySize = "http.request.body.size"
        case status = "http.response.status_code"
        case responseBodySize = "http.response.body.size"
        case errorType = "error.type"
        case fullURL = "url.full"
        case scheme = "url.scheme"
        case template = "url.template"
        case serverAddress = "server.address"
        case serverPort = "server.port"
        case peerAddress = "network.peer.address"
        case peerPort = "network.peer.port"
        case protocolName = "network.protocol.name"
        case protocolVersion = "network.protocol.version"
        // The library's own.
        case call = "lade.call.id"
        case attempts = "lade.call.attempts"
        case duration = "lade.call.duration"
        case outcome = "lade.body.outcome"
        case operation = "lade.operation.id"
        case waitReason = "lade.wait.reason"
        case cacheResult = "lade.cache.result"
        case rule = "lade.retry.rule"
    }

    /// A method that is not among the known ones, as metrics and spans name it.
    package static let otherMethod = "_OTHER"

    /// The name of a method, with few values.
    package static func name(_ method: Request.Method) -> String {
        switch method.rawValue {
        case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH": method.rawValue
        default: otherMethod
        }
    }

    /// The number of a version, without the name of the protocol.
    package static func number(_ version: Response.Version) -> String {
        switch version {
        case .http1_0: "1.0"
        case .http1_1: "1.1"
        case .http2: "2"
        case .http3: "3"
        }
    }

    /// The server that an address names.
    package struct Server: Sendable, Hashable {
        package let scheme: String
        /// The host, without the brackets of an IPv6 literal.
        package let address: String
        package let port: Int

        /// Parses an address; nil for one without a host.
        package init?(_ address: String) {
            let parts = AddressParts(address)
            guard !parts.hostIsEmpty, let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            scheme = String(address[..<colon]).lowercased()
            var host = Array(address.utf8.dropFirst(parts.host.lowerBound).prefix(parts.host.count))
            if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") {
                host = Array(host.dropFirst().dropLast())
            }
            self.address = String(decoding: host, as: UTF8.self).lowercased()
            port = parts.port ?? (scheme == "https" ? 443 : 80)
        }
    }
}

private enum RouteTemplateTag: Request.Tag {
    static let defaultValue: String? = nil
}

private enum OperationTag: Request.Tag {
    static let defaultValue: String? = nil
}

extension Request {
    /// The path with names in place of its values, such as `/shows/{id}`, for metrics and traces; nil, the default, for none.
    ///
    /// It must have few values in a program. Metrics never use the path itself.
    public var routeTemplate: String? {
        get { self[RouteTemplateTag.self] }
        set { self[RouteTemplateTag.self] = newValue }
    }

    /// The identifier of the operation of an API that the request is for, for logs and traces; nil, the default, for none.
    public var operationID: String? {
        get { self[OperationTag.self] }
        set { self[OperationTag.self] = newValue }
    }
}

extension Call {
    /// The route template of the request, for observers when the call starts.
    public var routeTemplate: String? { self[RouteTemplateTag.self] }
    /// The operation of the request, for observers when the call starts.
    public var operationID: String? { self[OperationTag.self] }
}

extension LoadingError {
    /// The name of the kind, or the code of a refused status, for metrics and traces.
    ///
    /// It has few values in a program, as `error.type` of the OpenTelemetry conventions wants it.
    public var typeName: String {
        switch kind {
        case .cancelled: "cancelled"
        case .invalidRequest: "invalidRequest"
        case .invalidSetting: "invalidSetting"
        case .timedOut: "timedOut"
        case .nameNotResolved: "nameNotResolved"
        case .cannotConnect: "cannotConnect"
        case .proxy: "proxy"
        case .connectionLost: "connectionLost"
        case .malformedResponse: "malformedResponse"
        case .headTooLarge: "headTooLarge"
        case .incompleteBody: "incompleteBody"
        case .bodyTooLarge: "bodyTooLarge"
        case .decompressionRatioExceeded: "decompressionRatioExceeded"
        case .untrustedServer: "untrustedServer"
        case .pinMismatch: "pinMismatch"
        case .clientCertificateRequired: "clientCertificateRequired"
        case .decorationFailed: "decorationFailed"
        case .interceptionFailed: "interceptionFailed"
        case .requestBodyFailed: "requestBodyFailed"
        case .file: "file"
        case .deadlineExceeded: "deadlineExceeded"
        case .rateLimited: "rateLimited"
        case .redirectRefused: "redirectRefused"
        case .authorisationFailed: "authorisationFailed"
        case .notStored: "notStored"
        case .unacceptableStatus(let status): "\(status.code)"
        case .decoding: "decoding"
        case .transport: "transport"
        }
    }
}
