import Foundation
import LadePolicies
import LadeTesting
import Testing

@testable import LadeCore

@Suite(.timeLimit(.minutes(5)))
struct OAuth2Tests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let stored = Locked<[Authorisation.OAuth2.Tokens]>([])

    private func make(
        _ grant: Authorisation.OAuth2.Settings.Grant = .refreshToken("r1"),
        _ change: (inout Authorisation.OAuth2.Settings) -> Void = { _ in }
    ) throws -> Authorisation.OAuth2 {
        let endpoint = try #require(URL(string: "https://id.test/token"))
        var settings = Authorisation.OAuth2.Settings(
            tokenEndpoint: endpoint,
            grant: grant,
            clientID: "app:1",
            clientProof: .basic("s:t")
        )
        change(&settings)
        return Authorisation.OAuth2(settings, scope: try Authorisation.Scope("https://api.test")) { [stored] tokens in
            stored.withLock { $0.append(tokens) }
        }
    }

    private func send(
        _ authoriser: Authorisation.OAuth2,
        _ address: String = "https://api.test/"
    ) async throws(LoadingError) -> Response {
        try await Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
            .send(Request(address), call: Call(time: time))
    }

    private func tokens(_ number: Int, refresh: String? = nil, seconds: String = "100") -> ScriptedResponse {
        let more = refresh.map { #", "refresh_token": "\#($0)""# } ?? ""
        return .json(#"{"access_token": "a\#(number)", "token_type": "bearer", "expires_in": \#(seconds)\#(more)}"#)
    }

    private func cause(_ error: LoadingError?) -> LoadingError.AuthorisationCause.Cause? {
        guard case .authorisationFailed(let fault) = error?.kind else { return nil }
        return fault.cause
    }

    @Test("policies PL-45 service M-20 gets a token by the refresh token and injects it for its host over https alone")
    func injects() async throws {
        transport.on(.post, "https://id.test/token").respond(tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        for address in ["https://api.test/", "https://other.test/", "http://api.test/"] {
            _ = try await send(authoriser, address)
        }

        let token = transport.received[0]
        #expect(token.text == "grant_type=refresh_token&refresh_token=r1")
        // Both parts are form-encoded before they are joined: "app%3A1:s%3At".
        #expect(token.request.headers["Authorization"] == "Basic YXBwJTNBMTpzJTNBdA==")
        #expect(token.request.body?.contentType == "application/x-www-form-urlencoded")
        #expect(transport.requests.dropFirst().map { $0.headers["Authorization"] } == ["Bearer a1", nil, nil])
    }

    @Test(
        "finding LX-3 an error member without a token is a refusal, whatever the status; some codes end the grant",
        arguments: [
            (200, #"{"error":"invalid_grant"}"#, "invalid_grant", true),
            (400, #"{"error":"invalid_grant"}"#, "invalid_grant", true),
            (200, #"{"error":"bad_refresh_token","error_description":"x"}"#, "bad_refresh_token", true),
            (200, #"{"ok":false,"error":"invalid_refresh_token"}"#, "invalid_refresh_token", true),
            (200, #"{"error":"token_revoked"}"#, "token_revoked", true),
            (401, #"{"error":"invalid_token"}"#, "invalid_token", true),
            (400, #"{"error":"interaction_required"}"#, "interaction_required", true),
            (200, #"{"error":"expired_token","access_token":""}"#, "expired_token", true),
            (200, #"{"error":"invalid_client"}"#, "invalid_client", false),
            (200, #"{"error":"slow_down","access_token":null}"#, "slow_down", false),
            (200, #"{"error":"never_heard_of"}"#, "never_heard_of", false),
            (400, #"{"error":{"code":190,"type":"OAuthException","message":"m"}}"#, "OAuthException", false),
            (400, #"{"error":400,"message":"Bad Request"}"#, "400", false),
            (200, #"{"error":true}"#, "an error without a code", false),
        ]
    )
    func refusals(status: Int, body: String, code: String, endsGrant: Bool) async throws {
        transport.on(.post, "/token").respond(.json(body, status: Response.Status(status)))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        var texts: Set<String> = []
        for _ in 0..<7 {
            let error = await #expect(throws: LoadingError.self) { _ = try await send(authoriser) }
            texts.insert(error?.description ?? "")
            if case .signInRequired? = cause(error) {
                #expect(endsGrant)
            } else {
                #expect(!endsGrant, "\(error as Any)")
            }
            time.advance(by: .seconds(86))
        }

        // A grant that has ended is asked for once; others are tried again from time to time.
        #expect(transport.requests.count == (endsGrant ? 1 : 6))
        #expect(texts.count == 1 && texts.first?.contains(code) == true, "\(texts)")
    }

    @Test(
        "finding LX-3 an empty or false error beside a token is none, and a password is used when its refresh token has ended"
    )
    func noRefusals() async throws {
        transport.on(.post, "/token")
            .respond(.json(#"{"error":"","access_token":"a","refresh_token":"r","expires_in":100}"#))
            .then(.json(#"{"error":"bad_refresh_token"}"#)).then(.json(#"{"error":false,"access_token":"b"}"#))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make(.password(user: "u", password: "p"))

        for _ in 0..<2 {
            _ = try await send(authoriser)
            authoriser.refresh()
        }

        #expect(
            transport.requests.compactMap { $0.headers["Authorization"] }.filter { $0.hasPrefix("Bearer") } == [
                "Bearer a", "Bearer b",
            ]
        )
    }

    @Test(
        "takes a life of zero, or a negative one, for one that the server does not say",
        arguments: ["0", "-1", "\"0\""]
    )
    func lifeOfZero(seconds: String) async throws {
        transport.on(.post, "/token").respond(tokens(1, seconds: seconds))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        for _ in 0..<2 {
            _ = try await send(authoriser)
            time.advance(by: .seconds(100_000))
        }

        let sent = transport.requests.filter { $0.method == .get }
        #expect(sent.map { $0.headers["Authorization"] } == ["Bearer a1", "Bearer a1"])
        #expect(transport.requests.count == 3)
    }

    @Test(
        "service D-27 keeps the refresh token when no new one comes, uses the new one when it does, and notifies the app"
    )
    func rotates() async throws {
        transport.on(.post, "/token").respond(tokens(1)).then(tokens(2, refresh: "r2")).then(tokens(3, refresh: "r3"))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        for _ in 0..<3 {
            _ = try await send(authoriser)
            time.advance(by: .seconds(100))
        }

        let forms = transport.received.filter { $0.target == "/token" }.map(\.text)
        #expect(forms.map { String($0.suffix(2)) } == ["r1", "r1", "r2"])
        #expect(stored.withLock { $0.map { $0.refreshToken?.reveal() } } == ["r1", "r2", "r3"])
        #expect(
            transport.requests.compactMap { $0.headers["Authorization"] }.filter { $0.hasPrefix("Bearer") } == [
                "Bearer a1", "Bearer a2", "Bearer a3",
            ]
        )
    }

    @Test(
        "policies PL-45 each grant and proof sends its form",
        arguments: [
            (0, "grant_type=client_credentials&scope=read%20write&audience=x%26y"),
            (1, "grant_type=password&username=J%C3%B6rg&password=p%3Dw&client_id=app%3A1&client_secret=s"),
            (2, "grant_type=client_credentials&client_id=app%3A1"),
        ]
    )
    func sendsForms(row: Int, form: String) async throws {
        transport.on(.post, "/token").respond(tokens(1, seconds: "\"60\""))
        transport.onAnyRequest().respond(.status(200))
        let authoriser =
            switch row {
            case 0:
                try make(.clientCredentials) {
                    $0.scopes = ["read", "write"]
                    $0.parameters = [("audience", "x&y")]
                }
            case 1: try make(.password(user: "Jörg", password: "p=w")) { $0.clientProof = .form("s") }
            default: try make(.clientCredentials) { $0.clientProof = .none }
            }

        _ = try await send(authoriser)

        #expect(transport.received[0].text == form)
        #expect(transport.received[0].request.headers.contains("Authorization") == (row == 0))
    }

    @Test("after a password, the refresh token of the answer is used; when it has ended, the password again")
    func fallsBack() async throws {
        transport.on(.post, "/token").respond(tokens(1, refresh: "r9"))
            .then(.json(#"{"error": "invalid_grant"}"#, status: 400)).then(tokens(2))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make(.password(user: "u", password: "p"))
        _ = try await send(authoriser)
        time.advance(by: .seconds(100))

        #expect(try await send(authoriser).status == 200)

        let kinds = transport.received.filter { $0.target == "/token" }.map { $0.text.prefix(24) }
        #expect(kinds == ["grant_type=password&user", "grant_type=refresh_token", "grant_type=password&user"])
    }

    @Test("a refresh token that has expired requires a sign-in, permanently")
    func asksForSignIn() async throws {
        transport.on(.post, "/token").respond(.json(#"{"error": "invalid_grant"}"#, status: 400))
        let authoriser = try make()

        for _ in 0..<3 {
            let error = await #expect(throws: LoadingError.self) { _ = try await send(authoriser) }
            guard case .signInRequired = cause(error) else {
                Issue.record("\(String(describing: error))")
                return
            }
            time.advance(by: .seconds(60))
        }
        #expect(transport.received.count == 1)

        authoriser.credentials.replace(with: .init(Authorisation.OAuth2.Tokens(accessToken: "new")))
        transport.onAnyRequest().respond(.status(200))
        #expect(try await send(authoriser).status == 200)
    }

    @Test(
        "a response that is not a token fails the waiting calls, without quoting it",
        arguments: [
            (200, "no json s3cret"), (200, #"{"token": "s3cret"}"#), (200, #"{"access_token": "", "x": "s3cret"}"#),
            (200, #"{"access_token": {"s3cret": 1}}"#), (500, "s3cret"), (302, ""),
            (200, #"{"access_token": "s3cret\r\nX-Admin: 1"}"#), (200, #"{"access_token": "s3cret\u0000"}"#),
            (200, #"{"access_token": "s3crét"}"#), (200, #"{"access_token": "s3cret", "token_type": "a\nb"}"#),
            (401, #"{"error": "invalid_client"}"#),
        ]
    )
    func refusesAnswers(status: Int, text: String) async throws {
        transport.on(.post, "/token").respond(.json(text, status: Response.Status(status)))

        let authoriser = try make()
        let error = await #expect(throws: LoadingError.self) { _ = try await send(authoriser) }

        guard case .refreshFailed = cause(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!(dumped + "\(String(describing: error))").contains("s3cret"))
    }

    @Test("the token endpoint is not called over plain HTTP")
    func insecureEndpoint() async throws {
        transport.on(.post, "/token").respond(tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let endpoint = try #require(URL(string: "http://id.test/token"))

        let error = await #expect(throws: LoadingError.self) {
            _ = try await send(try make { $0.tokenEndpoint = endpoint })
        }
        guard case .insecure = cause(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(transport.received.isEmpty)
        let allowed = try make {
            $0.tokenEndpoint = endpoint
            $0.allowsInsecureEndpoint = true
        }
        #expect(try await send(allowed).status == 200)
    }

    @Test("policies PL-44 the refresh uses the transport it is given, past the chain")
    func takesTransport() async throws {
        let plain = ScriptedTransport(answering: tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let endpoint = try #require(URL(string: "https://id.test/token"))
        let authoriser = Authorisation.OAuth2(
            Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: .clientCredentials),
            scope: try Authorisation.Scope("https://api.test"),
            transport: plain
        )

        _ = try await send(authoriser)

        #expect(plain.lines == ["POST /token"])
        #expect(transport.lines == ["GET /"])
    }

    @Test("policies PL-44 a claimed token endpoint is called without a token, so that no refresh waits for itself")
    func doesNotWaitForItself() async throws {
        transport.on(.post, "/token").respond(tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let endpoint = try #require(URL(string: "https://api.test/token"))

        #expect(try await send(try make { $0.tokenEndpoint = endpoint }).status == 200)

        #expect(transport.lines == ["POST /token", "GET /"])
    }

    @Test("after signing out, what the user gave is not used again until there are new tokens")
    func signsOut() async throws {
        transport.on(.post, "/token").respond(tokens(1, refresh: "r2")).then(tokens(2))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make(.password(user: "u", password: "p"))
        _ = try await send(authoriser)

        authoriser.forget()

        let error = await #expect(throws: LoadingError.self) { _ = try await send(authoriser) }
        guard case .signInRequired = cause(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(transport.received.count == 2)
        authoriser.credentials.replace(with: .init(Authorisation.OAuth2.Tokens(accessToken: "new", refreshToken: "r9")))
        authoriser.refresh()
        #expect(try await send(authoriser).status == 200)
    }

    @Test("starts with the tokens of an earlier run")
    func startsWithTokens() async throws {
        transport.on(.post, "/token").respond(tokens(2))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make {
            $0.tokens = Authorisation.OAuth2.Tokens(
                accessToken: "kept",
                end: .at(time.date.addingTimeInterval(50)),
                refreshToken: "kept-refresh"
            )
        }

        _ = try await send(authoriser)
        time.advance(by: .seconds(50))
        _ = try await send(authoriser)

        #expect(
            transport.requests.map { $0.headers["Authorization"]?.prefix(11) } == [
                "Bearer kept", "Basic YXBwJ", "Bearer a2",
            ]
        )
        #expect(transport.received[1].text.hasSuffix("refresh_token=kept-refresh"))
    }

    // MARK: - Answers

    @Test(
        "finding LF-5 finding HF-18 an empty member of a token response counts as absent",
        arguments: [
            #"{"access_token": "a", "refresh_token": "", "token_type": "", "expires_in": "", "error": ""}"#,
            #"{"access_token": "a", "refresh_token": ""}"#, #"{"access_token": "a", "token_type": ""}"#,
            #"{"access_token": "a", "expires_in": ""}"#, #"{"access_token": "a", "error": ""}"#,
        ]
    )
    func emptyMembers(text: String) async throws {
        transport.on(.post, "/token").respond(.json(text)).then(tokens(2))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()

        _ = try await send(authoriser)
        authoriser.credentials.refresh()
        _ = try await send(authoriser)

        #expect(transport.requests[1].headers["Authorization"] == "Bearer a")
        #expect(stored.withLock { $0[0].end } == .never)
        // The refresh token that was there is used again.
        #expect(transport.received[2].text.hasSuffix("refresh_token=r1"))
    }

    @Test(
        "finding LF-5 a response whose token is empty has no token",
        arguments: [(200, #"{"access_token": ""}"#), (400, #"{"error": ""}"#)]
    )
    func emptyToken(status: Int, text: String) async throws {
        transport.on(.post, "/token").respond(.json(text, status: Response.Status(status)))
        let authoriser = try make()

        let error = await #expect(throws: LoadingError.self) { try await send(authoriser) }

        #expect(try #require(error).description.contains("has no token"))
    }

    @Test(
        "finding LF-4 the life of a token is read whole",
        arguments: [
            (#""3600""#, true), ("3600", true), (#""1e3""#, false), (#""3600 s""#, false), (#""0x10""#, false),
            (#""inf""#, false), (#""-5""#, false),
        ]
    )
    func lives(text: String, isUnderstood: Bool) async throws {
        transport.on(.post, "/token").respond(tokens(1, seconds: text))
        transport.onAnyRequest().respond(.status(200))

        _ = try await send(try make())

        #expect(stored.withLock { $0[0].end } == (isUnderstood ? .after(.seconds(3_600)) : .never))
    }

    @Test("finding LF-6 a token that seems to have expired when it was made is sent, and a 401 decides about it")
    func expiredWhenMade() async throws {
        transport.onAnyRequest().respond(.status(200)).then(.status(401)).then(.status(200))
        let count = Locked(0)
        let (time, date) = (time, time.date.addingTimeInterval(-3_600))
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test")) {
            (_, _) throws(LoadingError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .init(Secret("a\(number)"), end: .at(date))
        }
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        for _ in 0..<2 { _ = try await chain.send(Request("https://api.test/"), call: Call(time: time)) }

        // One for the first call, and one after the refusal.
        #expect(count.withLock { $0 } == 2)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer a1", "Bearer a1", "Bearer a2"])
    }

    @Test(
        "finding HF-18 an error code that repeats a secret of the client does not show it",
        arguments: [
            "the-client-secret", "THE-CLIENT-SECRET", "x the-client-secret y", "dGhlLWNsaWVudC1zZWNyZXQ=", "user:r1",
            "7468652d636c69656e742d736563726574",
        ]
    )
    func repeatedSecret(code: String) async throws {
        transport.on(.post, "/token").respond(.json(#"{"error": "\#(code)"}"#, status: 400))
        let authoriser = try make { $0.clientProof = .form("the-client-secret") }

        let error = await #expect(throws: LoadingError.self) { try await send(authoriser) }

        let text = String(reflecting: try #require(error)) + (error?.description ?? "")
        #expect(!text.lowercased().contains("the-client-secret"))
        #expect(!text.contains("dGhlLWNsaWVudC1zZWNyZXQ") && !text.contains("r1") && !text.contains("7468652d"))
        #expect(text.contains("<redacted>"))
    }

    @Test(
        "finding FP-3 a refusal that does not concern the user's grant is tried again later, with growing delays",
        arguments: [
            (401, #"{"error": "invalid_client"}"#), (400, #"{"error": "temporarily_unavailable"}"#),
            (403, #"{"error": "blocked by the firewall"}"#), (403, #"{"message": "no"}"#), (500, "down"),
        ]
    )
    func passingRefusals(status: Int, text: String) async throws {
        transport.on(.post, "/token").then(.json(text, status: Response.Status(status)), times: 3).then(tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()
        var asked: [Int] = []

        for _ in 0..<40 {
            let isLoaded = (try? await send(authoriser)) != nil
            asked.append(transport.received.count { $0.target == "/token" })
            if isLoaded { break }
            time.advance(by: .seconds(1))
        }

        // Failures are remembered for 5 s, 10 s and 20 s: of one call per second, those at 0, 5, 15 and 35 s refresh.
        let firsts = (1...4).map { asked.firstIndex(of: $0) }
        #expect(firsts == [0, 5, 15, 35])
        #expect(asked.count == 36)
    }

    @Test("finding FP-3 invalid_grant for the client's own grant is not lasting: there is no user to sign in")
    func clientGrant() async throws {
        transport.on(.post, "/token").respond(.json(#"{"error": "invalid_grant"}"#, status: 400)).then(tokens(1))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make(.clientCredentials)

        let error = await #expect(throws: LoadingError.self) { _ = try await send(authoriser) }
        guard case .refreshFailed = cause(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        time.advance(by: .seconds(5))
        #expect(try await send(authoriser).status == 200)
    }

    @Test("finding FP-15 tokens that arrive after a sign-out are not passed to the app", arguments: [true, false])
    func noCallbackAfterSignOut(isReplaced: Bool) async throws {
        let gate = Signal()
        transport.on(.post, "/token").respond(tokens(1, refresh: "old user's").after(gate)).then(tokens(2))
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try make()
        let answer = Task { try await send(authoriser) }
        try await gate.arrivals(atLeast: 1)

        if isReplaced {
            authoriser.credentials.replace(with: .init(Authorisation.OAuth2.Tokens(accessToken: "new user's")))
        } else {
            authoriser.forget()
        }
        gate.raise()
        _ = await answer.result

        #expect(stored.withLock { $0.isEmpty })
    }

    @Test("finding FP-15 tokens that were received but not yet passed on when the user signs out are not passed on")
    func signOutBetweenReceivingAndTelling() async throws {
        let holder = Locked<Authorisation.OAuth2?>(nil)
        let endpoint = try #require(URL(string: "https://id.test/token"))
        // The user signs out when the body of the tokens has been read to its end.
        let signingOut = ClosureTransport { (request, _) throws(LoadingError) in
            let bytes = Data(#"{"access_token": "a1", "refresh_token": "r2"}"#.utf8)
            let body = Response.Body(streaming: LastWord(bytes) { holder.withLock { $0 }?.forget() })
            return Response(status: 200, body: body, request: request)
        }
        let authoriser = Authorisation.OAuth2(
            Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: .refreshToken("r1")),
            scope: try Authorisation.Scope("https://api.test"),
            transport: signingOut
        ) { [stored] tokens in stored.withLock { $0.append(tokens) } }
        holder.withLock { $0 = authoriser }
        transport.onAnyRequest().respond(.status(200))

        _ = try? await send(authoriser)

        holder.withLock { $0 = nil }
        #expect(stored.withLock { $0.isEmpty })
    }
}

/// Delivers its bytes as one chunk, and runs a closure before it ends.
private final class LastWord: Response.Body.Source {
    private let bytes: Locked<Data?>
    private let atEnd: @Sendable () -> Void

    init(_ bytes: Data, atEnd: @escaping @Sendable () -> Void) {
        self.bytes = Locked(bytes)
        self.atEnd = atEnd
    }

    func next() async throws(LoadingError) -> Data? {
        let chunk = bytes.withLock { $0.take() }
        if chunk == nil { atEnd() }
        return chunk
    }

    func cancel() {}
    var trailers: Headers { Headers() }
    var metrics: Response.Metrics { Response.Metrics() }
}

/// A transport that runs a closure.
private struct ClosureTransport: Transport {
    let answer: @Sendable (Request, Call) async throws(LoadingError) -> Response

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await answer(request, call)
    }
}
