import Foundation
import LadeCatalogueServer
import LadeCallbacks
import Testing

// The code of Documentation/ComingFromSRGNetwork.md, run with a local catalogue.

private struct Video: Decodable {
    var title: String
    var urn: String
}

private struct VideoList: Decodable {
    var mediaList: [Video]
    var next: String?
}

@MainActor
final class VideoScreen {
    private let loader: Loader
    private weak var request: RequestHandle<Data>?
    private(set) var data: Data?

    init(loader: Loader) {
        self.loader = loader
    }

    func refresh(_ url: URL) {
        let request = RequestHandle(loader, Endpoint(url)) { [weak self] outcome in
            self?.data = outcome.value
        }
        request.resume()
        self.request = request
    }

    func didDisappear() {
        request?.cancel()
    }
}

extension VideoScreen {
    var isLoading: Bool { request?.isRunning == true }
}

@MainActor
final class VideosOnDemand {
    private let loader: Loader
    private let queue: RequestQueue
    private var first: FirstPageHandle<[String: JSONValue]>?
    private var nextPage: PageRequest?
    private(set) var titles: [String] = []

    init(loader: Loader, onChange: @escaping @MainActor @Sendable (RequestQueue.Change) -> Void) {
        self.loader = loader
        queue = RequestQueue(onChange: onChange)
    }

    func refresh(_ list: PagedEndpoint<[String: JSONValue]>) {
        nextPage = nil
        let first = FirstPageHandle(loader, list) { [weak self, queue] outcome in
            if let error = outcome.error { return queue.report(error) }
            self?.titles += outcome.value?["mediaList"]?.array?.compactMap { $0["title"]?.string } ?? []
            self?.nextPage = outcome.next
        }
        queue.add(first)
        self.first = first
    }

    func loadNextPage() {
        guard let nextPage, let first else { return }
        queue.add(first.handle(for: nextPage))
    }
}

@MainActor
@Suite("Coming from SRG Network", .timeLimit(.minutes(5)))
struct ComingFromSRGNetworkTests {
    private let local: LocalCatalogue
    private let loader: Loader
    private let url: URL

    init() throws {
        local = try LocalCatalogue()
        loader = try Loader()
        url = try Request(local.address("/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?pageSize=3")).url
    }

    /// What a completion notes, for a test to wait for.
    private func notes() -> (stream: AsyncStream<String>, note: @Sendable (String) -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        return (stream, { continuation.yield($0) })
    }

    private func first(_ count: Int, of stream: AsyncStream<String>) async -> [String] {
        var found: [String] = []
        for await note in stream {
            found.append(note)
            if found.count == count { break }
        }
        return found
    }

    @Test("finding SF-15 a request calls back on the main queue, and with an option on another")
    func requests() async throws {
        let (stream, note) = notes()
        func display(_ data: Data?) { note(data == nil ? "nothing" : "data") }
        let request = RequestHandle(loader, Endpoint(url)) { outcome in
            if let error = outcome.error { return note(error.text()) }
            display(outcome.value)
        }
        request.resume()
        #expect(await first(1, of: stream) == ["data"])

        let reported = RequestHandle(loader, Endpoint(url)) { outcome in
            note(outcome.error?.isCancellation == true ? "cancelled" : "loaded")
        }.with(options: [.cancellationErrors, .backgroundCompletion])
        reported.resume()
        reported.cancel()
        #expect(await first(1, of: stream) == ["cancelled"])

        let object = RequestHandle(loader, Endpoint(url).jsonObject()) { outcome in
            note(outcome.value?["mediaList"] == nil ? "nothing" : "object")
        }
        let parsed = RequestHandle(loader, Request(url), parser: { data in String(decoding: data, as: UTF8.self) }) {
            outcome in
            note(outcome.value?.isEmpty == false ? "text" : "nothing")
        }
        object.resume()
        parsed.resume()
        #expect(await Set(first(2, of: stream)) == ["object", "text"])
    }

