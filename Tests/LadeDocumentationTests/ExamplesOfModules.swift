import Foundation
import Lade
import LadeCallbacks
import LadeCatalogue
import LadeCatalogueServer
import LadeConformance
import LadeContent
import LadeHarvest
import LadeImages
import LadeJSON
import LadePolicies
import LadeTesting
import LadeURLSession
import Testing

#if canImport(LadeWire)
    import LadeWire
#endif

// The examples in the documentation comments of the other modules. They are compiled and never run; a test compares them
// with the comments.

// MARK: - LadeCatalogue, LadeCatalogueServer

private func catalogue(loader: Loader, resource: Catalogue.Resource, render: ([Catalogue.Media]) -> Void) async throws {
    let day = Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: 7, months: 4, years: 1)  // 2017-05-10
    guard let url = resource.url else { return }
    let playable = try await Catalogue.playableURL(for: url, loader: loader)
    do {
        let catalogue = try Catalogue(.production)
        let topics = try await loader.load(catalogue.tvTopics(.rts))
        for try await page in loader.pages(of: try catalogue.tvLatestEpisodes(.rts), size: 20) {
            render(page.value.items)
        }
        _ = topics
    }
    let catalogue = try LocalCatalogue()
    let address = catalogue.address("/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?pageSize=50")
    _ = (day, playable, address)
}

private func play(_ url: URL?) {}

@MainActor
private func tokens(loader: Loader, mediaURL: URL) throws {
    RequestHandle(loader, try Catalogue.tokenizeURL(mediaURL)) { outcome in play(outcome.value) }.resume()
}

private func provider(render: ([Catalogue.Show]) -> Void, scrolledToEnd: AsyncStream<Void>) async throws {
    let provider = try CatalogueProvider(Catalogue(.production, unit: .rts))
    CatalogueProvider.setCurrent(provider)

    let topics = try await provider.load { try $0.tvTopics() }
    let latest = try await provider.load(size: 20) { try $0.tvLatestEpisodes() }.items
    let others = try await provider.load { try $0.tvTopics(.srf) }
    _ = (topics, latest, others)

    var pages = try provider.pages { try $0.tvShows() }.makeAsyncIterator()
    for await _ in scrolledToEnd {
        do throws(PageError) {
            guard let page = try await pages.next() else { break }
            render(page.value.items)
        } catch {
            pages = try provider.pages(from: error.page) { try $0.tvShows() }.makeAsyncIterator()
        }
    }
}

private func catalogueOfUnit(loader: Loader) async throws {
    let catalogue = try Catalogue(.production, unit: .rts)
    let topics = try await loader.load(catalogue.tvTopics())
    _ = topics
}

// MARK: - LadeCallbacks

@MainActor
final class ShowModel: LoaderDelegate {
    private(set) var message = ""

    func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) {
        message = "\(response.status)"
    }

    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {
        message = error.text()
    }
}

@MainActor
private func closures(loader: Loader, showURL: URL) {
    loader.send(Endpoint(showURL).decoding(Show.self)) { request, loaded in
        show = loaded.value
    } failure: { request, error in
        message = error.text()
    }
}

private func fluent(loader: Loader, showURL: URL, display: @escaping @Sendable (Result<Show, any Error>) -> Void) {
    loader.request(showURL)
        .modify { $0.headers["Accept"] = "application/json" }
        .responseDecodable(Show.self) { outcome in display(outcome.result) }
}

// MARK: - LadeContent

private struct ShowID: Sendable, Equatable, CustomStringConvertible {
    static let latest = ShowID()
    let description = "latest"
}

@MainActor private protocol Indicator: AnyObject { var isVisible: Bool { get set } }

@MainActor private var list: [Show] = []
@MainActor private var nextPage: PageRequest?
@MainActor private var show: Show?
@MainActor private var message = ""

@MainActor private func showHint() {}
@MainActor private func showSpinner() {}
@MainActor private func hideSpinner(_ error: (any Error)?) {}
@MainActor private func showEmptyPage() {}
@MainActor private func render(_ shows: [Show]) {}
@MainActor private func show(_ error: any Error) {}

