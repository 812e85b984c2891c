#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

/// Responds to the requests for a ``LocalCatalogue``, on the threads of its connections.
final class CatalogueResponder: Sendable {
    private struct State {
        var counts = LocalCatalogue.Counts()
        var tokens = IssuedTokens()
        var listRequests = 0
        /// The number of requests for each address with a limited fault.
        var asked: [String: Int] = [:]
        var second: Int64 = 0
        var inSecond = 0
        /// The tasks that delay responses, by number.
        var waits: [Int: Task<Void, Never>] = [:]
        var lastWait = 0
        var isStopped = false
    }

    private struct Reset: Error {}

    let stock: CatalogueStock
    private let responses: CatalogueResponses
    private let options: LocalCatalogue.Options
    private let state = Locked(State())

    init(_ options: LocalCatalogue.Options) {
        self.options = options
        stock = CatalogueStock(seed: options.seed, shows: options.shows, medias: options.medias)
        responses = CatalogueResponses(stock, maximumPageSize: options.maximumPageSize)
    }

    var counts: LocalCatalogue.Counts {
        state.withLock { state in
            var counts = state.counts
            (counts.tokens, counts.reusedTokens) = (state.tokens.issued, state.tokens.reused)
            return counts
        }
    }

    func expireTokens() {
        state.withLock { $0.tokens.expire() }
    }

    func respond(_ request: ServerRequest) throws -> ServerResponse {
        state.withLock { $0.counts.requests += 1 }
        if let latency = options.latency { wait(latency) }
        let path = request.path
        if path == "/oauth2/token" { return token(request) }
        let (refusal, fields) = limit()
        if let refusal { return refusal }
        guard let service = Service(path) else {
            return .refusal(.notFound("not found"), fields)
        }
        if service == .plain || service == .image || service == .token,
            request.method != "GET", request.method != "HEAD"
        {
            return .status(405, fields)
        }
        if service == .connection, request.method != "POST" { return .status(405, fields) }
        let fault = fault(for: request)
        if fault == .expired || (options.requiresToken && !isAuthorised(request)) { return unauthorised(fields) }
        var response = respond(service, request)
        response.fields += fields
        return try spoil(cacheable(response, request), fault)
    }

    /// A response that may be stored for as long as the request says (`max-age=60`), and is validated by its bytes.
    private func cacheable(_ response: ServerResponse, _ request: ServerRequest) -> ServerResponse {
        guard let seconds = request.queryItem("max-age").flatMap({ Int($0) }), response.status == 200,
            case .bytes(let bytes) = response.body
        else { return response }
        let digest = ContentDigest(bytes)
        let fields = [
            ServerField("Cache-Control", "max-age=\(seconds)"),
            ServerField("ETag", "\"\(digest.count)-\(String(digest.value, radix: 16))\""),
        ]
        guard request["If-None-Match"] != fields[1].value else { return .status(304, fields) }
        var response = response
        response.fields += fields
        return response
    }

    /// Ends all delays, current and future.
    func stop() {
        let waits = state.withLock { state in
            state.isStopped = true
            return Array(state.waits.values)
        }
        for wait in waits { wait.cancel() }
    }

    /// Delays the connection's thread by a duration of the catalogue's clock.
    private func wait(_ duration: Duration) {
        let isOver = Signal()
        // Owned by the state, so that ``stop()`` can cancel it.
        let wait = Task { [time = options.time] in
            // The sleep throws when it is cancelled; then the response is sent immediately.
            try? await time.sleep(for: duration)
            isOver.raise()
        }
        let (number, isStopped) = state.withLock { state in
            state.lastWait += 1
            state.waits[state.lastWait] = wait
            return (state.lastWait, state.isStopped)
        }
        if isStopped { wait.cancel() }
        isOver.waitOnThread()
        state.withLock { $0.waits[number] = nil }
    }

    // MARK: - Limits and faults

    /// Counts a request in its second (draft-ietf-httpapi-ratelimit-headers, and the older fields that most clients
    /// support).
    private func limit() -> (ServerResponse?, [ServerField]) {
        guard let most = options.requestsPerSecond else { return (nil, []) }
        let now = options.time.now.nanoseconds
        let left = state.withLock { state -> Int in
            let second = now / 1_000_000_000
            if second != state.second {
                state.second = second
                state.inSecond = 0
            }
            state.inSecond += 1
            if state.inSecond > most { state.counts.limited += 1 }
            return most - state.inSecond
        }
        let fields = [
            ServerField("RateLimit-Policy", "\"second\";q=\(most);w=1"),
            ServerField("RateLimit", "\"second\";r=\(max(left, 0));t=1"),
        ]
        guard left < 0 else { return (nil, fields) }
        let body = #"{"status":{"code":429,"msg":"too many requests"}}"#
        return (.json(body, status: 429, [ServerField("Retry-After", "1")] + fields), fields)
    }

