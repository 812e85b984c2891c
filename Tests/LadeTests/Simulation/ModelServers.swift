#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting

/// The servers of the simulation, which check the requests that reach them.
///
/// | host | what it does |
/// | --- | --- |
/// | `api.example.com/v1` | requires tokens; storms of 429 and 503 with `Retry-After`, resets, malformed and slow
/// bodies |
/// | `api.example.com/orders` | the same for POST, and counts its effects |
/// | `cdn.example.com/img` | three addresses that fail and recover; slow bodies |
/// | `metered.example.com/m` | only a rate |
/// | `www.example.com/go` | sets cookies and redirects |
/// | `flaky.example.com/f` | always fails |
/// | `id.example.com/token` | returns tokens that expire soon, and fails at times |
///
/// Everything happens in virtual time and depends on one seed. ``violations`` records what must not happen.
final class ModelServers: Transport {
    /// The common part of all secrets of the simulation.
    static let canary = "cAnArY"
    static let metered = (key: ServiceKey("metered.example.com:443/m"), rate: RateLimits.Rate(perSecond: 7))
    static let rates = [
        metered.key: metered.rate,
        ServiceKey("api.example.com:443/v1"): RateLimits.Rate(perSecond: 20, burst: 5),
        ServiceKey("api.example.com:443/orders"): RateLimits.Rate(perSecond: 10),
    ]
    static let cdnAddresses = ["cdn.example.com", "backup-1.example.com", "backup-2.example.com"]
    /// Host, port and first component of the path.
    ///
    /// The simulation has its own rule, because the library's is under test.
    ///
    /// Every address of the simulation is `https` without a port, a user or an empty component.
    static func key(of url: URL) -> ServiceKey {
        let parts = url.absoluteString.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "https:" else { return ServiceKey("no address of the simulation: \(url)") }
        return ServiceKey("\(parts[2]):443/\(parts[3].prefix { !"/?#".contains($0) })")
    }
    /// The most exchanges that a service allows at the same time, bodies included.
    static let caps = [ServiceKey("cdn.example.com:443/img"): 6]

    private struct Window {
        var from: Instant
        var until: Instant
        var kind: Int
    }

    private struct Token {
        var account: String
        var end: Instant
    }

    private struct State {
        var violations: [String] = []
        var sent: [String: Int] = [:]
        var underWay = ExchangeCount()
        /// The earliest time of the next request to each service, as its server counts.
        var paidUntil: [ServiceKey: Instant] = [:]
        /// The first start of the metered service, and the count when its own callers arrived last.
        var firstMetered: Instant?
        var lastMetered: (at: Instant, count: Int)?
        /// Until when each service requested a delay, as far as the client has received it.
        var closed: [ServiceKey: (since: Instant, until: Instant)] = [:]
        var tokens: [String: Token] = [:]
        var lastToken = 0
        var refreshing: [String: Int] = [:]
        var signedOut: [String: Instant] = [:]
        /// The unsafe operations that a server could have processed.
        var processed: Set<String> = []
        var keys: [String: String] = [:]
        /// The idempotency keys that a server has processed.
        var applied: Set<String> = []
        /// How often each operation was processed.
        var effects: [String: Int] = [:]
        var gatesClosed = 0
    }

    private let scripted = ScriptedTransport()
    private let time: VirtualTime
    private let random: SeededRandom
    private let storms: [String: [Window]]
    private let deaths: [String: [Window]]
    private let state = Locked(State())

    init(seed: UInt64, time: VirtualTime) {
        self.time = time
        let random = SeededRandom(seed: seed)
        self.random = random
        storms = ["v1": Self.windows(random, up: 300, down: 40), "orders": Self.windows(random, up: 400, down: 15)]
        deaths = Dictionary(
            uniqueKeysWithValues: Self.cdnAddresses.map { ($0, Self.windows(random, up: 500, down: 90)) }
        )
        scripted.onAnyRequest().respond(
            .computed { [unowned self] (request, call) async throws(LoadingError) in answer(to: request, call) }
        )
    }

    /// Times of trouble during a day, each with a kind from 0 to 2.
    private static func windows(_ random: SeededRandom, up: Double, down: Double) -> [Window] {
        var windows: [Window] = []
        var now = Instant(nanoseconds: 0)
        let end = now.advanced(by: .seconds(86_400))
        while now < end {
            let from = now.advanced(by: .seconds(up * (0.2 + 1.6 * random.unit())))
            now = from.advanced(by: .seconds(down * (0.2 + 1.6 * random.unit())))
            windows.append(Window(from: from, until: now, kind: Int(random.next() % 3)))
        }
        return windows
    }

    // MARK: - What the checks ask

    var violations: [String] { state.withLock(\.violations) }
    var exchanges: Int { state.withLock { $0.sent.values.reduce(0, +) } }
    var exchangesByService: [String: Int] { state.withLock(\.sent) }
    var effects: [String: Int] { state.withLock(\.effects) }
    var gatesClosed: Int { state.withLock(\.gatesClosed) }
    /// The most exchanges that a service had at the same time.
    func mostAtOnce(with key: ServiceKey) -> Int { state.withLock { $0.underWay.most(of: key) } }

    /// The rate of requests to the metered service while calls were always waiting, per second.
    var meteredRate: Double {
        state.withLock { state in
            guard let first = state.firstMetered, let last = state.lastMetered else { return 0 }
            return Double(last.count - 1) / (Double(last.at.nanoseconds - first.nanoseconds) / 1e9)
        }
    }

    /// From now on no request may carry the tokens of an account.
    func signedOut(_ account: String) {
        state.withLock { $0.signedOut[account] = time.now }
    }

    // MARK: - The way there

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        let key = Self.key(of: request.url)
        check(request, key)
        let place = ExchangePlace { [state] in state.withLock { $0.underWay.leave(key) } }
        let refreshing = key.description == "id.example.com:443/token" ? Self.form(request)["refresh_token"] : nil
        if let refreshing {
            state.withLock { state in
                state.refreshing[refreshing, default: 0] += 1
                if state.refreshing[refreshing] != 1 {
                    state.violations.append("two concurrent refreshes: \(refreshing)")
                }
            }
        }
        defer {
            if let refreshing { state.withLock { $0.refreshing[refreshing, default: 0] -= 1 } }
        }
        do throws(LoadingError) {
            var response = try await scripted.send(request, call: call)
            heard(response.status, response.headers, key)
            if response.body.bytes == nil {
                response.body = response.body.wrapped { CountedBody($0, place) }
            } else {
                place.leave()
            }
            return response
        } catch {
            place.leave()
            if let status = error.context.status { heard(status, error.context.headers, key) }
            throw error
        }
    }

