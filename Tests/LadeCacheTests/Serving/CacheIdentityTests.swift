import Foundation
import Lade
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// One way in which a call of the library is that of a user.
private struct Way: Sendable, CustomTestStringConvertible {
    /// What an app makes for one user; the text is different for each.
    struct Caller {
        var service: Service.Settings
        var account = Account.Settings()
        var request: Request
    }

    let name: String
    /// Whether the user's own second call is served from the cache.
    var isServedAgain = true
    let apply: @Sendable (_ user: String, inout Caller) throws -> Void

    init(_ name: String, isServedAgain: Bool = true, _ apply: @escaping @Sendable (String, inout Caller) throws -> Void)
    {
        (self.name, self.isServedAgain, self.apply) = (name, isServedAgain, apply)
    }

    var testDescription: String { name }
}

private let scope = Authorisation.Scope(
    origins: [URL(string: "https://svc.example.com/").flatMap { Origin($0) }].compactMap(\.self)
)

extension Way {
    /// Every way to authenticate that the library knows; a test asks for a row for each authoriser and each setting.
    static let all: [Way] = [
        Way("Authorization") { $1.request.headers["Authorization"] = "Bearer \($0)" },
        Way("X-Api-Key") { $1.request.headers["X-Api-Key"] = $0 },
        Way("Cookie") { $1.request.headers["Cookie"] = "sid=\($0)" },
        Way("Proxy-Authorization") { $1.request.headers["Proxy-Authorization"] = "Basic \($0)" },
        Way("a field set as a secret") { $1.request.headers.set("X-Tenant", secret: Secret($0)) },
        Way("a secret item of a query that the cache does not compare") {
            $1.request.url = try #require(URL(string: "https://svc.example.com/thing?api_key=\($0)"))
            $1.service.cache?.mapAddress = { URL(string: $0.absoluteString.prefix { $0 != "?" } + "") ?? $0 }
        },
        Way("an item declared as secret") {
            $1.request.url = try #require(URL(string: "https://svc.example.com/thing?who=\($0)"))
            $1.request.secretQueryNames = ["who"]
            $1.service.cache?.mapAddress = { URL(string: $0.absoluteString.prefix { $0 != "?" } + "") ?? $0 }
        },
        Way("TLSSettings.clientIdentity") { $1.service.transport.tls.clientIdentity = try certificate($0) },
        Way("BasicAuthoriser") {
            $1.account.authorisers = [try Authorisation.Basic(user: "u", password: Secret($0), scope: scope)]
        },
        Way("BearerAuthoriser") { $1.account.authorisers = [Authorisation.Bearer(token: Secret($0), scope: scope)] },
        Way("BearerAuthoriser with a source") { user, caller in
            caller.account.authorisers = [Authorisation.Bearer(scope: scope) { _, _ in .init(Secret(user)) }]
        },
        Way("BearerAuthoriser with another token") {
            let authoriser = Authorisation.Bearer(token: "first", scope: scope)
            authoriser.credentials.replace(with: .init(Secret($0)))
            $1.account.authorisers = [authoriser]
        },
        Way("APIKeyAuthoriser") {
            $1.account.authorisers = [Authorisation.APIKey(.header("X-Key"), key: Secret($0), scope: scope)]
        },
        Way("APIKeyAuthoriser in the query") {
            $1.account.authorisers = [Authorisation.APIKey(.query("key"), key: Secret($0), scope: scope)]
        },
        Way("DigestAuthoriser") {
            $1.account.authorisers = [Authorisation.Digest(user: "u", password: Secret($0), scope: scope)]
        },
        Way("OAuth2Authoriser") {
            let endpoint = try #require(URL(string: "https://svc.example.com/token"))
            let settings = Authorisation.OAuth2.Settings(
                tokenEndpoint: endpoint,
                grant: .password(user: "u", password: Secret($0))
            )
            $1.account.authorisers = [Authorisation.OAuth2(settings, scope: scope)]
        },
        Way("an authoriser of the app") { $1.account.authorisers = [Badge(user: $0)] },
        Way("Account.Settings.identifier") { $1.account.identifier = $0 },
        Way("Account.Settings.cookies") {
            let jar = CookieJar()
            jar.insert(Cookie(name: "sid", value: Secret($0), domain: "svc.example.com"), at: .now)
            $1.account.cookies = .jar(jar)
        },
        Way("Account.Settings.decorators") { user, caller in
            caller.account.decorators = [HeaderDecorator(user)]
        },
        Way("Account.Settings.credentialHolders") { $1.account.credentialHolders = [Holder(user: $0)] },
        Way("an interceptor of calls") { user, caller in
            caller.service.callInterceptors = [signing(user)]
        },
        Way("an interceptor of attempts", isServedAgain: false) { user, caller in
            caller.service.attemptInterceptors = [signing(user)]
        },
        Way("an interceptor of attempts that names its field", isServedAgain: false) { user, caller in
            caller.service.attemptInterceptors = [signing(user, changedFields: ["X-Signature"])]
        },
        Way("a key in the query that an interceptor of attempts adds", isServedAgain: false) { user, caller in
            caller.service.attemptInterceptors = [
                Chain.interceptor(observesScope: true) { request, next in
                    var sent = request
                    sent.url = try #require(URL(string: request.url.absoluteString + "?api_key=\(user)"))
                    return try await next(sent)
                }
            ]
        },
    ]

