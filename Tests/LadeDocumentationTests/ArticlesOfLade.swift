import Foundation
import Lade
import LadeCacheSQLite
import LadeCallbacks
import LadeTesting

// The code of the articles in Lade.docc and Documentation/. It is compiled and never run; a test compares it with the articles.

struct Show: Codable, Sendable { var title: String }

struct Session: Decodable, Sendable {
    var token: String
    var lifetime: Int
}

struct Shows: Decodable, Sendable {
    var showList: [Show]
    var next: String?
}

private let id = 1
private func signIn() async throws -> Session { try await Loader().load(Endpoint("https://id.example.com/session")) }

private func gettingStarted(draft: Show, showEmptyPage: () -> Void) async throws {
    do {
        let show: Show = try await Loader().load(Endpoint("https://api.example.com/shows/1"))
        print(show.title)
    }
    do {
        let api = try API("https://api.example.com").failure(as: API.Problem.self)
        let loader = try Loader()
        let show: Show = try await loader.load(api.get("shows", id))
        let created: Show = try await loader.load(api.post("shows", json: draft))
        _ = (show, created)

        do throws(LoadingError) {
            let show: Show = try await loader.load(api.get("shows", id))
            print(show.title)
        } catch {
            if error.kind == .unacceptableStatus(404) {
                showEmptyPage()
            } else {
                print(error.failure(as: API.Problem.self)?.detail ?? error.description)
            }
        }
    }
}

private func kinds(of endpoint: Endpoint<Show>, loader: Loader) async throws {
    var show: Show?
    do throws(LoadingError) {
        show = try await loader.load(endpoint)
    } catch {
        guard error.kind == .unacceptableStatus(404) else { throw error }
        show = nil
    }
    _ = show
}

/// The two forms, in the closure of a task and in that of a group, where a plain `do` has `any Error`.
private func kinds(loader: Loader, api: API, showEmptyPage: @escaping @Sendable () -> Void) async {
    let task = Task {
        do throws(LoadingError) {
            let show: Show = try await loader.load(api.get("shows", id))
            print(show.title)
        } catch {
            switch error.kind {
            case .unacceptableStatus(404): showEmptyPage()
            case .timedOut(let phase): print("too slow:", phase.rawValue)
            case .rateLimited(_, let wait): print("again in", wait)
            default: print(error)
            }
        }
    }
    await task.value
    await withTaskGroup(of: Void.self) { group in
        group.addTask {
            do {
                try await Task.sleep(for: .seconds(1))
                let show: Show = try await loader.load(api.get("shows", id))
                print(show.title)
            } catch let error as LoadingError where error.kind == .unacceptableStatus(404) {
                showEmptyPage()
            } catch {
                print(error)
            }
        }
    }
}

private func errors(loader: Loader, work: () async throws -> Void) async throws {
    let api = try API("https://api.example.com").failure(as: API.Problem.self)
    do throws(LoadingError) {
        let show: Show = try await loader.load(api.get("shows", id))
        print(show.title)
    } catch {
        print(error.failure(as: API.Problem.self)?.title ?? error.description)
    }

    do {
        try await work()
    } catch let error as LoadingError where error.isCancellation {
        return
    } catch is CancellationError {
        return
    }
}

private func texts(of error: LoadingError) -> String {
    var message = ""
    message = error.localizedDescription
    message = error.text(in: .german)
    return message
}

private func defaults() throws {
    var settings = Service.Settings()
    settings.deadlines.buffered = .seconds(20)  // every buffered call
    settings.retries.limit = 4
    settings.rateLimiter = try RateLimiter(RateLimits(default: .perSecond(10)))

    var request = try Request("https://api.example.com/report")
    request.timeouts.idle = .seconds(120)  // this one
    request.deadline = .seconds(300)
    request.retryLimit = 0
    request.acceptableStatuses = [.successful, 404]
}

