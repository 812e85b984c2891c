// Loads a list page by page, each when the user has scrolled to the end of the one before.
import LadeCallbacks

struct Episode: Decodable {
    var title: String
}

struct EpisodePage: Decodable {
    var episodes: [Episode]
    var next: String?
}

@MainActor
final class EpisodeList {
    private let queue: RequestQueue
    private var first: FirstPageHandle<EpisodePage>?
    private var nextPage: PageRequest?
    private(set) var episodes: [Episode] = []

    init(onChange: @escaping @MainActor @Sendable (RequestQueue.Change) -> Void) {
        queue = RequestQueue(onChange: onChange)
    }

    func refresh(_ address: String, by loader: Loader) throws {
        queue.cancel()
        nextPage = nil
        episodes = []
        let list = PagedEndpoint(
            try Endpoint(address).decoding(EpisodePage.self),
            sizer: .query("pageSize"),
            paginator: .target(\.next)
        )
        let first = FirstPageHandle(loader, list) { [weak self, queue] outcome in
            queue.report(outcome.error)
            self?.episodes += outcome.value?.episodes ?? []
            self?.nextPage = outcome.next
        }.with(pageSize: 20)
        queue.add(first)
        self.first = first
    }

    func loadNextPage() {
        guard let first, let page = nextPage else { return }
        nextPage = nil
        queue.add(first.handle(for: page))
    }
}
