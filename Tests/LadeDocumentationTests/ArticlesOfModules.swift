import Foundation
import Lade
import LadeCache
import LadeCacheSQLite
import LadeCallbacks
import LadeCatalogue
import LadeContent
import LadeImages
import LadeJSON
import LadePolicies
import LadeTesting
import LadeURLSession
import Testing

// The code of the articles of the other modules. It is compiled and never run; a test compares it with the articles.

private struct Page: Decodable { var number: Int }

private func catalogue(render: ([Catalogue.Media]) -> Void) async throws {
    let provider = try CatalogueProvider(Catalogue(.production, unit: .rts))
    let topics = try await provider.load { try $0.tvTopics() }
    let latest = try await provider.load { try $0.tvLatestEpisodes() }.items  // the first page
    for try await page in try provider.pages(size: 20, { try $0.tvLatestEpisodes() }) {
        render(page.value.items)
    }
    _ = (topics, latest)
}

@MainActor
private func cascade(loader: Loader, queue: RequestQueue, show: Endpoint<Show>, endpoint: Endpoint<[Show]>) {
    func episodes(of show: Show) -> Endpoint<[Show]> { endpoint }
    queue.add(
        RequestHandle(loader, show) { outcome in
            guard let show = outcome.value else { return queue.report(outcome.error) }
            queue.add(
                RequestHandle(loader, episodes(of: show)) { outcome in
                    queue.report(outcome.error)
                }
            )
        }
    )
}

@MainActor
private final class Cell {
    var picture: Data?
    weak var request: RequestHandle<Data>?

    func appear(_ address: String, by loader: Loader, in queue: RequestQueue) throws {
        let request = RequestHandle(loader, try Endpoint(address)) { [weak self] outcome in
            self?.picture = outcome.value
        }
        queue.add(request)
        self.request = request  // weak: it keeps itself alive while it runs
    }
}

@MainActor private var show: Show?
@MainActor private var message: String?

@MainActor
private func handle(loader: Loader, showURL: URL) {
    let request = RequestHandle(loader, Endpoint(showURL).decoding(Show.self)) { outcome in
        show = outcome.value
        message = outcome.error?.text()
    }
    request.resume()
}

@MainActor
private final class List {
    struct Shows: Decodable, Sendable {
        var shows: [Show]
        var next: String?
    }

    private var first: FirstPageHandle<Shows>
    private var list: [Show] = []
    private var nextPage: Lade.PageRequest?

    func refresh(loader: Loader, shows: PagedEndpoint<Shows>, queue: RequestQueue) {
        first = FirstPageHandle(loader, shows) { [weak self, queue] outcome in
            queue.report(outcome.error)
            self?.list += outcome.value?.shows ?? []
            self?.nextPage = outcome.next
        }.with(pageSize: 20)
        queue.add(first)

        // Later, when the user has scrolled to the end:
        if let nextPage { queue.add(first.handle(for: nextPage)) }
    }

    init(first: FirstPageHandle<Shows>) { self.first = first }
}

@MainActor
private final class Screen {
    var queue: RequestQueue
    func showSpinner() {}
    func hideSpinner(_ error: (any Error)?) {}
    init(queue: RequestQueue) { self.queue = queue }

    func refresh(loader: Loader, shows: Endpoint<[Show]>, news: Endpoint<[Show]>) {
        queue = RequestQueue { [weak self] change in
            switch change {
            case .started: self?.showSpinner()
            case .finished(let error): self?.hideSpinner(error)
            }
        }
        queue.add(RequestHandle(loader, shows) { [queue] outcome in queue.report(outcome.error) })
        queue.add(RequestHandle(loader, news) { [queue] outcome in queue.report(outcome.error) })
    }
}

private func images(loader: Loader, coverURL: String) async throws {
    let cover = Endpoint(try Request(coverURL)).requiredBitmap(ImageDecoder(maximumPixelSize: 320))
    let bitmap = try await loader.load(cover)
    _ = bitmap
}

private func json(body: Data) throws {
    var decoder = FastJSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let page = try decoder.decode(Page.self, from: body)
    _ = page
}

private func hosts() {
    var settings = Service.Settings()
    settings.hosts = HostDirectory([
        "api.example.com": ["api.example.com", "backup.example.com", HostDirectory.Address("192.0.2.7", port: 8443)]
    ])
}

private func retries() throws {
    var order = try Request(.post, "https://shop.example.com/orders", body: .text("one"))
    order.idempotencyKey = .generated  // the same on each attempt
    order.retryLimit = 5
}

private func backoff() {
    var settings = Service.Settings()
    settings.retries.limit = 4
    settings.retries.backoff = .fullJitter(base: .milliseconds(500), maximum: .seconds(5))
}

private func callsAtTheSameTime(_ settings: inout Service.Settings) throws {
    var limits = RateLimits()
    limits.concurrency = 4
    limits.keyRule = ServiceKey.perHost
    settings.rateLimiter = try RateLimiter(limits)
    let loader = try Loader(settings)
    _ = loader
}