    /// Checks what any server may expect: its rate, its requested delay, its limit on concurrent exchanges.
    private func check(_ request: Request, _ key: ServiceKey) {
        let now = time.now
        state.withLock { state in
            state.sent[key.description, default: 0] += 1
            if key == Self.metered.key {
                state.firstMetered = state.firstMetered ?? now
                // Redirects lead there too, hours later.
                if request.url.path() == "/m/1" { state.lastMetered = (now, state.sent[key.description] ?? 0) }
            }
            if let gate = state.closed[key], gate.since < now, now < gate.until {
                state.violations.append(
                    "\(key) was asked at \(now.nanoseconds), closed until \(gate.until.nanoseconds)"
                )
            }
            let count = state.underWay.enter(key)
            if let cap = Self.caps[key], count > cap {
                state.violations.append("\(key) has \(count) concurrent exchanges, which is more than \(cap)")
            }
        }
    }

    /// Checks the rate of a request that reaches its server; one whose connection is refused costs nothing.
    private func checkRate(_ key: ServiceKey) {
        guard let rate = Self.rates[key] else { return }
        let now = time.now
        state.withLock { state in
            let interval = Int64(1e9 / rate.perSecond)
            let paid = max(state.paidUntil[key] ?? now, now)
            let early = paid.nanoseconds - now.nanoseconds - interval * Int64(rate.burst - 1)
            if early > 1000 { state.violations.append("\(key) was asked \(early) ns early") }
            state.paidUntil[key] = Instant(nanoseconds: paid.nanoseconds + interval)
        }
    }

