import Foundation
import LadeCore
import LadePolicies
import LadeTesting
import SharedDoubles

/// A token endpoint that replaces a refresh token with each use, and revokes all of them when one is used twice.
final class RotatingTokens: Sendable {
    private struct State {
        var newest = 0
        var access = 0
        var uses: [Int: Int] = [:]
        var isRevoked = false
        var toleratesReuse = false
        var life = 3_600
    }

    private let state = Locked(State())

    init(toleratesReuse: Bool = false, life: Int = 3_600) {
        state.withLock { ($0.toleratesReuse, $0.life) = (toleratesReuse, life) }
    }

    /// The refreshes that succeeded.
    var refreshes: Int { state.withLock(\.newest) }
    /// How often each refresh token was used at most.
    var mostUses: Int { state.withLock { $0.uses.values.max() ?? 0 } }
    var isRevoked: Bool { state.withLock(\.isRevoked) }

    /// Refuses the present access token from now on.
    func expire() { state.withLock { $0.access = .max } }

    /// The response to a form; the first refresh token is `refresh-0`.
    func respond(to form: String) -> (status: Int, body: String) {
        state.withLock { state in
            let token = form.components(separatedBy: "refresh_token=refresh-").last.map { $0.prefix(while: \.isNumber) }
            guard form.contains("grant_type=refresh_token"), let number = Int(token ?? "") else {
                return (400, #"{"error":"invalid_request"}"#)
            }
            state.uses[number, default: 0] += 1
            if number != state.newest, !state.toleratesReuse { state.isRevoked = true }
            guard !state.isRevoked, number <= state.newest else { return (400, #"{"error":"invalid_grant"}"#) }
            state.newest += 1
            state.access = state.newest
            let (new, life) = (state.newest, state.life)
            return (200, #"{"access_token":"access-\#(new)","expires_in":\#(life),"refresh_token":"refresh-\#(new)"}"#)
        }
    }

    func accepts(_ field: String?) -> Bool {
        state.withLock { !$0.isRevoked && field == "Bearer access-\($0.access)" }
    }

    /// The endpoint at `/token` and an API everywhere else.
    func transport(before: @escaping @Sendable () async throws(LoadingError) -> Void = {}) -> any Transport {
        TokenTransport(tokens: self, before: before)
    }

    /// The same as a server.
    func server(before: @escaping @Sendable () -> Void = {}, after: @escaping @Sendable () -> Void = {}) throws
        -> LoopbackServer
    {
        try LoopbackServer { [self] request in
            guard request.target.hasPrefix("/token") else {
                return accepts(request["Authorization"]) ? .text("x") : .status(401)
            }
            before()
            let (status, body) = respond(to: request.text)
            after()
            return .json(body, status: status)
        }
    }
}

private struct TokenTransport: Transport {
    let tokens: RotatingTokens
    /// Called when a refresh is about to arrive.
    let before: @Sendable () async throws(LoadingError) -> Void

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        guard request.url.path() == "/token" else {
            let isAccepted = tokens.accepts(request.headers["Authorization"])
            return Response(status: isAccepted ? 200 : 401, body: Response.Body(), request: request)
        }
        try await before()
        guard case .bytes(let form)? = request.body?.content else {
            return Response(status: 400, body: Response.Body(), request: request)
        }
        let (status, body) = tokens.respond(to: String(decoding: form, as: UTF8.self))
        let bytes = Response.Body(Data(body.utf8))
        return Response(status: Response.Status(status), body: bytes, request: request)
    }
}

/// A process of a fleet that shares tokens, as far as one process can play several.
struct TokenMember: Sendable {
    let authoriser: Authorisation.OAuth2
    private let chain: Chain
    private let time: any TimeSource
    private let events: [any Call.Observer]

    init(
        _ sharing: Authorisation.Sharing?,
        _ transport: any Transport,
        time: any TimeSource = SystemTime(),
        grant: Authorisation.OAuth2.Settings.Grant = .refreshToken("refresh-0"),
        events: [any Call.Observer] = [],
        change: (inout Authorisation.OAuth2.Settings) -> Void = { _ in }
    ) throws {
        let endpoint = try URL(string: "https://api.test/token").orThrow()
        var settings = Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: grant, clientID: "app")
        change(&settings)
        let scope = try Authorisation.Scope("https://api.test/")
        authoriser = Authorisation.OAuth2(settings, scope: scope, transport: transport, sharing: sharing)
        chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
        (self.time, self.events) = (time, events)
    }

    /// The status of the response to a call, or the error.
    func call(deadline: Duration? = nil) async throws -> Int {
        var call = Call(time: time, events: events)
        call.deadline = deadline.map { time.now.advanced(by: $0) }
        return Int(try await chain.send(Request("https://api.test/x"), call: call).status.code)
    }

    /// The statuses of many calls at a time; 0 for an error.
    func calls(_ count: Int) async -> [Int] {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { (try? await call()) ?? 0 } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension Optional where Wrapped: Sendable {
    fileprivate func orThrow() throws -> Wrapped {
        guard let self else { throw LoadingError(.invalidSetting(name: "url", reason: "none")) }
        return self
    }
}
