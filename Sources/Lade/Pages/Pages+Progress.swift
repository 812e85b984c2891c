public import LadeCore

extension Pages {
    /// How many pages, items and bytes were read.
    public struct Progress: Sendable, Hashable {
        /// How many pages were delivered.
        public var pages = 0
        /// The number of their items, if known.
        public var items = 0
        /// The number of bytes in their bodies.
        public var bytes: Int64 = 0
        /// The number of items on all pages, according to the last response; nil if it does not say.
        public var total: Int?
        /// The current wait; nil when only the server is waited for.
        public var waiting: Call.WaitReason?

        /// Makes a progress without any pages.
        public init() {}
    }
}

extension Pages.Progress {
    /// Follows the progress of reading pages, including waits.
    ///
    /// Add it to the observers of the service and pass it to the pages.
    ///
    /// ```swift
    /// let meter = Pages.Progress.Meter { progress in print(progress.pages, progress.waiting?.description ?? "") }
    /// settings.observers.append(meter)
    /// ```
    public final class Meter: Call.Observer {
        private struct State {
            var progress = Pages.Progress()
            var waits: [Call.WaitReason] = []
        }

        private let state = Locked(State())
        private let report: @Sendable (Pages.Progress) -> Void

        /// Makes a meter.
        ///
        /// - Parameter report: Called after every change, on the thread that made the change; it must not block.
        public init(_ report: @escaping @Sendable (Pages.Progress) -> Void = { _ in }) {
            self.report = report
        }

        /// The progress so far.
        public var progress: Pages.Progress { state.withLock { $0.progress } }

        /// Follows the waits of all calls.
        public func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .waitStarted(let reason):
                change { state in
                    state.waits.append(reason)
                    state.progress.waiting = reason
                }
            case .waitEnded(let reason, _):
                change { state in
                    if let index = state.waits.lastIndex(of: reason) { state.waits.remove(at: index) }
                    state.progress.waiting = state.waits.last
                }
            default: break
            }
        }

        func add(items: Int, bytes: Int, total: Int?) {
            change { state in
                state.progress.pages += 1
                state.progress.items = state.progress.items.addingSaturated(items)
                state.progress.bytes += Int64(bytes)
                state.progress.total = total ?? state.progress.total
            }
        }

        /// Sets the progress of earlier runs.
        package func begin(with progress: Pages.Progress) {
            change { $0.progress = progress }
        }

        private func change(_ body: (inout State) -> Void) {
            report(
                state.withLock { state in
                    body(&state)
                    return state.progress
                }
            )
        }
    }
}
