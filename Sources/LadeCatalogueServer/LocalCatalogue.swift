#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore
public import LadeTesting

/// A media catalogue on the loopback interface, with invented shows and medias, tokens, limits, and faults on request.
///
/// ```swift
/// let catalogue = try LocalCatalogue()
/// let address = catalogue.address("/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?pageSize=50")
/// ```
///
/// The same seed gives the same catalogue, byte for byte. It offers these paths:
///
/// | path | response |
/// | --- | --- |
/// | `/integrationlayer/…` | the services of a broadcaster's media catalogue, for the business units that have each |
/// | `/images/?imageUrl=…&format=…&width=…` | a picture of that width, always PNG: 2:3 for a poster, a square for a podcast, else 16:9 |
/// | `/akahd/token?acl=…` | a token for a stream |
/// | `/medias?page=N&per_page=M` | medias as a plain array, `Link` and `X-Total-Count` |
/// | `/medias?offset=N&limit=M` | the same by offset |
/// | `/graphql` | POST: medias as a connection in `/data/medias`, from `variables.after`, whatever the query |
/// | `/oauth2/token` | POST: `client_credentials` and `refresh_token` grants (RFC 6749 §4.4, §6); a second use of a refresh token revokes its sign-in |
///
/// A list has at most ``Options/maximumPageSize`` items on a page, 10 without `pageSize`, and the address of the next
/// page in `next`. Some lists accept `pageSize=unlimited`.
///
/// The response is 404 for an unknown path, and for a service that the business unit does not offer. It is 400 for an
/// invalid request. The body contains the reason. Paths that end in `.json` belong to the first generation of services.
/// All publications are dated 2023.
///
/// Any address can request a lifetime: with `max-age=60` caches may store the response for a minute, and validate it
/// afterwards.
///
/// Any address can request a fault: `fault=503`, `fault=429`, `fault=401`, `fault=reset`, `fault=stall` or
/// `fault=truncate`. `fault=503:2` applies only to the first two requests for the address. ``Options/faults`` instead
/// distributes faults among all responses. The catalogue stops when the value is released.
public final class LocalCatalogue: Sendable {
    /// A kind of fault.
    public enum Disruption: String, Sendable, Hashable, CaseIterable {
        /// 503 with `Retry-After: 0`.
        case unavailable = "503"
        /// 429 with `Retry-After: 1`.
        case limited = "429"
        /// 401, as for an expired token.
        case expired = "401"
        /// The connection is reset without a response.
        case reset
        /// The body stalls half-way and the connection stays open.
        case stall
        /// The body is truncated half-way and the connection is closed.
        case truncate
    }

    /// The contents and behaviour of a catalogue.
    public struct Options: Sendable {
        /// The address to listen on; a free port of 127.0.0.1 by default.
        public var address = LoopbackServer.Address.ipv4()
        /// The seed for all contents; 1 by default.
        public var seed: UInt64 = 1
        /// The number of shows; 240 by default.
        public var shows = 240
        /// The number of medias; 20,000 by default.
        public var medias = 20_000
        /// The maximum number of items on a page; 100 by default.
        public var maximumPageSize = 100
        /// The maximum number of requests per second for all clients together; nil by default, for no limit.
        public var requestsPerSecond: Int?
        /// Whether lists require a bearer token; false by default.
        public var requiresToken = false
        /// The lifetime of a token; 30 s by default.
        public var tokenLifetime = Duration.seconds(30)
        /// The delay of each response; nil by default, for none.
        public var latency: Duration?
        /// The faults to distribute among the responses, each with its interval in requests for a list.
        public var faults: [Disruption: Int] = [:]
        /// The number of requests that the schedule of faults counts as already made; 0 by default.
        ///
        /// With 0, each kind of fault occurs once among the first requests.
        public var earlierRequests = 0
        /// The clock for limits, tokens and delays.
        public var time: any TimeSource = SystemTime()

        /// Makes the default options.
        public init() {}
    }

    /// The counts of requests and responses so far.
    package struct Counts: Sendable, Hashable {
        /// All requests.
        package var requests = 0
        /// Pages of lists that were sent completely.
        package var pages = 0
        /// Tokens that were issued.
        package var tokens = 0
        /// Refresh tokens that were used a second time, each of which has ended its sign-in.
        package var reusedTokens = 0
        /// Requests refused because they had no valid token.
        package var unauthorised = 0
        /// Requests refused because of the limit.
        package var limited = 0
        /// Faults by kind.
        package var faults: [Disruption: Int] = [:]
    }

    /// The client identifier and secret for which tokens are issued.
    public static let client = (identifier: "lade", secret: "demo-secret")

    private let server: LoopbackServer
    private let closed: LoopbackServer
    private let responder: CatalogueResponder

    /// Starts a catalogue.
    ///
    /// - Throws: ``SystemCallError`` when the catalogue cannot listen on the endpoint.
    public init(_ options: Options = Options()) throws(SystemCallError) {
        let responder = CatalogueResponder(options)
        self.responder = responder
        var listening = LoopbackServer.Options()
        listening.address = options.address
        // The catalogue runs for hours, so the server records no requests.
        listening.keptRequests = 0
        listening.keptConnections = 0
        listening.keptConnectionBytes = 0
        server = try LoopbackServer(listening) { request in try responder.respond(request) }
        closed = try LoopbackServer(script: [.reset])
        closed.stopAccepting()
    }

    deinit {
        responder.stop()
    }

    /// The address of a path.
    public func address(_ target: String = "/") -> String { server.address(target) }

    /// The port of the catalogue.
    public var port: UInt16 { server.port }

    /// The address of the token endpoint.
    public var tokenEndpoint: String { address("/oauth2/token") }

    /// A host and port that refuse connections, as of a host that is down.
    public var deadAuthority: String { closed.authority }

    /// The counts so far.
    package var counts: Counts { responder.counts }

    /// The media at an index as JSON, as in the pages of a business unit.
    public func media(_ index: Int, businessUnit: String = "rts") -> Data {
        responder.stock.json(CatalogueItem(.video, index), businessUnit)
    }

    /// Invalidates all tokens immediately.
    public func expireTokens() { responder.expireTokens() }

    /// Closes all connections and stops listening.
    public func stop() {
        responder.stop()
        server.stop()
        closed.stop()
    }
}
