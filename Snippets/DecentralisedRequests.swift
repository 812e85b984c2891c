// A list hands its queue to its rows, which load their own images: one spinner, one way to stop it all.
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks

@MainActor
final class Row {
    private(set) var picture: Data?
    private weak var request: RequestHandle<Data>?

    func appear(_ address: String, by loader: Loader, in queue: RequestQueue) throws {
        let request = RequestHandle(loader, try Endpoint(address)) { [weak self] outcome in
            self?.picture = outcome.value
        }
        queue.add(request)
        // It keeps itself while it runs; a weak reference is enough to cancel it.
        self.request = request
    }

    func disappear() {
        request?.cancel()
    }
}

@MainActor
final class List {
    private let queue = RequestQueue()
    private let loader: Loader
    private var rows: [Row] = []

    init(loader: Loader) {
        self.loader = loader
    }

    var isLoading: Bool { queue.isRunning }

    func show(_ pictures: [String]) throws {
        for address in pictures {
            let row = Row()
            try row.appear(address, by: loader, in: queue)
            rows.append(row)
        }
    }

    func disappear() {
        queue.cancel()
    }
}
