// Loads two things side by side, with one spinner and one message for both.
import LadeCallbacks

@MainActor
final class HomeScreen {
    private let loader: Loader
    private var queue: RequestQueue?
    private(set) var shows: [String: JSONValue] = [:]
    private(set) var news: [JSONValue] = []
    private(set) var isSpinning = false
    private(set) var message: String?

    init(loader: Loader) {
        self.loader = loader
    }

    func refresh(shows showsAddress: String, news newsAddress: String) throws {
        // The screen keeps the queue, so the queue must not keep the screen.
        let queue = RequestQueue { [weak self] change in
            switch change {
            case .started:
                self?.isSpinning = true
            case .finished(let error):
                self?.isSpinning = false
                self?.message = (error as? NetworkError)?.text()
            }
        }
        self.queue = queue

        queue.add(
            RequestHandle(loader, try Endpoint(showsAddress).jsonObject()) { [weak self] outcome in
                queue.report(outcome.error)
                self?.shows = outcome.value ?? [:]
            }
        )
        queue.add(
            RequestHandle(loader, try Endpoint(newsAddress).jsonArray()) { [weak self] outcome in
                queue.report(outcome.error)
                self?.news = outcome.value ?? []
            }
        )
    }

    func disappear() {
        queue?.cancel()
    }
}
