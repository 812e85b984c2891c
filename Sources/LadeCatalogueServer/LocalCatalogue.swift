#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore
public import LadeTesting

/// A media catalogue on the loopback interface: invented shows and medias in pages, tokens, limits, and faults on request.
///
/// ```swift
/// let catalogue = try LocalCatalogue()
/// catalogue.address("/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?pageSize=50")
/// ```
///
/// The same seed gives the same catalogue, byte for byte. What it answers:
///
/// | path | answer |
/// | --- | --- |
/// | `/integrationlayer/…` | the services of a broadcaster's media catalogue, for the business units that have each |
/// | `/images/?imageUrl=…&format=…&width=…` | a picture of that width, 16:9, always PNG |
/// | `/akahd/token?acl=…` | a token for a stream |
/// | `/medias?page=N&per_page=M` | medias as a plain array, `Link` and `X-Total-Count` |
/// | `/medias?offset=N&limit=M` | the same by offset |
/// | `/oauth2/token` | POST: `client_credentials` and `refresh_token` grants (RFC 6749 §4.4, §6) |
///
/// Lists of the catalogue have at most ``Options/maximumPageSize`` items, 10 without `pageSize`, and the address of the next
/// page in `next`; some may be asked for with `pageSize=unlimited`. A service that a business unit does not have, and
/// whatever is not known, is refused with 404, what cannot be meant with 400; the body says why. Paths that end in `.json`
/// are those of the first generation of services. What is published is of the year 2023.
///
/// Any address may ask for a fault: `fault=503`, `fault=429`, `fault=401`, `fault=reset`, `fault=stall`,
/// `fault=truncate`; `fault=503:2` only the first two times it is asked for. ``Options/faults`` strews them among all
/// answers instead. It stops when the value goes away.
public final class LocalCatalogue: Sendable {
    /// A way to answer badly.
    public enum Fault: String, Sendable, Hashable, CaseIterable {
        /// 503 with `Retry-After: 0`.
        case unavailable = "503"
        /// 429 with `Retry-After: 1`.
        case limited = "429"
        /// 401, as if the token had expired.
        case expired = "401"
        /// The connection is reset without an answer.
        case reset
        /// The body stops half-way and the connection stays open.
        case stall
        /// The body stops half-way and the connection is closed.
        case truncate
    }

    /// How the catalogue is made and behaves.
    public struct Options: Sendable {
        /// Where it listens; a free port of 127.0.0.1 by default.
        public var endpoint = LoopbackServer.Endpoint.ipv4()
        /// What everything is made from; 1 by default.
        public var seed: UInt64 = 1
        /// How many shows there are; 240 by default.
        public var shows = 240
        /// How many medias there are; 20,000 by default.
        public var medias = 20_000
        /// The most items of a page, whatever is asked for; 100 by default.
        public var maximumPageSize = 100
        /// How many requests are answered in each second, all clients together; nil, the default, for no limit.
        public var requestsPerSecond: Int?
        /// Whether lists want a bearer token; not by default.
        public var requiresToken = false
        /// How long a token is good for; 30 s by default.
        public var tokenLifetime = Duration.seconds(30)
        /// How long each answer is held back; nil, the default, for not at all.
        public var latency: Duration?
        /// Which faults are strewn among the answers, each at every so many requests for a list.
        public var faults: [Fault: Int] = [:]
        /// How many requests the faults take to have been made before the first; 0 by default.
        ///
        /// With 0 each kind comes up once among the first requests.
        public var earlierRequests = 0
        /// Where seconds, the ages of tokens and the latency come from.
        public var time: any TimeSource = SystemTime()

        /// Makes the default options.
        public init() {}
    }

    /// What the catalogue has answered so far.
    public struct Counts: Sendable, Hashable {
        /// Requests in all.
        public var requests = 0
        /// Pages of lists that went out whole.
        public var pages = 0
        /// Tokens that were given out.
        public var tokens = 0
        /// Requests refused for want of a good token.
        public var unauthorised = 0
        /// Requests refused because of the limit.
        public var limited = 0
        /// Faults, by kind.
        public var faults: [Fault: Int] = [:]
    }

    /// Who may have tokens: the client identifier and its secret.
    public static let client = (identifier: "lade", secret: "demo-secret")

    private let server: LoopbackServer
    private let closed: LoopbackServer
    private let desk: CatalogueDesk

    /// Starts a catalogue.
    ///
    /// - Throws: ``SystemCallFailure`` when it cannot listen there.
    public init(_ options: Options = Options()) throws(SystemCallFailure) {
        let desk = CatalogueDesk(options)
        self.desk = desk
        var listening = LoopbackServer.Options()
        listening.endpoint = options.endpoint
        // It serves for hours: nothing is remembered of what it received.
        listening.keptRequests = 0
        listening.keptConnections = 0
        listening.keptConnectionBytes = 0
        server = try LoopbackServer(listening) { request in try desk.answer(request) }
        closed = try LoopbackServer(script: [.reset])
        closed.stopAccepting()
    }

    deinit {
        desk.stop()
    }

    /// The address of a path.
    public func address(_ target: String = "/") -> String { server.address(target) }

    /// The port it listens on.
    public var port: UInt16 { server.port }

    /// The address of the token endpoint.
    public var tokenEndpoint: String { address("/oauth2/token") }

    /// A host and port where connections are refused: a host that is down.
    public var deadAuthority: String { closed.authority }

    /// What it has answered so far.
    public var counts: Counts { desk.counts }

    /// The medias as they stand in the pages of a business unit, by position.
    public func media(_ index: Int, businessUnit: String = "rts") -> Data {
        desk.stock.json(CatalogueItem(.video, index), businessUnit)
    }

    /// Makes every token bad at once.
    public func expireTokens() { desk.expireTokens() }

    /// Closes every connection and listens no more.
    public func stop() {
        desk.stop()
        server.stop()
        closed.stop()
    }
}