    private func fault(for request: ServerRequest) -> LocalCatalogue.Disruption? {
        state.withLock { state -> LocalCatalogue.Disruption? in
            state.listRequests += 1
            var fault: LocalCatalogue.Disruption?
            if let wish = request.queryItem("fault") {
                let parts = wish.split(separator: ":")
                fault = parts.first.flatMap { LocalCatalogue.Disruption(rawValue: String($0)) }
                if parts.count > 1, let times = Int(parts[1]) {
                    state.asked[request.target, default: 0] += 1
                    if state.asked[request.target, default: 0] > times { fault = nil }
                }
            } else {
                // Faults do not fall exactly on the multiples, where several kinds would coincide.
                for (index, kind) in LocalCatalogue.Disruption.allCases.enumerated() {
                    guard let every = options.faults[kind], every > 0 else { continue }
                    let number = state.listRequests + options.earlierRequests
                    if number % every == (index + 1) % every { fault = kind }
                }
            }
            if let fault { state.counts.faults[fault, default: 0] += 1 }
            return fault
        }
    }

    private func spoil(_ response: ServerResponse, _ fault: LocalCatalogue.Disruption?) throws -> ServerResponse {
        guard let fault, case .bytes(let bytes) = response.body else {
            if response.status == 200 { state.withLock { $0.counts.pages += 1 } }
            return response
        }
        var spoilt = response
        switch fault {
        case .expired: break
        case .reset: throw Reset()
        case .unavailable:
            let body = #"{"status":{"code":503,"msg":"try again"}}"#
            return .json(body, status: 503, [ServerField("Retry-After", "0")])
        case .limited:
            let body = #"{"status":{"code":429,"msg":"too many requests"}}"#
            return .json(body, status: 429, [ServerField("Retry-After", "1")])
        case .stall, .truncate:
            spoilt.fields.append(ServerField("Content-Length", String(bytes.count)))
            spoilt.body = .raw { connection in
                try connection.send(Data(bytes.prefix(bytes.count / 2)))
                if fault == .stall { try connection.stall() }
            }
        }
        return spoilt
    }

    // MARK: - Tokens

    private func isAuthorised(_ request: ServerRequest) -> Bool {
        guard let field = request["Authorization"], field.lowercased().hasPrefix("bearer ") else { return false }
        let token = String(field.dropFirst(7))
        let now = options.time.now
        return state.withLock { $0.tokens.accepts(token, at: now) }
    }

    private func unauthorised(_ fields: [ServerField]) -> ServerResponse {
        state.withLock { $0.counts.unauthorised += 1 }
        let challenge = #"Bearer realm="catalogue", error="invalid_token", error_description="The token has expired""#
        return .json(
            #"{"status":{"code":401,"msg":"unauthorised"}}"#,
            status: 401,
            [ServerField("WWW-Authenticate", challenge)] + fields
        )
    }

    private func token(_ request: ServerRequest) -> ServerResponse {
        let noStore = [ServerField("Cache-Control", "no-store")]
        guard request.method == "POST" else { return .status(405) }
        let form = Self.form(request.text)
        guard isClient(request, form) else {
            let fields = noStore + [ServerField("WWW-Authenticate", "Basic realm=\"catalogue\"")]
            return .json(#"{"error":"invalid_client"}"#, status: 401, fields)
        }
        let now = options.time.now
        let end = now.advanced(by: options.tokenLifetime)
        let pair: IssuedTokens.Pair?
        switch form["grant_type"] {
        case "client_credentials": pair = state.withLock { $0.tokens.signIn(until: end, at: now) }
        case "refresh_token":
            // The client's secret is the refresh token of a new sign-in, for demonstrations.
            let old = form["refresh_token"] ?? ""
            let isFirst = old == LocalCatalogue.client.secret
            pair = state.withLock { state in
                isFirst ? state.tokens.signIn(until: end, at: now) : state.tokens.replace(old, until: end, at: now)
            }
        default: return .json(#"{"error":"unsupported_grant_type"}"#, status: 400, noStore)
        }
        guard let (access, refresh) = pair else {
            return .json(#"{"error":"invalid_grant"}"#, status: 400, noStore)
        }
        let seconds = options.tokenLifetime.components.seconds
        let body =
            #"{"access_token":"\#(access)","token_type":"Bearer","expires_in":\#(seconds),"refresh_token":"\#(refresh)"}"#
        return .json(body, noStore)
    }

    private func isClient(_ request: ServerRequest, _ form: [String: String]) -> Bool {
        let client = LocalCatalogue.client
        if let field = request["Authorization"], field.hasPrefix("Basic "),
            let decoded = Data(base64Encoded: String(field.dropFirst(6)))
        {
            return String(decoding: decoded, as: UTF8.self) == "\(client.identifier):\(client.secret)"
        }
        return form["client_id"] == client.identifier && form["client_secret"] == client.secret
    }

    private static func form(_ text: String) -> [String: String] {
        var form: [String: String] = [:]
        for item in text.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1].map { $0 == "+" ? " " : $0 }) : ""
            form[String(parts[0])] = String(decoding: value.percentDecodedBytes, as: UTF8.self)
        }
        return form
    }

