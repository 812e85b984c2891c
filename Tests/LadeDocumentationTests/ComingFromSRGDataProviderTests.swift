import Foundation
import LadeCatalogue
import LadeCatalogueServer
import LadeCallbacks
import Testing

// The code of Documentation/ComingFromSRGDataProvider.md, run with a local catalogue.

@MainActor
final class LivestreamScreen {
    private let provider: CatalogueProvider
    private var request: RequestHandle<[Catalogue.Media]>?
    private(set) var medias: [Catalogue.Media] = []

    init(provider: CatalogueProvider) {
        self.provider = provider
    }

    func refresh() throws {
        let request = RequestHandle(provider.loader, try provider.catalogue.tvLivestreams(.rts)) {
            [weak self] outcome in
            self?.medias = outcome.value ?? []
        }
        request.resume()
        self.request = request
    }

    func didDisappear() {
        request?.cancel()
    }
}

@MainActor
final class HomeOfMedias {
    private let provider: CatalogueProvider
    private var queue: RequestQueue?
    private(set) var editorialMedias: [Catalogue.Media] = []
    private(set) var trendingMedias: [Catalogue.Media] = []

    init(provider: CatalogueProvider) {
        self.provider = provider
    }

    func refresh(onChange: @escaping @MainActor @Sendable (RequestQueue.Change) -> Void) throws {
        let queue = RequestQueue(onChange: onChange)
        self.queue = queue

        let editorial = FirstPageHandle(provider.loader, try provider.catalogue.tvEditorialMedias(.rts)) {
            [weak self] outcome in
            queue.report(outcome.error)
            self?.editorialMedias = outcome.value?.items ?? []
        }
        queue.add(editorial)

        let trending = FirstPageHandle(provider.loader, try provider.catalogue.tvTrendingMedias(.rts)) {
            [weak self] outcome in
            queue.report(outcome.error)
            self?.trendingMedias = outcome.value?.items ?? []
        }
        queue.add(trending)
    }
}

@MainActor
final class EditorialMedias {
    private let provider: CatalogueProvider
    private var queue = RequestQueue()
    private var firstPage: FirstPageHandle<Catalogue.Listing<Catalogue.Media>>?
    private var nextPage: PageRequest?
    private(set) var medias: [PageRequest: [Catalogue.Media]] = [:]

    init(provider: CatalogueProvider) {
        self.provider = provider
    }

    func refresh(onChange: @escaping @MainActor @Sendable (RequestQueue.Change) -> Void) throws {
        medias = [:]
        nextPage = nil
        queue = RequestQueue(onChange: onChange)

        let list = try provider.catalogue.tvEditorialMedias(.rts)
        let firstPage = FirstPageHandle(provider.loader, list) { [weak self, queue] outcome in
            if let error = outcome.error { return queue.report(error) }
            self?.medias[outcome.page] = outcome.value?.items
            self?.nextPage = outcome.next
        }
        queue.add(firstPage)
        self.firstPage = firstPage
    }

    func loadNextPage() {
        guard let nextPage, let firstPage else { return }
        queue.add(firstPage.handle(for: nextPage))
    }
}

@MainActor
@Suite("Coming from SRG Data Provider", .serialized, .timeLimit(.minutes(5)))
struct ComingFromSRGDataProviderTests {
    private let local: LocalCatalogue
    private let provider: CatalogueProvider

    init() throws {
        let server = try LocalCatalogue()
        let serviceURL = server.address("/")
        let provider = try CatalogueProvider(Catalogue(serviceURL))
        (local, self.provider) = (server, provider)
    }

    private func notes() -> (stream: AsyncStream<String>, note: @Sendable (String) -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        return (stream, { continuation.yield($0) })
    }

    private func next(_ stream: AsyncStream<String>) async -> String? {
        for await text in stream { return text }
        return nil
    }

