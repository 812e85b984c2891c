#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A request to a server, and how to handle the exchange.
///
/// A request is a value: every part can be changed on a copy.
///
/// ```swift
/// var request = try Request("https://api.example.com/shows?size=10")
/// request.headers["Accept"] = "application/json"
/// request.timeouts.whole = .seconds(10)
/// ```
public struct Request: Sendable {
    /// The largest buffered response that is accepted by default: 64 MiB.
    public static let defaultBufferLimit = 64 << 20

    /// How the body of the response is delivered.
    public enum Delivery: Sendable, Hashable {
        /// In one piece when it is complete; more than `limit` bytes fail the exchange.
        case buffered(limit: Int)
        /// As it arrives, after the head.
        ///
        /// On Linux more than 8 KiB that follow other bytes within 0.25 ms may wait for the rest of that time. So a
        /// body that arrives fast comes in larger chunks.
        case streamed
    }

    /// The method; GET by default.
    public var method: Request.Method
    /// The absolute address.
    ///
    /// An unusual notation of the host is replaced by its normal form: `ex%61mple.org` by `example.org`, `0x7f.1` by
    /// `127.0.0.1`, `[1:0::]` by `[1::]`. So origins, cookies and pins are compared with the host that is dialled. Path and
    /// query are sent as written.
    public var url: URL {
        didSet { (url, parts) = url.withNormalHost }
    }
    /// Where the parts of the address stand in its text.
    package private(set) var parts: AddressParts
    /// The header section; see ``Headers/fault`` for what happens to invalid fields.
    public var headers: Headers
    /// How long the stages may take.
    public var timeouts = Timeouts()
    // Everything else shares one reference, so that copies stay cheap on the way down the chain.
    private var options: Options

    /// Makes a request.
    public init(
        _ method: Request.Method,
        _ url: URL,
        headers: Headers = Headers(),
        body: Request.Body? = nil,
        delivery: Delivery = .buffered(limit: Request.defaultBufferLimit)
    ) {
        self.method = method
        (self.url, parts) = url.withNormalHost
        self.headers = headers
        options = .standard
        if body != nil { self.body = body }
        if delivery != options.delivery { self.delivery = delivery }
    }

    /// Makes a request from the text of an address.
    ///
    /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` when the text is not an absolute URL, lacks a host that its
    ///   scheme needs, or contains a user name. The same holds for a host without a normal form, and for a port out of
    ///   range. Credentials belong in an authoriser, which knows the origins that they may be sent to. A host and a
    ///   port without a scheme (`localhost:8080/x`) and other protocols (`ftp://…`) are refused, too. A program with a
    ///   transport for another protocol makes the request from a `URL`.
    public init(
        _ method: Request.Method,
        _ address: String,
        headers: Headers = Headers(),
        body: Request.Body? = nil,
        delivery: Delivery = .buffered(limit: Request.defaultBufferLimit)
    ) throws(LoadingError) {
        let url: URL
        do throws(AddressFault) {
            url = try AddressFault.address(address)
        } catch {
            switch error {
            case .scheme(let scheme): throw LoadingError(.invalidRequest(.unsupportedScheme(scheme)))
            case .reason(let reason):
                let shown = Redaction.standard.unparsable(address).escapedForDisplay()
                throw LoadingError(.invalidRequest(.url(shown, reason: reason)))
            }
        }
        self.init(method, url, headers: headers, body: body, delivery: delivery)
        try validate()
    }

    /// Makes a GET request.
    public init(_ url: URL, headers: Headers = Headers()) {
        self.init(.get, url, headers: headers)
    }