    /// The client has received a response: a delay that it requests counts from here on.
    private func heard(_ status: Response.Status, _ headers: Headers, _ key: ServiceKey) {
        guard status == 429 || status == 503, let seconds = headers["Retry-After"].flatMap({ Int64($0) }) else {
            return
        }
        let now = time.now
        let until = now.advanced(by: .seconds(seconds))
        state.withLock { state in
            state.gatesClosed += 1
            guard until > state.closed[key]?.until ?? now else { return }
            let isClosed = state.closed[key].map { now < $0.until } ?? false
            state.closed[key] = (isClosed ? state.closed[key]?.since ?? now : now, until)
        }
    }

    // MARK: - The servers

    private func answer(to request: Request, _ call: Call) -> ScriptedResponse {
        let delay = Duration.seconds(0.02 + 0.6 * random.unit() * random.unit())
        let key = Self.key(of: request.url)
        let refusal = key.description.hasPrefix("api.example.com") ? refusal(of: request) : nil
        // Some orders do not reach their server.
        if refusal != nil || !key.description.hasSuffix("/orders") { checkRate(key) }
        if let refusal { return refusal.after(delay) }
        switch key.description {
        case "metered.example.com:443/m": return .text("metered").after(delay)
        case "cdn.example.com:443/img": return image(request, delay)
        case "www.example.com:443/go": return redirect(request).after(delay)
        case "flaky.example.com:443/f": return .status(500).after(delay)
        case "id.example.com:443/token": return token(request, delay)
        case "api.example.com:443/v1": return item(request, "v1", delay)
        case "api.example.com:443/orders": return order(request, delay)
        default:
            note("no server is at \(request.url)")
            return .status(404)
        }
    }

    private func item(_ request: Request, _ service: String, _ delay: Duration) -> ScriptedResponse {
        if let storm = storm(service) { return storm.after(delay) }
        let text = String(repeating: "item ", count: 40)
        return switch random.unit() {
        case ..<0.02: .connectionLost().after(delay)
        case ..<0.03: .status(500).after(delay)
        case ..<0.04: .status(502).after(delay)
        case ..<0.05: .text(text).breaking(after: 50).after(delay)
        case ..<0.06: .text(text).stalling(after: 50).after(delay)
        case ..<0.07: .status(404).after(delay)
        case ..<0.08: .stalls
        case ..<0.18: .text(text).inPieces(of: 40, every: .seconds(0.5)).after(delay)
        default: .text(text).after(delay)
        }
    }

    private func order(_ request: Request, _ delay: Duration) -> ScriptedResponse {
        let operation = request.headers["X-Operation"] ?? ""
        let key = request.headers["Idempotency-Key"]
        let storm = storm("orders")
        let dice = random.unit()
        // Refused before any effect: the one failure after which any method may be sent again.
        let isUnreached = dice < 0.03
        if !isUnreached { checkRate(Self.key(of: request.url)) }
        state.withLock { state in
            if let key {
                let known = state.keys.updateValue(key, forKey: operation) ?? key
                if known != key { state.violations.append("operation \(operation) came with two keys") }
            } else if state.processed.contains(operation) {
                state.violations.append("operation \(operation) was repeated")
            }
            guard !isUnreached else { return }
            state.processed.insert(operation)
            guard storm == nil else { return }
            // A server that has the key does not process the request again; without a key it does.
            if let key, !state.applied.insert(key).inserted { return }
            state.effects[operation, default: 0] += 1
        }
        if isUnreached {
            return .fails(LoadingError(.cannotConnect(host: "api.example.com", reason: .refused))).after(delay)
        }
        if let storm { return storm.after(delay) }
        return switch dice {
        case ..<0.10: .connectionLost().after(delay)
        case ..<0.13: .status(500).after(delay)
        case ..<0.15: .text("ordered", status: 201).breaking(after: 3).after(delay)
        case ..<0.17: .stalls
        default: .text("ordered", status: 201).after(delay)
        }
    }

    private func image(_ request: Request, _ delay: Duration) -> ScriptedResponse {
        var host = "cdn.example.com"
        if case .host(let name, _) = request.destination { host = name }
        let now = time.now
        if let death = deaths[host]?.first(where: { $0.from <= now && now < $0.until }) {
            switch death.kind {
            case 0: return .fails(LoadingError(.cannotConnect(host: host, reason: .refused))).after(.milliseconds(5))
            case 1: return .timesOut(.connect).after(.seconds(5))
            default: return .status(503).after(delay)
            }
        }
        let bytes = Data(repeating: 7, count: 4000)
        return switch random.unit() {
        case ..<0.02: .bytes(bytes).breaking(after: 1500).after(delay)
        case ..<0.40: .bytes(bytes).inPieces(of: 500, every: .seconds(1.5 * random.unit())).after(delay)
        default: .bytes(bytes).after(delay)
        }
    }

