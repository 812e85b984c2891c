import Foundation
import Lade
import LadeFields
import LadePolicies

// The examples in the documentation comments of Lade, LadeCore and LadePolicies. They are compiled and never run; a test
// compares them with the comments.

private let id = 1
private func sign(_ request: Request) throws -> Secret { Secret(request.method.rawValue) }

private func api(loader: Loader, draft: Show) async throws {
    do {
        let path: API.Path = "shows/\(id)/episodes"  // id "a/b" gives shows/a%2Fb/episodes
        _ = path
    }
    do {
        let api = try API("https://api.example.com/v1").failure(as: API.Problem.self)

        let show: Show = try await loader.load(api.get("shows", id))
        let created: Show = try await loader.load(api.post("shows", json: draft))
        _ = (show, created)
    }
    let api = try API("https://api.example.com").failure(as: API.Problem.self)
    _ = api
}

private func failures(loader: Loader, api: API) async {
    do throws(LoadingError) {
        let show: Show = try await loader.load(api.get("shows", id))
        print(show.title)
    } catch {
        print(error.failure(as: API.Problem.self)?.detail ?? error.description)
    }
}

private func loading(loader: Loader, api: API, showURL: URL, request: Request) async throws {
    do {
        let show = Endpoint(showURL)
            .header("Accept", "application/json")
            .decoding(Show.self)
        let value = try await loader.load(show)
        _ = value
    }
    do {
        let show = try await loader.load(Endpoint(showURL).decoding(Show.self))
        _ = show
    }
    do {
        let show: Show = try await loader.load(api.get("shows", id))
        _ = show
    }
    let size = try await loader.withResponse(to: request) { response in
        var size = 0
        for try await chunk in response.body { size += chunk.count }
        return size
    }
    _ = size
    for try await event in loader.events(from: try Request("https://api.example.com/feed")) {
        print(event.type, event.data)
    }
}

private func reading(loader: Loader, request: Request) async throws {
    print(try await loader.load(request).text)
    let title = try await loader.load(request).json["title"]?.string
    _ = title
}

private func streams(loader: Loader, request: Request) async throws {
    var request = request
    var list: [Show] = []
    do {
        request.delivery = .streamed
        let response = try await loader.load(request)
        for try await show in response.body.decoded(Show.self) { list.append(show) }
    }
    request.delivery = .streamed
    for try await line in try await loader.load(request).body.lines { print(line) }
}

private func service(request: Request, searchURL: URL) async throws {
    let service = try Service()
    let loader = service.anonymous.makeLoader()
    let response = try await loader.load(Request("https://example.com/"))
    _ = response

    do {
        let observation = service.observe(
            with: ConsumptionObserver { total in
                print(total.bytesReceived, total.bytesSent)
            }
        )
        observation.end()
    }
    do {
        let story = Service.CallStory()
        let observation = service.observe(with: story)
        _ = try await loader.load(request)
        observation.end()
        print(story.timeline)
    }
    let search = service.rateLimiter.key(of: searchURL)
    try service.rateLimiter.setRate(1, for: search)
    service.rateLimiter.closeGate(of: search, for: .seconds(30))
}

/// An interceptor that an app may have.
private struct Auditing: Interceptor {
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        print(request.url)
        return try await next(request)
    }
}

private func hedging() {
    var settings = Service.Settings()
    settings.hedging = .delay(.milliseconds(200))
    settings.hedging = .percentile(95)
}

private func settings(request: Request) throws {
    var settings = Service.Settings()
    settings.adjustChain = { layout in
        layout.remove(.redirect)
        layout.insert(Auditing(), above: .retry)
    }
    let meter = Pages.Progress.Meter { progress in print(progress.pages, progress.waiting?.description ?? "") }
    settings.observers.append(meter)
    settings.attemptInterceptors = [
        Chain.interceptor { request, next in
            var signed = request
            signed.headers.set("X-Signature", secret: try sign(request))
            return try await next(signed)
        }
    ]
    settings.retries.hook = RetryPolicy.Hook(
        shouldRetry: { attempt, suggestion in
            if case .response(409, _) = attempt.ending { true } else { suggestion }
        }
    )
    var request = request
    var policy = RetryPolicy()
    settings.acceptableStatuses = .successful  // 200 to 299
    request.acceptableStatuses = [.successful, 404]  // 2xx or 404
    policy.statuses = [408, 429, .codes(500...504)]
}

private func pages(loader: Loader, shows: PagedEndpoint<Shows>, render: ([Show]) -> Void) async throws {
    do throws(PageError) {
        for try await page in loader.pages(of: shows) { render(page.value.showList) }
    } catch {
        // Later: the same list, from the page that failed.
        for try await page in loader.pages(of: shows, from: error.page) { render(page.value.showList) }
    }
    for try await page in loader.pages(of: shows, size: 50, prefetch: 2) { render(page.value.showList) }

    var second: Pages.Page<Loader.Loaded<Shows>>?
    let first = try await loader.load(shows.firstPage(size: 50), of: shows)
    if let next = first.next { second = try await loader.load(next, of: shows) }
    _ = second
}