private func rateOfOneHost() throws {
    var limits = RateLimits()
    limits.keyRule = ServiceKey.perHost
    limits.rates = [ServiceKey.perHost(try Request("https://api.example.com")): .perSecond(5)]
}

@MainActor
private func contentStates(
    _ model: ContentModel<String, Show>,
    showSpinner: () -> Void,
    display: (Show) -> Void,
    showHint: () -> Void,
    showBanner: (String) -> Void
) {
    switch model.state {
    case .unloaded, .loading: showSpinner()
    case .success(let show): display(show)
    case .empty: showHint()
    case .error(let error): showBanner(error.localizedDescription)
    }
}

private func hedging() {
    var settings = Service.Settings()
    settings.hedging = .delay(.milliseconds(200))
    settings.hedging = .percentile(95)  // the time within which 95 % of the recent heads came
}

private func limits(key: ServiceKey, searchURL: URL, call: Call) throws {
    let limiter = try RateLimiter(RateLimits(default: .perSecond(10)))
    try limiter.setRate(1, burst: 5, for: key)
    try limiter.setConcurrency(4, for: key)
    limiter.setPriority(.high, of: call.id)
    try limiter.setRate(2, for: limiter.key(of: searchURL))
    do {
        var limits = RateLimits(default: .perSecond(5))
        limits.keyRule = ServiceKey.perHost
        _ = limits
    }
}

private actor Keychain { func store(_ secret: Secret?) {} }
private let keychain = Keychain()

private func signingIn(tokenURL: URL, saved: Secret, service: Service) throws {
    let scope = try Authorisation.Scope("https://api.example.com")
    var settings = Authorisation.OAuth2.Settings(tokenEndpoint: tokenURL, grant: .refreshToken(saved), clientID: "app")
    let oauth = Authorisation.OAuth2(settings, scope: scope) { tokens in
        await keychain.store(tokens.refreshToken)
    }
    let account = service.account(authorisers: [oauth])
    settings.scopes = []
    _ = account
}

struct SessionAuthoriser: Authoriser {
    let identifier = "session"
    // True: it waits only for `Authorisation.RefreshingCredentials`.
    let observesScope = true
    let scope: Authorisation.Scope
    let sessions: Authorisation.RefreshingCredentials<Secret>

    func claims(_ request: Request) -> Bool { scope.contains(request) }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
        let session = try await sessions.current(in: context)
        var request = request
        request.headers.set("X-Session", secret: session.value)
        request.setCredentialVersion(session.version, of: identifier)
        return request
    }

    // After a wait: a session that was renewed meanwhile takes the place of the old one.
    func renewed(_ request: Request, in context: Authorisation.Context) -> Request? {
        guard let session = sessions.available(in: context) else { return nil }
        var request = request
        request.headers.set("X-Session", secret: session.value)
        request.setCredentialVersion(session.version, of: identifier)
        return request
    }

    func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
        sessions.refuse(version: request.credentialVersion(of: identifier) ?? 0)
    }
}

private struct ShowsStore {
    let client: any LoadingClient

    func titles() async throws -> [String] {
        try await client.load(Endpoint("https://api.example.com/shows").decoding([String].self))
    }
}

private func testingWithClient() async throws {
    let client = ScriptedClient()
    client.transport.on(.get, "/shows").respond(.json(#"["Tagesschau"]"#))
    let store = ShowsStore(client: client)
    _ = try await store.titles()
}

private func testing() async throws {
    let transport = ScriptedTransport()
    transport.on(.get, "/shows").respond(.status(503)).then(.json(#"["Tagesschau"]"#))

    var settings = Service.Settings()
    let time = VirtualTime()
    settings.time = time
    let loader = Service(settings, transport: transport).anonymous.makeLoader()

    do {
        async let titles: [String] = loader.load(Endpoint("https://api.example.com/shows"))
        let sleeper = try await time.nextSleeper()
        #expect(sleeper.remaining <= .seconds(1))
        time.advance(by: sleeper.remaining)
        #expect(try await titles == ["Tagesschau"])
        #expect(transport.received.count == 2)
    }

    do {
        let titles: [String] = try await time.runAutomatically {
            try await loader.load(Endpoint("https://api.example.com/shows"))
        }
        _ = titles
    }

    let events = EventRecorder()
    settings.observers = [events]

    let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    let response = try await transport.send(server.request(), call: Call())
    _ = response
}

private func platform() async throws {
    let transport = try URLSessionTransport()
    let response = try await transport.send(Request("https://api.example.com/shows"), call: Call())
    _ = response
}

private func keepOnDisk() async throws {
    var settings = SQLiteStore.Settings()
    settings.limit = 64 << 20
    let store = try SQLiteStore(directory: "/home/me/.cache/example", settings: settings)
    let size = try await store.size()
    let check = try await store.check()
    await store.close()
    print(size, check.damages)
}
