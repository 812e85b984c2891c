public import LadeCore

extension Request {
    /// How the cache treats one request, beside its mode.
    public struct CacheOptions: Sendable, Hashable {
        /// A key that the caller states.
        public struct CustomKey: Sendable, Hashable {
            /// The key.
            public var text: String
            /// Whether the key stands for the body; otherwise the body is part of the key, too.
            public var replacesBody: Bool

            /// Makes a key.
            public init(_ text: String, replacesBody: Bool = false) {
                self.text = text
                self.replacesBody = replacesBody
            }
        }

        /// Whether the response may be stored; true by default.
        public var storesResponse = true
        /// Whether all accounts of the service may use the response; false by default.
        ///
        /// It is stored only if the request was sent without `Authorization` and `Cookie`, and the response has no
        /// `Set-Cookie`. Other accounts can find out that it was requested.
        public var isShared = false
        /// A key beside the address, which also makes POST a method whose responses are stored; nil by default.
        public var key: CustomKey?
        /// Names by which the stored response can be removed.
        public var tags: Set<String> = []

        /// Makes the default options.
        public init() {}
    }
}

private enum CacheOptionsTag: Request.Tag {
    static let defaultValue = Request.CacheOptions()
}

extension Request {
    /// How the cache treats the request, beside ``/LadeCore/Request/cacheMode``.
    public var cacheOptions: Request.CacheOptions {
        get { self[CacheOptionsTag.self] }
        set { self[CacheOptionsTag.self] = newValue }
    }
}

extension CacheQuery {
    /// The query for a request.
    ///
    /// - Parameters:
    ///   - request: The request as it stands at the cache.
    ///   - partition: The partition of the service.
    ///   - account: The identifier of the account.
    ///   - identity: The fields that the layers below the cache add.
    ///   - connection: The facts that the transport adds.
    ///   - body: The bytes of the body; nil where they cannot be read for the key.
    ///   - address: The address to use in place of the request's, already normalised.
    ///   - now: The present.
    ///   - digester: Makes digests of credentials and bodies.
    package init(
        _ request: Request,
        partition: String,
        account: String,
        identity: CallIdentity = CallIdentity(),
        connection: ConnectionFacts = ConnectionFacts(),
        body: [UInt8]? = nil,
        address: CacheAddress? = nil,
        now: Moment,
        digester: CacheDigester
    ) {
        let options = request.cacheOptions
        var parts = CacheKey.Parts()
        let isGet = request.method == .get || request.method == .head
        let isQuestion =
            !isGet && (request.method.rawValue == "QUERY" || request.method == .post && options.key != nil)
        if isQuestion { parts.method = request.method }
        parts.host = request.headers["Host"]
        parts.destination = request.destination
        let cookies = identity.sentCookies(of: request, at: now.date)
        parts.identity = identity.octets(of: request, cookies: identity.isNamed ? nil : cookies?(), connection)
        parts.custom = options.key?.text
        let hasBody = isQuestion || isGet && request.hasBody
        if hasBody, !(options.key?.replacesBody ?? false) {
            parts.body = (
                body ?? [], request.headers["Content-Type"] ?? request.body?.contentType,
                request.headers.joined("Content-Encoding")
            )
        }
        let scope: CacheScope = options.isShared ? .shared : .account(account)
        let key = (address ?? CacheAddress(request)).map {
            CacheKey(CachePlace(partition: partition, scope: scope, address: $0), parts, digester: digester)
        }
        self.init(request.method, key: key, headers: request.headers, mode: request.cacheMode, now: now)
        if request.hasBody { isReplayable = request.body?.isReplayable ?? true }
        isRaw = connection.isRaw(request.headers)
        below = identity.below
        self.cookies = cookies
        hasCustomKey = options.key != nil
        storesResponse = options.storesResponse
        tags = options.tags
    }
}
