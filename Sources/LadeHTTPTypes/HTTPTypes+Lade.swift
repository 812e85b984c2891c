#if HTTPTypes
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
    public import HTTPTypes
    public import Lade

    extension Headers {
        /// Makes a list of the same fields, in their order and with the case of their names.
        ///
        /// A field that must not be indexed becomes a secret, as `set(_:secret:)` makes one.
        ///
        /// - Throws: `LoadingError.Kind.invalidRequest` for a secret whose name several fields have, unless its name alone makes
        ///   it one, such as `Cookie`.
        public init(_ fields: HTTPFields) throws(LoadingError) {
            self.init()
            for field in fields {
                let name = field.name.rawName
                let octets = field.withUnsafeBytesOfValue { Array($0) }
                let isSecret = field.indexingStrategy == .avoid || field.indexingStrategy == .disallow
                if isSecret, !Headers([(name, "")]).contains(where: \.carriesCredentials) {
                    guard fields[values: field.name].count == 1 else {
                        let fault = Headers.FieldError(
                            field: name,
                            reason: .notWritable("one of several secrets"),
                            offset: 0
                        )
                        throw LoadingError(.invalidRequest(.header(fault)))
                    }
                    set(name, secretOctets: octets)
                } else if let text = String(validating: octets, as: UTF8.self) {
                    add(name, text)
                } else {
                    // The value as it is sent, whatever its characters mean.
                    let text = String(decoding: octets, as: UTF8.self)
                    add(contentsOf: Headers(checked: [Field(uncheckedName: name, value: text, octets: octets)]))
                }
            }
            if let fault { throw LoadingError(.invalidRequest(.header(fault))) }
        }
    }

    extension HTTPFields {
        /// Makes a list of the same fields, in their order and with the case of their names.
        ///
        /// A field that carries credentials must not be indexed.
        ///
        /// - Throws: `LoadingError.Kind.invalidRequest` for a field that the type cannot hold, or that was refused before.
        public init(_ headers: Headers) throws(LoadingError) {
            self.init()
            if let fault = headers.fault { throw LoadingError(.invalidRequest(.header(fault))) }
            for field in headers {
                guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.octets) else {
                    let fault = Headers.FieldError(field: field.name, reason: .invalidValue, offset: 0)
                    throw LoadingError(.invalidRequest(.header(fault)))
                }
                var copy = HTTPField(name: name, value: field.octets)
                if field.carriesCredentials { copy.indexingStrategy = .disallow }
                append(copy)
            }
        }
    }

    extension Request {
        /// Makes a request from its pseudo-fields and fields.
        ///
        /// - Parameters:
        ///   - request: The request; its scheme, authority and path make the address.
        ///   - body: The content; nil for none.
        /// - Throws: `LoadingError.Kind.invalidRequest` when a pseudo-field is missing, when the path is not that of a resource
        ///   (`*`), for CONNECT, and for what `Request.init(_:_:headers:body:delivery:)` refuses.
        public init(_ request: HTTPRequest, body: Request.Body? = nil) throws(LoadingError) {
            func refused(_ reason: String) -> LoadingError {
                LoadingError(.invalidRequest(.url(request.authority?.escapedForDisplay() ?? "", reason: reason)))
            }
            guard let scheme = request.scheme else { throw refused("it has no scheme") }
            guard let authority = request.authority, !authority.isEmpty else { throw refused("it has no authority") }
            guard let path = request.path, path.utf8.first == UInt8(ascii: "/") else {
                throw refused("its path does not begin with a slash")
            }
            // A fragment is never sent, and the authority ends where the path begins.
            guard !path.utf8.contains(UInt8(ascii: "#")), !authority.utf8.contains(where: Self.endsAuthority) else {
                throw refused("a pseudo-field contains the beginning of another part")
            }
            guard request.extendedConnectProtocol == nil else {
                throw LoadingError(.invalidRequest(.unsupportedFeature("extended CONNECT")))
            }
            try self.init(
                Request.Method(request.method.rawValue),
                "\(scheme)://\(authority)\(path)",
                headers: Headers(request.headerFields),
                body: body
            )
        }

        private static func endsAuthority(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                || byte == UInt8(ascii: "\\")
        }
    }

    extension HTTPRequest {
        /// Makes the pseudo-fields and fields of a request; its body, its settings and the fragment of its address stay behind.
        ///
        /// - Throws: `LoadingError.Kind.invalidRequest` for a request that cannot be sent, or a field that the type cannot hold.
        public init(_ request: Request) throws(LoadingError) {
            try request.validate()
            let address = request.url.absoluteString.utf8
            guard request.isHTTP, let method = HTTPRequest.Method(request.method.rawValue),
                let colon = address.firstIndex(of: UInt8(ascii: ":"))
            else {
                throw LoadingError(
                    .invalidRequest(.unsupportedScheme(request.url.scheme ?? "")),
                    LoadingError.Context(request)
                )
            }
            let start = address.index(address.startIndex, offsetBy: request.parts.host.lowerBound)
            let end = address.index(address.startIndex, offsetBy: request.parts.authorityEnd)
            let target = address[end...].prefix { $0 != UInt8(ascii: "#") }
            self.init(
                method: method,
                scheme: String(decoding: address[..<colon], as: UTF8.self).lowercased(),
                authority: String(decoding: address[start..<end], as: UTF8.self),
                // An empty path is sent as a slash (RFC 9112 §3.2.1).
                path: (target.first == UInt8(ascii: "/") ? "" : "/") + String(decoding: target, as: UTF8.self),
                headerFields: try HTTPFields(request.headers)
            )
        }
    }

    extension Response {
        /// Makes a response from its status and fields; a reason phrase stays behind.
        ///
        /// - Parameters:
        ///   - response: The status and the fields.
        ///   - body: The content; empty by default.
        ///   - request: The request that it responds to.
        /// - Throws: `LoadingError.Kind.invalidRequest` in the cases of `Headers.init(_:)`.
        public init(
            _ response: HTTPResponse,
            body: Response.Body = Response.Body(),
            to request: Request
        ) throws(LoadingError) {
            self.init(
                status: Response.Status(response.status.code),
                headers: try Headers(response.headerFields),
                body: body,
                request: request
            )
        }
    }

    extension HTTPResponse {
        /// Makes the status and the fields of a response; its body stays behind.
        ///
        /// - Throws: `LoadingError.Kind.invalidRequest` for a field that the type cannot hold, and
        ///   `LoadingError.Kind.malformedResponse` for a status that does not have three digits.
        public init(_ response: Response) throws(LoadingError) {
            guard (100...999).contains(response.status.code) else {
                throw LoadingError(.malformedResponse(.init(.statusLine)), LoadingError.Context(response.request))
            }
            self.init(
                status: Status(code: response.status.code),
                headerFields: try HTTPFields(response.headers)
            )
        }
    }
#else
    /// The conversions from and to the types of swift-http-types; they exist with the trait `HTTPTypes` alone.
    @available(
        *,
        unavailable,
        message: "Add traits: [\"HTTPTypes\"] to the dependency on the package lade, which is off by default."
    )
    public enum HTTPTypesConversion {}
#endif
