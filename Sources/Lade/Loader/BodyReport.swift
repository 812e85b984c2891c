/// Reports the end of a call's body once, after the end of the call.
///
/// A call that fails has no body, so the report is made only after ``arm()``. A report that is released before the body
/// has ended reports an abandoned body. The event follows the end of the call's last exchange; its duration ends with the body.
final class BodyReport: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var attempts = 0
        var isArmed = false
        var record: Call.Event.Body?
        var isMade = false
    }

    private let call: Call
    private let start: Instant
    private let state = Locked(State())

    /// Makes a report; nil when no observer would receive it.
    init?(_ call: Call, since start: Instant?) {
        guard let start else { return nil }
        self.call = call
        self.start = start
    }

    deinit {
        end(.abandoned)
    }

    func count(_ bytes: Int) {
        state.withLock { $0.bytes += Int64(bytes) }
    }

    /// Notes the number of an attempt that the call itself does not count.
    func note(attempt: Int) {
        state.withLock { $0.attempts = max($0.attempts, attempt) }
    }

    /// Notes that the call has ended with a response.
    func arm() {
        change { $0.isArmed = true }
    }

    /// Ends the body; only the first end counts.
    func end(_ ending: Call.Event.Body.Ending) {
        let duration = start.duration(to: call.time.now)
        change { state in
            guard state.record == nil else { return }
            let attempts = max(state.attempts, call.attemptsMade)
            state.record = Call.Event.Body(ending, bytes: state.bytes, duration: duration, attempts: attempts)
        }
    }

    /// Ends the body with an error.
    func end(_ error: LoadingError) {
        end(error.isCancellation ? .cancelled : .failed(error))
    }

    private func change(_ enter: (inout State) -> Void) {
        let due = state.withLock { state -> Call.Event.Body? in
            enter(&state)
            guard state.isArmed, !state.isMade, let record = state.record else { return nil }
            state.isMade = true
            return record
        }
        if let due { call.recordLast(.bodyFinished(due)) }
    }
}