@MainActor
private func content(loader: Loader, api: API, id: ShowID, lifetimes: AsyncStream<ViewLifetime>) {
    let model = ContentModel<ShowID, Show>(triggers: [.willAppear], cancelsOn: [.didDisappear]) { [loader, api] id in
        try await loader.load(api.get("shows", id ?? .latest))
    }
    model.refresh(id)
    model.bind(lifetime: lifetimes)
}

@MainActor
private func pagedContent(loader: Loader, shows: PagedEndpoint<Shows>) throws {
    let model = try PagedContentModel<String, Show>(pageSize: 50) { [loader, shows] position in
        let page = position.cursor as? PageRequest ?? shows.firstPage(size: position.size)
        let loaded = try await loader.load(page, of: shows)
        return ContentPage(loaded.value.showList, cursor: loaded.next)
    }
    model.startOver(with: "news")
    model.loadNextPage()  // when the list has scrolled near its end
}

@MainActor
private func states(model: ContentModel<Void, [Show]>) {
    switch model.state {
    case .unloaded: showHint()
    case .loading: showSpinner()
    case .success(let shows): render(shows)
    case .empty: showEmptyPage()
    case .error(let error): show(error)
    }
}

@MainActor
private func activity(indicator: any Indicator) {
    var settings = Service.Settings()
    settings.observers.append(NetworkActivity.shared)
    NetworkActivity.shared.enable { isActive in indicator.isVisible = isActive }
}

@MainActor
private func messages(error: NetworkError) {
    message = error.text(in: .french)  // or error.localizedDescription, in the user's language
}

@MainActor
private func handles(loader: Loader, shows: PagedEndpoint<Shows>) {
    let first = FirstPageHandle(loader, shows) { outcome in
        list += outcome.value?.showList ?? []
        nextPage = outcome.next
    }
    first.with(pageSize: 20).resume()
    // Later, when the user has scrolled to the end:
    if let nextPage { first.handle(for: nextPage).resume() }
}

@MainActor
private func queues(loader: Loader, shows: Endpoint<Shows>) {
    let queue = RequestQueue { change in
        switch change {
        case .started: showSpinner()
        case .finished(let error): hideSpinner(error)
        }
    }
    queue.add(RequestHandle(loader, shows) { outcome in queue.report(outcome.error) })
}

@MainActor
private func handle(loader: Loader, showURL: URL) {
    let request = RequestHandle(loader, Endpoint(showURL).decoding(Show.self)) { outcome in
        show = outcome.value
    }
    request.resume()
}

// MARK: - LadeHarvest, LadeImages, LadeJSON

private func harvest(loader: Loader) async throws {
    var harvest = Harvest(try Request("https://api.example.com/items"))
    harvest.items = ["items"]
    harvest.prefetch = 2
    let summary = try await harvest.run(with: loader, to: .file("items.ndjson"))
    _ = summary
}

private func image(data: Data) throws {
    let thumbnail = try ImageDecoder(maximumPixelSize: 320).decode(data)
    _ = thumbnail
}

private enum CatalogueExamples {
    struct Podcast: CatalogueModel {
        var title = ""
        var feed: URL?
        var latest: Catalogue.Media?

        mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("title", &title)
            try members.read("feedUrl", &feed)
            try members.read("latestMedia", &latest)
        }
    }
}

private enum JSONExamples {
    struct Page: Codable { var number: Int }