private func paging(loader: Loader, showsURL: URL, render: ([Show]) -> Void) async throws {
    let paginators: [Pages.Paginator<Shows>] = [
        .rule(.link(relation: "next")),
        .rules([.link(relation: "next"), .body(["next"])]),  // the first that names a page
        .target(\.next),  // a member of the decoded value
        Pages.Paginator { page in page.number < 10 ? page.original : nil },
    ]
    let rules: [Pages.Rule] = [
        .cursor(.body(["meta", "next"]), to: .query("cursor")),
        .cursor(.body(["data", "-", "id"]), to: .query("starting_after")),  // of the last item
        .cursor(.body(["LastEvaluatedKey"]), to: .body(["ExclusiveStartKey"])),  // an object
    ]
    _ = (paginators, rules)
    do {
        var shows = PagedEndpoint(Endpoint(showsURL).decoding(Shows.self), paginator: .target(\.next))
        shows.sizes = Pages.Sizes(standard: 10, allowed: 1...100)
        let standard = shows.firstPage().size  // 10
        let largest = shows.firstPage(size: 1_000).size  // 100
        _ = (standard, largest)
    }
    let shows = PagedEndpoint(
        Endpoint(showsURL).decoding(Shows.self),
        sizer: .query("pageSize"),
        paginator: .target(\.next)
    )
    for try await page in loader.pages(of: shows, size: 50, prefetch: 2) {
        render(page.value.showList)
    }
}

private func form(request: Request) throws {
    var request = request
    var form = MultipartForm()
    form.addField("title", "Tagesschau")
    try form.addFile("image", URL(filePath: "cover.png"), contentType: "image/png")
    request.body = form.body
}

enum ScreenName: Request.Tag { static let defaultValue: String? = nil }

private func requests() throws {
    var request = try Request("https://api.example.com/shows?size=10")
    request.headers["Accept"] = "application/json"
    request.timeouts.whole = .seconds(10)

    request[ScreenName.self] = "start"
}

private func fields(response: Response, url: URL) throws {
    let challenges = AuthenticationChallenge.all(in: response.headers)
    let realm = challenges.first { $0.scheme == "basic" }?["realm"]
    do {
        let links = try WebLink.parse(response.headers.all("Link"))
        let next = links.first { $0.hasRelation("next") && $0.anchor == nil }?.resolved(against: url)
        _ = next
    }
    let limits = try StructuredField.Dictionary(parsing: [#""burst";q=100;w=60"#])
    let priority: StructuredField.Dictionary = ["u": .item(.init(.integer(1))), "i": .item(.init(.boolean(true)))]
    let text = try priority.serialised()  // u=1, i
    _ = (realm, limits, text)
}

struct Signature: Authoriser {
    let identifier = "signature"
    func claims(_ request: Request) -> Bool { request.url.host() == "api.example.com" && request.url.scheme == "https" }
    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
        var request = request
        request.headers.set("X-Signature", secret: try sign(request))
        return request
    }
}

private struct SignIn: Sendable {
    struct Session {
        var token: Secret
        var lifetime: Duration
    }

    func session() async throws -> Session { Session(token: Secret(""), lifetime: .zero) }
}

private protocol Keychain: Sendable { func store(_ secret: Secret?) }

private func authorisers(signIn: SignIn, tokenURL: URL, secret: Secret, keychain: any Keychain) throws {
    do {
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.example.com")) { _, _ in
            let session = try await signIn.session()
            return .init(session.token, end: .after(session.lifetime))
        }
        _ = authoriser
    }
    let scope = try Authorisation.Scope("https://api.example.com", "https://media.example.com/private/")
    _ = scope
    do {
        var settings = Authorisation.OAuth2.Settings(
            tokenEndpoint: tokenURL,
            grant: .refreshToken(secret),
            clientID: "app"
        )
        let authoriser = Authorisation.OAuth2(settings, scope: try Authorisation.Scope("https://api.example.com")) {
            tokens in
            keychain.store(tokens.refreshToken)
        }
        settings.clientID = nil
        _ = authoriser
    }
    let backups: [HostDirectory.Address] = [
        "api.example.com", "backup.example.com", HostDirectory.Address("192.0.2.7", port: 8443),
    ]
    let hosts = HostDirectory(["api.example.com": backups])
    _ = hosts
}

private func timer(random: SeededRandom) {
    var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(60))
    let first = timer.takeAndAdvance(random)  // 1 s
    let second = timer.takeAndAdvance(random)  // about 2.72 s
    let third = timer.takeAndAdvance(random)  // about 7.39 s
    _ = (first, second, third)
}

nonisolated struct Programme: Codable, Sendable, Equatable {
    var title: String
}
