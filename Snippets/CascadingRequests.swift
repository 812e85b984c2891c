// Loads a show, then the episodes that it names; for the queue that is one piece of work.
import LadeCallbacks

struct Show: Decodable {
    var title: String
    var episodes: String
}

@MainActor
func loadEpisodes(
    ofShowAt address: String,
    by loader: Loader,
    in queue: RequestQueue,
    then display: @escaping @MainActor @Sendable (Show, [JSONValue]) -> Void
) throws {
    let show = RequestHandle(loader, try Endpoint(address).decoding(Show.self)) { outcome in
        guard let show = outcome.value, let episodes = try? Endpoint(show.episodes) else {
            queue.report(outcome.error)
            return
        }
        // Added before this completion returns, so that the queue stays running in between.
        queue.add(
            RequestHandle(loader, episodes.jsonArray()) { outcome in
                queue.report(outcome.error)
                if let list = outcome.value { display(show, list) }
            }
        )
    }
    queue.add(show)
}
