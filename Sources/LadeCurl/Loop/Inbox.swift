import LadeCore
import Synchronization

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
    /// How many threads are about to write to the descriptor, which is not closed before they have.
    private let writers = Atomic(0)

    init(wakeUpDescriptor: Int32) {
        state = Locked(State(wakeUpDescriptor: wakeUpDescriptor))
    }

    /// Hands a message to the loop.
    ///
    /// Returns false when the loop takes none any more.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        let (isTaken, descriptor) = state.withLock { state -> (Bool, Int32?) in
            guard !state.isStopped else { return (false, nil) }
            state.messages.append(message)
            return (true, sleeper(&state))
        }
        if let descriptor { wake(descriptor) }
        return isTaken
    }

    /// Tells the loop to end everything; messages posted later are refused.
    func stop() {
        let descriptor = state.withLock { state in
            state.isStopped = true
            return sleeper(&state)
        }
        if let descriptor { wake(descriptor) }
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

    private func sleeper(_ state: inout State) -> Int32? {
        guard state.isAsleep, state.wakeUpDescriptor >= 0 else { return nil }
        writers.add(1, ordering: .acquiringAndReleasing)
        state.isAsleep = false
        return state.wakeUpDescriptor
    }

    // Not under the lock: the loop, once awake, would run into it and go back to sleep until it is free. Writing to an
    // eventfd does not block here.
    private func wake(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
        writers.subtract(1, ordering: .acquiringAndReleasing)
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

    /// Says that the loop woke by itself, so that nobody has to wake it.
    func wakeUp() {
        state.withLock { $0.isAsleep = false }
    }

    /// Says that the loop thread is about to go and closes its door.
    ///
    /// Returns what was posted too late to be handled.
    func close() -> [LoopMessage] {
        let late = state.withLock { state in
            state.isStopped = true
            state.wakeUpDescriptor = -1
            defer { state.messages = [] }
            return state.messages
        }
        // Whoever took the descriptor before writes its eight bytes before the number can go to a stranger.
        while writers.load(ordering: .acquiring) > 0 { sched_yield() }
        return late
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