    @Test("the shared provider requests the livestreams: finding SF-15 finding SF-1")
    func livestreams() async throws {
        let (stream, note) = notes()
        CatalogueProvider.setCurrent(provider)

        guard let current = CatalogueProvider.current else { return }
        let request = RequestHandle(current.loader, try current.catalogue.tvLivestreams(.rts)) { outcome in
            if let error = outcome.error { return note(error.text()) }
            note("\(outcome.value?.count ?? 0) livestreams")
        }
        request.resume()
        #expect(await next(stream)?.hasSuffix(" livestreams") == true)
        CatalogueProvider.setCurrent(nil)

        let screen = LivestreamScreen(provider: provider)
        try screen.refresh()
        screen.didDisappear()
        #expect(screen.medias.isEmpty)
    }

    @Test("the editorial medias come page by page: finding SF-15 finding SF-1")
    func pages() async throws {
        let (stream, note) = notes()
        let list = try provider.catalogue.tvEditorialMedias(.rts)
        let request = FirstPageHandle(provider.loader, list) { outcome in
            note("page \(outcome.page.number) with \(outcome.value?.items.count ?? 0), next \(outcome.next != nil)")
        }
        request.with(pageSize: 20).resume()
        #expect(await next(stream) == "page 0 with 20, next true")

        for try await page in try provider.pages(size: 20, { try $0.tvEditorialMedias(.rts) }) {
            note("page \(page.page.number) with \(page.value.items.count)")
            if page.page.number == 1 { break }
        }
        #expect(await next(stream) == "page 0 with 20")
    }

    @Test("editorial and trending medias load side by side in one queue: finding SF-15 finding SF-1")
    func parallel() async throws {
        let (stream, note) = notes()
        let home = HomeOfMedias(provider: provider)
        try home.refresh { change in
            if case .finished(let error) = change { note(error == nil ? "finished" : "failed") }
        }
        #expect(await next(stream) == "finished")
        #expect(home.editorialMedias.count == 10 && home.trendingMedias.count == 10)
    }

    @Test("the first editorial video leads to its composition, and that to a stream: finding SF-15 finding SF-1")
    func cascade() async throws {
        let (stream, note) = notes()
        let queue = RequestQueue { change in
            if case .finished = change { note("finished") }
        }
        let list = try provider.catalogue.tvEditorialMedias(.rts)
        let editorial = FirstPageHandle(provider.loader, list) { [provider] outcome in
            if let error = outcome.error { return queue.report(error) }
            guard let uid = outcome.value?.items.first?.uid,
                let composition = try? provider.catalogue.videoComposition(.rts, uid: uid)
            else { return }
            queue.add(
                RequestHandle(provider.loader, composition) { outcome in
                    queue.report(outcome.error)
                    note(outcome.value?.mainChapter?.title ?? "nothing")
                }
            )
        }
        queue.add(editorial)
        #expect(await next(stream) != "nothing")

        let mediaURL = try #require(URL(string: "https://rtsvodww-vh.akamaihd.net/i/show/1.m3u8"))
        let tokenService = local.address("/akahd/token")
        let token = try Catalogue.tokenizeURL(mediaURL, service: tokenService)
        RequestHandle(provider.loader, token) { outcome in
            note(outcome.value?.absoluteString ?? "nothing")
        }.resume()
        var last = await next(stream)
        while last == "finished" { last = await next(stream) }
        #expect(last?.contains("hdnts=") == true)
    }

    @Test("the editorial medias are loaded on demand: finding SF-15 finding SF-1")
    func onDemand() async throws {
        let (stream, note) = notes()
        let screen = EditorialMedias(provider: provider)
        try screen.refresh { change in
            if case .finished = change { note("finished") }
        }
        _ = await next(stream)
        #expect(screen.medias.values.map(\.count) == [10])
        screen.loadNextPage()
        _ = await next(stream)
        #expect(screen.medias.values.map(\.count) == [10, 10])
    }
}