    struct Show: Codable, FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case id, title, date, tags }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var id: Int
        var title: String
        var date: Date?
        var tags: [String]

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var id: Int?
            var title = ""
            var date: Date?
            var tags: [String] = []
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .id: id = try reader.read(Int.self)
                case .title: title = try reader.read(String.self)
                case .date: date = try reader.readIfPresent(Date.self)
                case .tags: tags = try reader.read([String].self)
                }
            }
            guard let id else { throw reader.missing(CodingKeys.id) }
            (self.id, self.title, self.date, self.tags) = (id, title, date, tags)
        }
    }

    static func coding(body: Data) throws {
        var decoder = FastJSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let page = try decoder.decode(Page.self, from: body)
        do {
            var encoder = FastJSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let body = try encoder.encode(page)
            _ = body
        }
    }

    static func values() throws {
        var splitter = JSONSplitter(.init(list: ["items"], values: [["next"]]))
        try splitter.consume(Data(#"{"items": [{"id": 1}, {"id": 2}], "next": "/2"}"#.utf8))
        try splitter.finish()
        let lines = splitter.takeLines()  // {"id":1}⏎{"id":2}⏎
        let next = splitter.value(at: 0)  // "/2"
        let value = try JSONValue(parsing: Data("3.14159265358979323846".utf8))
        if case .number(let number) = value { print(number.text) }  // 3.14159265358979323846
        let items = try JSONPointer("/data/items")
        let same: JSONPointer = ["data", "items"]
        _ = (lines, next, items, same)
        var printer = JSONPrinter()
        var text = ""
        for scalar in #"{"a":[1,2]}"#.unicodeScalars { printer.write(scalar, to: &text) }
        printer.end(&text)
    }
}

// MARK: - Transports

private func sessionTransport() async throws {
    let transport = try URLSessionTransport()
    let response = try await transport.send(Request("https://api.example.com/shows"), call: Call())
    _ = response
}

#if canImport(LadeWire)
    private func executor(transport: WireTransport, loader: Loader, request: Request) async throws {
        let response = try await withTaskExecutorPreference(transport.executor) { try await loader.load(request) }
        _ = response
    }
#endif

private struct MyTransport: Transport {
    init(_ settings: TransportSettings) throws {}

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        throw LoadingError(.cancelled, LoadingError.Context(request))
    }
}

private func conformance() async throws {
    let context = ConformanceContext { settings in try MyTransport(settings) }
    for test in TransportConformance.cases { try await test.run(context) }
}

// MARK: - LadeTesting

private func events(chain: Chain, request: Request) async throws {
    let events = EventRecorder()
    _ = try await chain.send(request, call: Call(events: [events]))
    #expect(
        events.story == [
            "exchange started GET http://127.0.0.1/shows",
            "head 200 HTTP/1.1",
            "exchange finished",
        ]
    )
}

private func scripts(data: Data, signal: Signal) {
    let responses: [ScriptedResponse] = [
        .json(#"{"title": "One"}"#),
        .status(503, headers: ["Retry-After": "3"]),
        .text("hello").after(.seconds(2)),
        .bytes(data).inPieces(of: 1024, every: .milliseconds(10)).breaking(after: 5000),
        .fails(LoadingError(.timedOut(.connect))),
        .stalls,
    ]
    let steps: [ServerStep] = [
        .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12"), .wait(for: signal), .send("34"), .close,
    ]
    do {
        let transport = ScriptedTransport(answering: .status(503), .json("[]"))  // 503 once, then the list every time
        _ = transport
    }
    let transport = ScriptedTransport()
    transport.on(.get, "/shows").respond(.json(#"{"shows": []}"#))
    transport.on(.post, "/shows").respond(.status(503, headers: ["Retry-After": "3"])).then(.status(201))
    _ = (responses, steps)
}

private func servers() throws {
    do {
        let hole = try Blackhole()
        var request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
        request.timeouts.connect = .milliseconds(100)
    }
    do {
        let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let broken = try LoopbackServer(script: [.readRequest, .send("HTTP/1.1 200 OK\r\n"), .reset])
        _ = (server, broken)
    }
    let server = try LoopbackServer { request in
        request.path == "/shows" ? .json(#"{"shows": []}"#) : .status(404)
    }
    let request = try server.request(.get, "/shows")
    _ = request
}

private func virtualTime(loader: Loader, request: Request) async throws {
    let time = VirtualTime()
    async let response = loader.load(request)
    let sleeper = try await time.nextSleeper()  // the retry waits …
    #expect(sleeper.remaining == .seconds(3))  // … as long as Retry-After said
    time.advance(by: .seconds(3))
    _ = try await response
}

private func automaticTime(time: VirtualTime, loader: Loader, request: Request) async throws {
    let waited = try await time.runAutomatically {
        let start = time.now
        _ = try await loader.load(request)  // fails, waits, tries again …
        return start.duration(to: time.now)
    }
    _ = waited
}