    // MARK: - Services

    private func respond(_ service: Service, _ request: ServerRequest) -> ServerResponse {
        switch service {
        case .plain: plainPage(request)
        case .connection: connectionPage(request)
        case .image: responses.image(request)
        case .token: responses.token(request)
        case .catalogue(let path): responses.respond(path, request)
        }
    }

    private func plainPage(_ request: ServerRequest) -> ServerResponse {
        let count = stock.count(.video)
        let isByOffset = request.queryItem("offset") != nil || request.queryItem("limit") != nil
        let size = min(
            max(request.queryItem(isByOffset ? "limit" : "per_page").flatMap { Int($0) } ?? 10, 1),
            options.maximumPageSize
        )
        let page = max(request.queryItem("page").flatMap { Int($0) } ?? 1, 1)
        let offset = request.queryItem("offset").flatMap { Int($0) } ?? 0
        let (product, isHuge) = (page - 1).multipliedReportingOverflow(by: size)
        let start = min(max(isByOffset ? offset : isHuge ? count : product, 0), count)
        let end = min(start + size, count)
        var fields = [
            ServerField("Content-Type", "application/json"), ServerField("X-Total-Count", String(count)),
        ]
        if end < count {
            let next = isByOffset ? "offset=\(end)&limit=\(size)" : "page=\(page + 1)&per_page=\(size)"
            fields.append(ServerField("Link", "<\(request.path)?\(next)>; rel=\"next\""))
        }
        var body = Data()
        body.appendArray(start..<end) { stock.json(CatalogueItem(.video, $0), "rts") }
        return .bytes(body, fields)
    }

    /// A connection of GraphQL (Relay's cursor connections), whatever the query asks for.
    private func connectionPage(_ request: ServerRequest) -> ServerResponse {
        // A body without variables asks for the first page.
        let variables = (try? JSONDecoder().decode(ConnectionRequest.self, from: Data(request.body)))?.variables
        let count = stock.count(.video)
        let size = min(max(variables?.first ?? 10, 1), options.maximumPageSize)
        let start = min(max(variables?.after.flatMap { Int($0) } ?? 0, 0), count)
        let end = min(start + size, count)
        var body = Data(#"{"data":{"medias":{"nodes":"#.utf8)
        body.appendArray(start..<end) { stock.json(CatalogueItem(.video, $0), "rts") }
        body += Data(
            #","pageInfo":{"endCursor":"\#(end)","hasNextPage":\#(end < count)},"totalCount":\#(count)}}}"#.utf8
        )
        return .bytes(body, [ServerField("Content-Type", "application/json")])
    }
}

/// The body of a request for a connection.
private struct ConnectionRequest: Decodable {
    struct Variables: Decodable {
        var after: String?
        var first: Int?
    }

    var variables: Variables?
}

/// The service for a path.
private enum Service: Equatable {
    case plain
    case connection
    case image
    case token
    case catalogue(ArraySlice<Substring>)

    init?(_ path: String) {
        let parts = path.split(separator: "/")
        switch parts.first {
        case "medias" where parts.count == 1: self = .plain
        case "graphql" where parts.count == 1: self = .connection
        case "images" where parts.count == 1: self = .image
        case "akahd" where parts.count == 2 && parts[1] == "token": self = .token
        case "integrationlayer": self = .catalogue(parts[1...])
        default: return nil
        }
    }
}