    @Test("finding SF-15 a screen cancels its request with a weak reference")
    func screens() async throws {
        let screen = VideoScreen(loader: loader)
        screen.refresh(url)
        #expect(screen.isLoading)
        screen.didDisappear()
        #expect(!screen.isLoading && screen.data == nil)
    }

    @Test("finding SF-15 pages have a sizer and a paginator, and follow one another")
    func pages() async throws {
        let (stream, note) = notes()
        let list = PagedEndpoint(
            Endpoint(url).jsonObject(),
            sizer: Pages.Sizer { request, size in
                Endpoint(request).query("pageSize", String(size)).request
            },
            paginator: Pages.Paginator { loaded in
                try loaded.value["next"]?.string.map { try Request($0) }
            }
        )
        let firstPage = FirstPageHandle(loader, list) { outcome in
            note("page \(outcome.page.number) with \(outcome.value?["mediaList"]?.array?.count ?? 0)")
        }
        firstPage.with(pageSize: 2).resume()
        #expect(await first(1, of: stream) == ["page 0 with 2"])

        let videos = PagedEndpoint(Endpoint(url).decoding(VideoList.self), paginator: .target(\.next))
        for try await page in loader.pages(of: videos, pageLimit: 3) {
            note("page \(page.page.number) with \(page.value.mediaList.count)")
        }
        #expect(await first(3, of: stream) == ["page 0 with 3", "page 1 with 3", "page 2 with 3"])
    }

    @Test("finding SF-15 a queue runs while its requests do, and reports their errors together")
    func queues() async throws {
        let (stream, note) = notes()
        let other = try Request(local.address("/integrationlayer/2.0/rts/nothing")).url
        let queue = RequestQueue { change in
            switch change {
            case .started: note("started")
            case .finished(let error): note(error == nil ? "finished" : "failed")
            }
        }
        let videos = RequestHandle(loader, Endpoint(url).decoding(VideoList.self)) { outcome in
            queue.report(outcome.error)
        }
        let nothing = RequestHandle(loader, Endpoint(other)) { outcome in
            queue.report(outcome.error)
        }
        queue.add(videos)
        queue.add(nothing)
        #expect(await first(2, of: stream) == ["started", "failed"])
        queue.cancel()
    }

    @Test("finding SF-15 a cascade is one run of its queue")
    func cascades() async throws {
        let (stream, note) = notes()
        let server = local
        let queue = RequestQueue { change in
            if case .finished = change { note("finished") }
        }
        let list = RequestHandle(loader, Endpoint(url).decoding(VideoList.self)) { [loader] outcome in
            if let error = outcome.error { return queue.report(error) }
            guard let urn = outcome.value?.mediaList.first?.urn,
                let media = try? Endpoint(server.address("/integrationlayer/2.0/media/byUrn/\(urn)"))
            else { return }
            queue.add(
                RequestHandle(loader, media.decoding(Video.self)) { outcome in
                    queue.report(outcome.error)
                    note(outcome.value.map { _ in "media" } ?? "no media")
                }
            )
        }
        queue.add(list)
        #expect(await first(2, of: stream) == ["media", "finished"])
    }

    @Test("finding SF-15 pages are loaded on demand, in one queue")
    func onDemand() async throws {
        let (stream, note) = notes()
        let list = PagedEndpoint(Endpoint(url).jsonObject(), paginator: .target { $0["next"]?.string })
        let screen = VideosOnDemand(loader: loader) { change in
            if case .finished = change { note("finished") }
        }
        for count in [3, 6] {
            if count == 3 { screen.refresh(list) } else { screen.loadNextPage() }
            _ = await first(1, of: stream)
            #expect(screen.titles.count == count)
        }
    }

    @Test("finding SF-15 an activity reports when requests run")
    func activity() async throws {
        let (stream, note) = notes()
        let activity = NetworkActivity()
        activity.enable { isActive in note(isActive ? "active" : "idle") }
        RequestHandle(loader, Endpoint(url), activity: activity) { _ in }.resume()
        #expect(await first(3, of: stream).suffix(2) == ["active", "idle"])
    }
}