    /// Makes a GET request from the text of an address.
    ///
    /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` in the same cases as the other initialisers that take a text.
    public init(_ address: String, headers: Headers = Headers()) throws(LoadingError) {
        try self.init(.get, address, headers: headers)
    }

    /// Checks everything that can be known to be wrong before anything is sent.
    ///
    /// Transports and loaders call it. Call it yourself to find a mistake where it is made.
    ///
    /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` naming the part at fault.
    public func validate() throws(LoadingError) {
        if let fault = headers.fault { throw LoadingError(.invalidRequest(.header(fault)), LoadingError.Context(self)) }
        // A quick look; the rule that names the fault finds it.
        let port = parts.port ?? 1
        switch parts.scheme {
        case nil: throw addressFault()
        case .other? where !(1...65_535).contains(port) || AddressFault.beginsWithHost(url.absoluteString):
            throw addressFault()
        case .other?: break
        case .http?, .https?:
            guard (1...65_535).contains(port), !parts.hostIsEmpty, !parts.hasUserInformation,
                parts.hostIsPlain || hasHost
            else { throw addressFault() }
        }
        if method == .connect { throw LoadingError(.invalidRequest(.method("CONNECT")), LoadingError.Context(self)) }
        if let fault = framingFault { throw LoadingError(.invalidRequest(fault), LoadingError.Context(self)) }
    }

    /// The first field that would contradict the framing of the body, or change the connection (RFC 9112 §6, RFC 9110
    /// §7.6.1 and §7.8).
    ///
    /// A server could read such a request as two (request smuggling), or switch to another protocol.
    private var framingFault: LoadingError.RequestCause? {
        for field in headers {
            switch field.name.utf8.count {
            case 14 where field.name.equalsIgnoringASCIICase("content-length"):
                guard hasBody else {
                    guard field.value == "0" else { return .contentLength(written: field.value, actual: 0) }
                    continue
                }
                // The body determines the length.
                guard let length = body?.length else { return .framingField(field.name) }
                guard field.value == String(length) else {
                    return .contentLength(written: field.value, actual: length)
                }
            case 17 where field.name.equalsIgnoringASCIICase("transfer-encoding"),
                7 where field.name.equalsIgnoringASCIICase("upgrade"),
                14 where field.name.equalsIgnoringASCIICase("http2-settings"):
                return .framingField(field.name)
            case 10 where field.name.equalsIgnoringASCIICase("connection"):
                let harmless = ["", "close", "keep-alive", "te"]
                for option in field.value.parts(at: ",", omitsEmpty: true) {
                    let name = option.trimmedOfSpace.asciiLowercased
                    guard harmless.contains(name) else { return .framingField(field.name) }
                }
            default: break
            }
        }
        return nil
    }

    /// Whether the host has a normal form.
    private var hasHost: Bool {
        let host = url.absoluteString.utf8.dropFirst(parts.host.lowerBound).prefix(parts.host.count)
        return NormalHost(bytes: host) != nil
    }

    /// Adds the secrets of another request of the same call to those that must not be shown.
    package mutating func keepSecrets(of other: Request) {
        let known = Set(secretValues)
        let more = Redaction.secrets(of: other).filter { !known.contains($0) }
        if !more.isEmpty { secretValues += more }
    }

    /// Whether the address has an HTTP scheme, checked without making a string of the scheme.
    package var isHTTP: Bool { parts.scheme == .http || parts.scheme == .https }

    @inline(never)
    private func addressFault() -> LoadingError {
        let reason = AddressFault.first(in: url.absoluteString)?.clause ?? "it cannot be used"
        return LoadingError(
            .invalidRequest(.url(url.redacted(secretQueryNames: secretQueryNames), reason: reason)),
            LoadingError.Context(self)
        )
    }
}

// MARK: - Settings of one request

extension Request {
    /// How long the stages of an exchange may take; nil means no limit.
    public struct Timeouts: Sendable, Hashable {
        /// Until the connection, TLS included, is open; 10 s by default.
        public var connect: Duration? {
            get { connectTime.duration }
            set { connectTime = StoredDuration(newValue) }
        }
        /// Without a single byte in either direction; 30 s by default.
        ///
        /// The time in which a streamed body waits for its reader does not count.
        public var idle: Duration? {
            get { idleTime.duration }
            set { idleTime = StoredDuration(newValue) }
        }
        /// From the moment when the exchange may use a connection to the end of its body; nil by default.
        ///
        /// Only ``Call/deadline`` bounds the wait for a free connection before that.
        public var whole: Duration? {
            get { wholeTime.duration }
            set { wholeTime = StoredDuration(newValue) }
        }