private func endpoints(loader: Loader, request: Request) async throws {
    let shows = try Endpoint("https://api.example.com/shows")
        .query("size", "50")
        .header("Accept", "application/json")
        .decoding([Show].self)
    _ = shows

    var request = request
    var list: [Show] = []
    request.delivery = .streamed
    let response = try await loader.load(request)
    for try await show in response.body.decoded(Show.self, from: .array(["shows"])) {
        list.append(show)
    }
}

private func settingsOfRequests(api: API, draft: Show) throws {
    let order = try api.post("orders", json: draft).request {
        $0.idempotencyKey = .generated
        $0.deadline = .seconds(20)
    }
    _ = order
}

private struct Receipt: Decodable, Sendable { var bytes: Int }

private func shortForm(user: String, password: String) throws {
    let request = try Request(.post, "https://example.com/login", body: .form(["user": user, "password": password]))
    _ = request
}

private func cookies(user: String, password: String) async throws {
    let jar = try CookieJar(file: "cookies")
    var settings = Account.Settings()
    settings.cookies = .jar(jar)
    let loader = try Service().account(settings).makeLoader()
    let login = try Request(.post, "https://example.com/login", body: .form(["user": user, "password": password]))
    _ = try await loader.load(login)

    for var cookie in jar.cookies where cookie.expires == nil {
        cookie.expires = Date.now.addingTimeInterval(7 * 24 * 3600)
        jar.insert(cookie, at: Date.now)
    }
    try await jar.save()
}

private func uploads(image: URL, json: Data, loader: Loader, api: API) async throws {
    var form = MultipartForm()
    form.addField("title", "Tagesschau")
    try form.addFile("image", image, contentType: "image/png")
    try form.addData("details", json, contentType: "application/json")
    let receipt: Receipt = try await loader.load(api.post("images").body(form.body))
    _ = receipt
}

private func downloads(_ request: Request, to file: URL, digits: String, loader: Loader) async throws {
    var options = Download.Options()
    options.expectedDigest = try Download.Digest(digits)
    let download = try await loader.download(request, to: file, options: options) { progress in
        print(progress.fraction ?? 0)
    }
    print(download.length, "bytes,", download.resumedLength, "of them from an earlier run")
}

private func interceptors(sign: @escaping @Sendable (Request) throws -> Secret) {
    var settings = Service.Settings()
    settings.attemptInterceptors = [
        Chain.interceptor { request, next in
            var signed = request
            signed.headers.set("X-Signature", secret: try sign(request))
            return try await next(signed)
        }
    ]
}

private func signature(of request: Request, with key: Secret) -> Secret { key }

private struct Signing: Interceptor {
    let key: Secret
    var changedFields: [String] { ["X-Signature"] }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        var signed = request
        signed.headers.set("X-Signature", secret: signature(of: request, with: key))
        return try await next(signed)
    }
}

private func levels(showURL: URL) async throws {
    let service = try Service()
    let loader = service.anonymous.makeLoader()
    let show = try await loader.load(Endpoint(showURL).decoding(Show.self))
    _ = show
}

private func pages(loader: Loader, render: ([Show]) -> Void) async throws {
    let shows = PagedEndpoint(
        try Endpoint("https://api.example.com/shows").decoding(Shows.self),
        sizer: .query("pageSize"),
        paginator: .target(\.next),
        itemCount: \.showList.count
    )
    for try await page in loader.pages(of: shows, size: 50, prefetch: 2) {
        render(page.value.showList)
    }

    let first = try await loader.load(shows, size: 50)
    _ = first
    var loaded = try await loader.load(shows.firstPage(size: 50), of: shows)
    if let next = loaded.next { loaded = try await loader.load(next, of: shows) }
}

private func streams(loader: Loader) async throws {
    var request = try Request("https://api.example.com/log")
    request.delivery = .streamed
    let response = try await loader.load(request)
    for try await line in response.body.lines { print(line) }

    for try await event in loader.events(from: try Request("https://api.example.com/feed")) {
        print(event.type, event.data)
    }
}

private struct Tick: Decodable { var number: Int }

private func ticks(of request: Request, loader: Loader) async throws {
    for try await event in loader.events(from: request) where event.type == "tick" {
        let tick = try event.decode(Tick.self)
        print(event.lastEventID, tick.number)
    }
}

