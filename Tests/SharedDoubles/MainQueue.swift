import Dispatch
import LadeCore

private let mainQueueKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Whether the code runs on the main queue, which need not stay on the process's first thread.
package func isOnMainQueue() -> Bool {
    DispatchQueue.getSpecific(key: mainQueueKey) ?? false
}

/// Counts how often the main actor runs while other work blocks its own thread.
package final class MainTurns: Sendable {
    private let state = Locked((taken: 0, missed: 0))

    package var taken: Int { state.withLock(\.taken) }
    package var missed: Int { state.withLock(\.missed) }

    package init() {}

    /// Blocks the calling thread until the main actor has run other work; on the main actor itself that is impossible.
    package func takeOne() {
        guard !isOnMainQueue() else { return state.withLock { $0.missed += 1 } }
        let isOver = DispatchSemaphore(value: 0)
        Task { @MainActor [state] in
            state.withLock { $0.taken += 1 }
            isOver.signal()
        }
        isOver.wait()
    }
}