    private static func signing(_ user: String, changedFields: [String] = ["*"]) -> some Interceptor {
        Chain.interceptor(observesScope: true, changedFields: changedFields) { request, next in
            var sent = request
            sent.headers["X-Signature"] = user
            return try await next(sent)
        }
    }

    private static func certificate(_ user: String) throws -> TransportSettings.TLS.ClientIdentity {
        let folder = FileManager.default.temporaryDirectory.path + "/lade-identity-\(UUID().uuidString)"
        try Data("certificate of \(user)".utf8).write(to: URL(filePath: folder))
        return TransportSettings.TLS.ClientIdentity(certificateFile: folder)
    }
}

extension SeededRandom {
    fileprivate func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

    fileprivate func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

private struct HeaderDecorator: Service.Decorator {
    let user: String

    init(_ user: String) { self.user = user }

    func decorate(_ request: Request) -> Request {
        var request = request
        request.headers["X-Auth-Token"] = user
        return request
    }
}

private struct Holder: Account.CredentialHolder {
    let user: String
    func forgetCredentials() async {}
}

private struct Badge: Authoriser {
    let user: String
    let identifier = "badge"
    func claims(_ request: Request) -> Bool { true }
    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
        var request = request
        request.headers["X-Badge"] = user
        return request
    }
}

/// Services of several processes with one store, whose server marks each body with the user that it is for.
private final class MarkingServices: Sendable {
    let store = MemoryStoreOfTests.make(limit: 8 << 20)
    let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let label = Locked("")
    private let kept = Locked<[String: (Account, Request)]>([:])

    init() {
        transport.on("token", where: { $0.url.path == "/token" }).respond(
            .json(#"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#)
        )
        transport.onAnyRequest().respond(
            .computed { [label] request, call in
                if call.account.isEmpty == false, request.headers["Authorization"] == nil,
                    request.headers["X-Wants"] == "digest"
                {
                    return .status(
                        401,
                        headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#]
                    )
                }
                return .text(
                    label.withLock { $0 },
                    headers: ["Cache-Control": "private, max-age=60, stale-while-revalidate=60", "ETag": "\"1\""]
                )
            }
        )
    }

    /// The account of a user who authenticates in one way; the same one each time.
    func account(_ way: Way?, _ user: String) throws -> (Account, Request) {
        let name = "\(way?.name ?? "") \(user)"
        if let known = kept.withLock({ $0[name] }) { return known }
        var settings = Service.Settings.still(in: time)
        settings.random = SeededRandom(seed: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) } & 0xFFFF) + 1)
        settings.cache = ResponseCache.Settings(store: store)
        var caller = Way.Caller(service: settings, request: try Request("https://svc.example.com/thing"))
        try way?.apply(user, &caller)
        let service = Service(caller.service, transport: transport)
        let account = way == nil ? service.anonymous : service.account(caller.account)
        kept.withLock { $0[name] = (account, caller.request) }
        return (account, caller.request)
    }

    /// The user whose page a user gets, and where it came from.
    func page(
        _ way: Way?,
        _ user: String,
        mode: Request.CacheMode = .standard
    ) async throws -> (owner: String, source: Response.Source)? {
        var (account, request) = try account(way, user)
        request.cacheMode = mode
        label.withLock { $0 = "\(way?.name ?? "nobody") \(user)" }
        let loader = account.makeLoader()
        do throws(LoadingError) {
            let response = try await loader.load(request)
            let owner = try await response.wholeText
            await account.service.cache?.finishBackgroundWork(time: time)
            return (owner, response.source)
        } catch {
            guard error.kind == .notStored else { throw error }
            return nil
        }
    }
}

@Suite("Cache of a service, users", .timeLimit(.minutes(5)))
struct CacheIdentityTests {
    @Test(
        "finding CK-1 no user of the library gets the page of another, and each gets its own again",
        arguments: Way.all
    )
    fileprivate func keepsUsersApart(way: Way) async throws {
        let services = MarkingServices()
        _ = try await services.page(nil, "")
        for user in ["alice", "bob", "alice", "bob"] {
            let page = try #require(try await services.page(way, user))
            #expect(page.owner == "\(way.name) \(user)")
        }
        let again = try #require(try await services.page(way, "alice"))
        #expect(again.source == (way.isServedAgain ? .cache : .network))
        #expect(try #require(try await services.page(nil, "")).source == .cache)
    }