        /// ``connect`` in nanoseconds.
        package var connectNanoseconds: Int64? { connectTime.nanoseconds }
        /// ``idle`` in nanoseconds.
        package var idleNanoseconds: Int64? { idleTime.nanoseconds }
        /// ``whole`` in nanoseconds.
        package var wholeNanoseconds: Int64? {
            get { wholeTime.nanoseconds }
            set { wholeTime = newValue.map(StoredDuration.init(nanoseconds:)) ?? StoredDuration() }
        }

        private var connectTime = StoredDuration(nanoseconds: 10_000_000_000)
        private var idleTime = StoredDuration(nanoseconds: 30_000_000_000)
        private var wholeTime = StoredDuration()

        /// Makes the default time-outs.
        public init() {}
    }

    /// The order of calls that wait for the same thing.
    public enum Priority: Int, Sendable, Hashable, Comparable {
        /// After everything else: prefetching, statistics.
        case low
        /// The default.
        case normal
        /// Before everything else: content that the user is waiting for.
        case high

        /// Less urgent before more urgent.
        public static func < (lhs: Priority, rhs: Priority) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// Where to connect instead of the host in the address.
    ///
    /// `Host`, TLS and the certificate check keep the name from the address.
    public enum Destination: Sendable, Hashable {
        /// Another host name or numeric address, with the port of the URL unless one is given.
        case host(String, port: Int?)
        /// A Unix-domain socket.
        case unixSocket(path: String)
    }

    /// The protocol versions that may be used.
    public enum VersionPreference: Sendable, Hashable {
        /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
        case automatic
        /// HTTP/1.1 only.
        case http1_1
        /// HTTP/2 without negotiation, for plain-text servers known to support it.
        case http2PriorKnowledge
    }

    /// How the cache is used.
    public enum CacheMode: Sendable, Hashable {
        /// As HTTP says (RFC 9111).
        case standard
        /// Send the request in any case, and store nothing.
        case bypass
        /// Have the server validate the stored response.
        case revalidate
        /// The stored response, of any age; the request is sent only when there is none.
        case preferStored
        /// The stored response, and never the server.
        case storedOnly
    }

    /// The content, if there is one.
    public var body: Request.Body? {
        get { options.body }
        set { change { $0.body = newValue } }
    }

    /// Whether there is content, without copying it.
    package var hasBody: Bool {
        if case .some = options.body { true } else { false }
    }

    /// How the response's body is delivered; buffered up to ``defaultBufferLimit`` by default.
    public var delivery: Delivery {
        get { options.delivery }
        set { change { $0.delivery = newValue } }
    }

    /// The order of calls that wait for the same thing; normal by default.
    public var priority: Priority {
        get { options.priority }
        set { change { $0.priority = newValue } }
    }

    /// Where to connect instead of the host in the address; nil by default.
    public var destination: Destination? {
        get { options.destination }
        set { change { $0.destination = newValue } }
    }

    /// The protocol versions that may be used; automatic by default.
    public var version: VersionPreference {
        get { options.version }
        set { change { $0.version = newValue } }
    }

    /// How the cache is used; as HTTP says by default.
    public var cacheMode: CacheMode {
        get { options.cacheMode }
        set { change { $0.cacheMode = newValue } }
    }

    /// How many redirects to follow; nil leaves it to the service.
    public var redirectLimit: Int? {
        get { options.redirectLimit }
        set { change { $0.redirectLimit = newValue } }
    }

    /// How many times to retry after a failure; nil leaves it to the service.
    public var retryLimit: Int? {
        get { options.retryLimit }
        set { change { $0.retryLimit = newValue } }
    }

    /// The status codes that count as success; nil leaves it to the endpoint and the service.
    ///
    /// It is decided once, when the call begins. A response with such a status is never retried.
    public var acceptableStatuses: Response.StatusSet? {
        get { options.acceptableStatuses }
        set { change { $0.acceptableStatuses = newValue } }
    }

    /// Whether a response is returned whatever its status is, instead of being thrown as an error; false by default.
    ///
    /// The status is retried all the same unless it is acceptable, so this is not the same as accepting every status.
    public var deliversEveryStatus: Bool {
        get { options.deliversEveryStatus }
        set { change { $0.deliversEveryStatus = newValue } }
    }

    /// The part of the app that makes the request, for observers and logs; never sent.
    public var sourceIdentifier: String? {
        get { options.sourceIdentifier }
        set { change { $0.sourceIdentifier = newValue } }
    }

