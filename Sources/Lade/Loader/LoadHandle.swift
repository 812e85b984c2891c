/// A call that will call back: what it is, and the means to cancel it.
///
/// Letting go of it changes nothing: the call belongs to its loader. Source: `service-loader.md` §13.
public final class LoadHandle: Work {
    private struct State {
        var isCancelled = false
        var isEnded = false
        var task: Task<Void, Never>?
        var seat: WorkGroup.Seat?
    }

    private let state = Locked(State())
    /// The identity of the call; no other has it, also when the same request is asked twice.
    public let id: Call.ID
    /// What was asked for.
    public let request: Request

    init(id: Call.ID, request: Request) {
        self.id = id
        self.request = request
    }

    var asked: Request? { request }

    /// Whether it was cancelled before its end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether its ending has not been told yet.
    public var isRunning: Bool { state.withLock { !$0.isEnded } }

    /// Ends the call: bytes stop, and the only thing still told is that it was cancelled.
    ///
    /// Does nothing after its end or when repeated.
    public func cancel() {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard !state.isEnded, !state.isCancelled else { return nil }
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Takes the task that makes the call; it owns it until its end.
    func attach(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            if !state.isEnded { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Its place in the group of its loader; nil when it got none.
    var seat: WorkGroup.Seat? {
        get { state.withLock { $0.seat } }
        set { state.withLock { $0.seat = newValue } }
    }

    /// Takes the one ending of the call.
    ///
    /// - Returns: What is to be told; nil when an ending was told before.
    func settle<Output>(_ result: Result<Output, LoadingError>) -> Result<Output, LoadingError>? {
        state.withLock { state in
            guard !state.isEnded else { return nil }
            state.isEnded = true
            state.task = nil
            return state.isCancelled ? .failure(.cancelled(ErrorContext(request))) : result
        }
    }

    /// Whether events before the ending may still be told.
    var isExpected: Bool { state.withLock { !$0.isEnded && !$0.isCancelled } }
}
