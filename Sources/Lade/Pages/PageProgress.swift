public import LadeCore

/// How far the reading of pages has come (pages PA-14).
public struct PageProgress: Sendable, Hashable {
    /// How many pages were delivered.
    public var pages = 0
    /// How many items they had, where that is known.
    public var items = 0
    /// How many bytes their bodies had.
    public var bytes: Int64 = 0
    /// How many items there are on all pages, as the last answer says; nil when none says.
    public var total: Int?
    /// What is being waited for at the moment; nil for nothing but the server.
    public var waiting: WaitReason?

    /// Makes a progress of nothing yet.
    public init() {}
}

/// Follows the progress of pages, waits included: put it among the observers of the service and give it to the pages.
///
/// ```swift
/// let meter = PageMeter { progress in print(progress.pages, progress.waiting?.description ?? "") }
/// settings.observers.append(meter)
/// ```
public final class PageMeter: EventSink {
    private struct State {
        var progress = PageProgress()
        var waits: [WaitReason] = []
    }

    private let state = Locked(State())
    private let report: @Sendable (PageProgress) -> Void

    /// Makes a meter.
    ///
    /// - Parameter report: Called after every change, on whatever thread made it; it must not block.
    public init(_ report: @escaping @Sendable (PageProgress) -> Void = { _ in }) {
        self.report = report
    }

    /// How far it has come.
    public var progress: PageProgress { state.withLock { $0.progress } }

    /// Follows the waits of all calls.
    public func record(_ event: Event, of call: Call) {
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

    func begin(with progress: PageProgress) {
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
