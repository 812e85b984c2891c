import LadeCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A message from another thread to the loop thread.
package enum LoopMessage: Sendable {
    /// Start an exchange.
    case submit(Exchange)
    /// End an exchange.
    case cancel(Exchange)
    /// Continue a paused direction.
    case resume(Exchange, Direction)
    /// Take the outcome of a name look-up for an asker with this number; libcurl looks names up itself.
    case resolved(Int)
    /// Take the result that was computed for the connection with this number.
    case computed(Int)
    /// Run a job of a task whose executor is the loop.
    case run(UnownedJob)

    package enum Direction: Sendable {
        case upload
        case download
    }
}

/// The messages to the loop thread: a locked list, with one wake-up per batch.
package final class Inbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var isAsleep = false
        var isStopped = false
        var wakeUpDescriptor: Int32
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }

    private let state: Locked<State>
    /// The number of threads that are about to write to the descriptor; it is closed only when there are none.
    private let writers = Atomic(0)

    package init(wakeUpDescriptor: Int32) {
        state = Locked(State(wakeUpDescriptor: wakeUpDescriptor))
    }

    /// Posts a message to the loop.
    ///
    /// Returns false when the loop accepts no more messages.
    @discardableResult
    package func post(_ message: LoopMessage) -> Bool {
        let (isTaken, descriptor) = state.withLock { state -> (Bool, Int32?) in
            guard !state.isStopped else { return (false, nil) }
            state.messages.append(message)
            return (true, sleeper(&state))
        }
        if let descriptor { wake(descriptor) }
        return isTaken
    }

    /// Makes the loop end everything; messages that are posted later are refused.
    package func stop() {
        let descriptor = state.withLock { state in
            state.isStopped = true
            return sleeper(&state)
        }
        if let descriptor { wake(descriptor) }
    }

    /// Waits until the loop thread has ended.
    package func ended() async {
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

    // Not under the lock: the loop would wake up and immediately wait for the lock. Writing to an eventfd does not
    // block here.
    private func wake(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
        writers.subtract(1, ordering: .acquiringAndReleasing)
    }

    // MARK: - The loop's side

    /// Moves all posted messages into `messages`.
    ///
    /// Returns whether the loop must stop.
    package func drain(into messages: inout [LoopMessage]) -> Bool {
        state.withLock { state in
            state.isAsleep = false
            swap(&state.messages, &messages)
            return state.isStopped
        }
    }

    /// Records that the loop is about to sleep.
    ///
    /// Returns false when there are messages to handle first.
    package func fallAsleep() -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty, !state.isStopped else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// Records that the loop is awake, so that a post need not wake it.
    package func wakeUp() {
        state.withLock { $0.isAsleep = false }
    }

    /// Records that the loop thread is about to end, and closes the inbox.
    ///
    /// Returns the messages that were posted too late to be handled.
    package func close() -> [LoopMessage] {
        let late = state.withLock { state in
            state.isStopped = true
            state.wakeUpDescriptor = -1
            defer { state.messages = [] }
            return state.messages
        }
        // A thread that has read the descriptor must finish its write before the descriptor's number can be reused.
        while writers.load(ordering: .acquiring) > 0 { sched_yield() }
        return late
    }

    /// Resumes the tasks that wait for the end; the last action of the loop thread.
    package func announceEnd() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