private func logging() throws {
    var settings = Service.Settings()
    settings.observers = [LoggingObserver { print($0) }]
    let loader = try Loader(settings)
    _ = loader
}

private func times(_ settings: inout Service.Settings) {
    settings.callInterceptors = [
        Chain.interceptor(observesScope: true, changedFields: []) { request, next in
            let response = try await next(request)
            let times = response.metrics
            print(request.url.redacted(), response.status, times.firstByte ?? .zero, times.total ?? .zero)
            return response
        }
    ]
}

private func traffic(service: Service) {
    let consumption = ConsumptionObserver { total in
        print(total.bytesSent, "bytes up,", total.bytesReceived, "down,", total.exchanges, "exchanges")
    }
    let observation = service.observe(with: consumption)
    observation.end()
}

private func story(service: Service, loader: Loader, request: Request) async throws {
    let story = Service.CallStory()
    let observation = service.observe(with: story)
    _ = try await loader.load(request)
    observation.end()
    print(story.timeline)
}

private func fromAlamofire(
    loader: Loader,
    api: API,
    show: @escaping @MainActor @Sendable (Show) -> Void,
    present: @escaping @MainActor @Sendable (String) -> Void
) throws {
    var settings = Service.Settings()
    settings.acceptableStatuses = [.successful, 404]
    settings.retries.limit = 4
    settings.retries.hook = RetryPolicy.Hook(
        shouldRetry: { attempt, suggestion in
            if case .response(409, _) = attempt.ending { true } else { suggestion }
        }
    )

    settings.decorators = [
        Service.decorator { request in
            var request = request
            request.headers["X-Client"] = "app"
            return request
        }
    ]

    let handle = try loader.load(api.get("shows", id).decoding(Show.self)) { result in
        switch result {
        case .success(let value): show(value)
        case .failure(let error) where error.isCancellation: break
        case .failure(let error): present(error.description)
        }
    }
    handle.cancel()
}

@MainActor
private func fromDataLoader(delegate: Playlists) throws {
    var settings = try Service.Settings.dataLoader()
    settings.userAgent = .product("Player", version: "1.0")
    settings.hosts.setAddresses(["spotify.com", "backup.spotify.com", "192.168.0.1"], for: "spotify.com")
    try settings.rateLimiter?.setRate(1, for: ServiceKey(Request("https://www.spotify.com/thing/thing")))
    let service = try Service(settings)

    let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://myauth.com")) { _, _ in
        let session = try await signIn()
        return .init(Secret(session.token), end: .after(.seconds(session.lifetime)))
    }
    let account = service.account(authorisers: [authoriser])
    let loader = account.makeLoader()

    loader.delegate = delegate
    loader.perform(try Request("https://api.example.com/playlists"))
}

@MainActor
final class Playlists: LoaderDelegate {
    func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) {
        print(response.status)
    }

    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {
        print(error)
    }
}

private func caching(loader: Loader, endpoint: Endpoint<Show>, folder: String) async throws {
    do {
        var settings = Service.Settings()
        settings.cache = ResponseCache.Settings()
        let service = try Service(settings)
        _ = service
    }
    let account = loader.account
    do {
        account.isOffline = true
        do throws(LoadingError) {
            let show: Show = try await loader.load(endpoint)
            print(show.title)
        } catch {
            print(error.underlyingError as? ResponseCache.NotStoredReason ?? .nothing)
        }
    }
    do {
        let show: Show = try await loader.load(endpoint.cacheMode(.revalidate))
        print(show.title)
    }
    var request = try Request("https://api.example.com/balance")
    request.cacheOptions.storesResponse = false
    var settings = Service.Settings()
    settings.cache = ResponseCache.Settings(store: try SQLiteStore(directory: folder))
    try await explaining(request, account: account)
}

private func explaining(_ request: Request, account: Account) async throws {
    if let explanation = try await account.explainCaching(of: request) {
        print(explanation.lastRefusal?.sentence ?? explanation.rule.sentence)
    }
}
