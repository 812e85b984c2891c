import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What other threads ask of the loop thread.
enum LoopMessage: Sendable {
    /// Start an exchange.
    case submit(Transfer)
    /// End an exchange.
    case cancel(Transfer)
    /// Go on with a paused direction.
    case resume(Transfer, Direction)
    /// Run a job of a task whose executor is the loop.
    case run(UnownedJob)

    enum Direction: Sendable {
        case upload
        case download
    }
}

/// The door to the loop thread: a locked list, and one wake-up per batch.
final class Inbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var isAsleep = false
        var isStopped = false
        var wakeUpDescriptor: Int32
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }

    private let state: Locked<State>

    init(wakeUpDescriptor: Int32) {
        state = Locked(State(wakeUpDescriptor: wakeUpDescriptor))
    }

    /// Hands a message to the loop.
    ///
    /// Returns false when the loop takes none any more.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        state.withLock { state in
            guard !state.isStopped else { return false }
            state.messages.append(message)
            wakeIfAsleep(&state)
            return true
        }
    }

    /// Tells the loop to end everything; messages posted later are refused.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            wakeIfAsleep(&state)
        }
    }

    /// Waits until the loop thread is gone.
    func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state -> Bool in
                if !state.hasEnded { state.endWaiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // The descriptor is written under the lock: `close` takes it away under the same lock before it is closed, so the
    // eight bytes never go to a stranger who got the number next. Writing to an eventfd or a pipe does not block here.
    private func wakeIfAsleep(_ state: inout State) {
        guard state.isAsleep, state.wakeUpDescriptor >= 0 else { return }
        state.isAsleep = false
        var one: UInt64 = 1
        _ = write(state.wakeUpDescriptor, &one, 8)
    }

    // MARK: - The loop's side

    /// Takes everything that was posted into `messages`.
    ///
    /// Returns whether the loop is to stop.
    func drain(into messages: inout [LoopMessage]) -> Bool {
        state.withLock { state in
            state.isAsleep = false
            swap(&state.messages, &messages)
            return state.isStopped
        }
    }

    /// Says that the loop is about to sleep.
    ///
    /// Returns false when there is something to do first.
    func fallAsleep() -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty, !state.isStopped else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// Says that the loop thread is about to go and closes its door.
    ///
    /// Returns what was posted too late to be handled.
    func close() -> [LoopMessage] {
        state.withLock { state in
            state.isStopped = true
            state.wakeUpDescriptor = -1
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Wakes whoever waits for the end; the last act of the loop thread.
    func announceEnd() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