    private func redirect(_ request: Request) -> ScriptedResponse {
        let cookie = "sid=\(Self.canary)-\(random.next() % 100); Path=/; Max-Age=600"
        let target =
            switch random.next() % 4 {
            case 0: "/go/\(random.next() % 10)?token=\(Self.canary)"
            case 1: "https://cdn.example.com/img/\(random.next() % 10)"
            case 2: "https://api.example.com/v1/shared?signature=\(Self.canary)"
            default: "https://metered.example.com/m/by-redirect"
            }
        return .status(302, headers: ["Location": target, "Set-Cookie": cookie])
    }

    private func storm(_ service: String) -> ScriptedResponse? {
        let now = time.now
        guard let storm = storms[service]?.first(where: { $0.from <= now && now < $0.until }) else { return nil }
        let left = now.duration(to: storm.until).components.seconds + 1
        return switch storm.kind {
        case 0: .status(503, headers: ["Retry-After": "\(left)"])
        case 1: .status(429, headers: ["Retry-After": "\(min(left, 7))"])
        default: random.unit() < 0.5 ? .status(503) : .status(503, headers: ["Retry-After": "\(left)"])
        }
    }

    // MARK: - Tokens

    /// A 401 for a request without a valid token.
    private func refusal(of request: Request) -> ScriptedResponse? {
        // The target of a redirect needs no token, and an anonymous user has none.
        guard !request.url.path().hasSuffix("/shared") else { return nil }
        let field = request.headers["Authorization"] ?? ""
        let token = String(field.dropFirst("Bearer ".count))
        let now = time.now
        let isRevoked = random.unit() < 0.01
        let isGood = state.withLock { state -> Bool in
            guard let known = state.tokens[token] else { return false }
            if let since = state.signedOut[known.account], since < now {
                state.violations.append("a token of \(known.account) was sent after signing out")
            }
            if isRevoked { state.tokens[token] = nil }
            return !isRevoked && now < known.end
        }
        return isGood ? nil : .status(401, headers: ["WWW-Authenticate": "Bearer"])
    }

    private func token(_ request: Request, _ delay: Duration) -> ScriptedResponse {
        guard let granted = Self.form(request)["refresh_token"], granted.hasPrefix(Self.canary + "-refresh-") else {
            note("the token endpoint was asked without a refresh token")
            return .status(400)
        }
        let account = String(granted.dropFirst("\(Self.canary)-refresh-".count))
        let life = 20 + Int(random.next() % 300)
        let dice = random.unit()
        let token = state.withLock { state in
            if let since = state.signedOut[account], since < time.now {
                state.violations.append("\(account) refreshed after signing out")
            }
            state.lastToken += 1
            let token = "\(Self.canary)-\(account)-\(state.lastToken)"
            state.tokens[token] = Token(account: account, end: time.now.advanced(by: .seconds(life)))
            return token
        }
        return switch dice {
        case ..<0.05: .status(503, headers: ["Retry-After": "2"]).after(delay)
        case ..<0.08: .connectionLost().after(delay)
        case ..<0.09: .stalls
        default:
            .json(#"{"access_token": "\#(token)", "token_type": "Bearer", "expires_in": \#(life)}"#)
                .after(delay + .seconds(0.5 * random.unit()))
        }
    }

    static func refreshToken(of account: String) -> Secret { Secret("\(canary)-refresh-\(account)") }

    private static func form(_ request: Request) -> [String: String] {
        guard case .bytes(let bytes) = request.body?.content else { return [:] }
        let pairs = String(decoding: bytes, as: UTF8.self).split(separator: "&").map { $0.split(separator: "=") }
        return Dictionary(pairs.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }) { first, _ in first }
    }

    private func note(_ violation: String) {
        state.withLock { $0.violations.append(violation) }
    }
}