    @Test(
        "finding CK-1 any users, ways, modes and orders: no page of another user, and no stored one of a refused user"
    )
    func neverMixes() async throws {
        let seed = Soak.current.seed
        let random = SeededRandom(seed: seed)
        let services = MarkingServices()
        var hits = 0
        for step in 0..<Soak.current.rounds(of: 20_000, few: 600) {
            let way = random.below(12) == 0 ? nil : random.pick(Way.all)
            // Ways that send the same credentials are the same user.
            let number = Way.all.firstIndex { $0.name == way?.name } ?? 0
            let user = way == nil ? "" : random.pick(["alice\(number)", "bob\(number)"])
            let mode = random.pick([Request.CacheMode.standard, .revalidate, .preferStored, .storedOnly, .bypass])
            if random.below(20) == 0 { services.time.advance(by: .seconds(Int64(random.below(90)))) }
            guard let page = try await services.page(way, user, mode: mode) else { continue }
            if page.source == .cache { hits += 1 }
            #expect(page.owner == "\(way?.name ?? "nobody") \(user)", "seed \(seed), step \(step), \(mode)")
        }
        #expect(hits > 0, "seed \(seed)")
    }

    @Test("finding CK-1 each authoriser, each setting of an account and of TLS has its row in the table of users")
    func tableIsWhole() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources").standardized
        let files = FileManager.default.enumerator(
            at: root.appending(path: "LadePolicies"),
            includingPropertiesForKeys: nil
        )
        var authorisers: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(
                of: /(?:struct|class|extension) (\w+)[^\n{]*: (?:[\w, ]*, )?(?:Authoriser|ChallengeAnswering)\b/
            )
            where !text.contains("/// struct \(match.1):") && match.1 != "ChallengeAnswering" {
                authorisers.append(String(match.1))
            }
        }
        let names = Way.all.map(\.name)
        #expect(authorisers.count >= 5)
        for authoriser in authorisers { #expect(names.contains { $0.hasPrefix(authoriser) }, "\(authoriser)") }

        for label in Mirror(reflecting: Account.Settings()).children.compactMap(\.label) where label != "authorisers" {
            #expect(names.contains("Account.Settings.\(label)"), "\(label)")
        }
        // The others say how servers are checked.
        let checks = [
            "trustsSystemAuthorities", "authorities", "revocationLists", "pins", "pinScope", "minimumVersion",
            "verification",
        ]
        for label in Mirror(reflecting: TransportSettings.TLS()).children.compactMap(\.label)
        where !checks.contains(label) {
            #expect(names.contains("TLSSettings.\(label)"), "\(label)")
        }
    }

    @Test(
        "finding CK-2 another password is a miss, also for an account with an identifier, and the right one still hits"
    )
    func passwordsCount() async throws {
        for identifier in ["", "ann"] {
            let services = MarkingServices()
            func way(_ password: String) -> Way {
                Way("password") { _, caller in
                    caller.account.identifier = identifier
                    caller.account.authorisers = [
                        try Authorisation.Basic(user: "ann", password: Secret(password), scope: scope)
                    ]
                }
            }
            #expect(try await services.page(way("right"), "1")?.source == .network)
            #expect(try await services.page(way("wrong"), "2")?.source == .network)
            #expect(try await services.page(way("wrong"), "3", mode: .storedOnly)?.owner != "password 1")
            // As after another start of the program.
            #expect(try await services.page(way("right"), "4")?.owner == "password 1")
        }
    }

    @Test(
        "finding CK-1 a shared response is neither stored with a key or certificate, nor read with one",
        arguments: 0..<3
    )
    func sharesNoCredentials(kind: Int) async throws {
        let services = MarkingServices()
        let names = ["X-Api-Key", "an item declared as secret", "TLSSettings.clientIdentity"]
        let plain = try #require(Way.all.first { $0.name == names[kind] })
        let way = Way("shared") {
            try plain.apply($0, &$1)
            $1.request.cacheOptions.isShared = true
        }

        #expect(try await services.page(way, "alice")?.owner == "shared alice")
        #expect(try await services.page(way, "bob")?.owner == "shared bob")
        #expect(try await services.store.entries(.all).isEmpty)
    }

    @Test("finding CK-1 no file and no key of a store holds a credential")
    func keysHaveNoSecrets() async throws {
        let services = MarkingServices()
        for way in Way.all where !way.name.contains("query") && way.name != "an item declared as secret" {
            _ = try await services.page(way, "canary-of-alice")
        }
        for entry in try await services.store.entries(.all) {
            let octets = String(decoding: entry.key.octets, as: UTF8.self)
            let isIdentifier = entry.key.place.scope == .account("canary-of-alice")
            #expect(isIdentifier || !octets.contains("canary"))
        }
    }
}