    /// Names of query items whose values errors and events must not show.
    public var secretQueryNames: Set<String> {
        get { options.secretQueryNames }
        set { change { $0.secretQueryNames = newValue } }
    }

    /// Secrets that errors and events must not show even where a server repeats them, in addition to those that the
    /// request carries.
    ///
    /// Secrets of less than six bytes are not searched for. Redirected requests and requests for next pages keep the
    /// secrets of the requests before them.
    public var secretValues: [Secret] {
        get { options.secretValues }
        set { change { $0.secretValues = newValue } }
    }

    /// The value of a typed tag.
    ///
    /// Tags travel with the request and back with the response, and are never sent.
    public subscript<Tag: Request.Tag>(_ tag: Tag.Type) -> Tag.Value {
        get {
            // Most requests have no tags, and a cast costs more than an interceptor.
            guard !options.tags.isEmpty, let value = options.tags[ObjectIdentifier(tag)] else {
                return Tag.defaultValue
            }
            return value as? Tag.Value ?? Tag.defaultValue
        }
        set { change { $0.tags[ObjectIdentifier(tag)] = newValue } }
    }

    /// Whether the request has any tag; most have none, so their values need not be looked up.
    package var hasTags: Bool { !options.tags.isEmpty }

    private mutating func change(_ body: (Options) -> Void) {
        if !isKnownUniquelyReferenced(&options) { options = Options(copying: options) }
        body(options)
    }

    // Sendable: written only by `change` while this request holds the only reference.
    private final class Options: @unchecked Sendable {
        static let standard = Options()

        @exclusivity(unchecked) var body: Request.Body?
        @exclusivity(unchecked) var delivery = Delivery.buffered(limit: Request.defaultBufferLimit)
        @exclusivity(unchecked) var priority = Priority.normal
        @exclusivity(unchecked) var destination: Destination?
        @exclusivity(unchecked) var version = VersionPreference.automatic
        @exclusivity(unchecked) var cacheMode = CacheMode.standard
        @exclusivity(unchecked) var redirectLimit: Int?
        @exclusivity(unchecked) var retryLimit: Int?
        @exclusivity(unchecked) var acceptableStatuses: Response.StatusSet?
        @exclusivity(unchecked) var deliversEveryStatus = false
        @exclusivity(unchecked) var sourceIdentifier: String?
        @exclusivity(unchecked) var secretQueryNames: Set<String> = []
        @exclusivity(unchecked) var secretValues: [Secret] = []
        @exclusivity(unchecked) var tags: [ObjectIdentifier: any Sendable] = [:]

        init() {}

        init(copying other: Options) {
            body = other.body
            delivery = other.delivery
            priority = other.priority
            destination = other.destination
            version = other.version
            cacheMode = other.cacheMode
            redirectLimit = other.redirectLimit
            retryLimit = other.retryLimit
            acceptableStatuses = other.acceptableStatuses
            deliversEveryStatus = other.deliversEveryStatus
            sourceIdentifier = other.sourceIdentifier
            secretQueryNames = other.secretQueryNames
            secretValues = other.secretValues
            tags = other.tags
        }
    }
}

/// Whether a transport must not add an `Accept` of its own.
private enum OmitsAccept: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Whether the request is sent without `Accept`, which transports add by default; false by default.
    package var omitsAccept: Bool {
        get { self[OmitsAccept.self] }
        set { if newValue != omitsAccept { self[OmitsAccept.self] = newValue } }
    }
}

extension Request {
    /// A key for a typed value that travels with a request.
    ///
    /// ```swift
    /// enum ScreenName: Request.Tag { static let defaultValue: String? = nil }
    ///
    /// request[ScreenName.self] = "start"
    /// ```
    public protocol Tag {
        /// The type of the value.
        associatedtype Value: Sendable
        /// The value of requests that have none.
        static var defaultValue: Value { get }
    }
}

extension Request: CustomStringConvertible, CustomReflectable {
    /// The method and the address without secrets.
    public var description: String { "\(method) \(Redaction(self).address(url.absoluteString))" }

    /// A mirror that shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: ["request": description, "headers": headers]) }
}
