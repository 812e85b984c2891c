extension Loader {
    /// A call whose ending is reported to a closure or a delegate: its request, and a method to cancel it.
    ///
    /// Releasing the handle does not cancel the call, which belongs to its loader.
    public final class Handle: Work {
        private struct State {
            var isCancelled = false
            var isEnded = false
            var task: Task<Void, Never>?
            var slot: WorkGroup.Slot?
        }

        private let state = Locked(State())
        /// The identity of the call, which is unique even when the same request is sent twice.
        public let id: Call.ID
        /// The request of the call.
        public let request: Request

        /// Counts the attempts of the call, which has no scope: cancelling its task cancels it.
        let counter: Call.Scope

        init(id: Call.ID, request: Request, accepting statuses: Response.StatusSet) {
            self.id = id
            self.request = request
            counter = Call.Scope(request, accepting: statuses)
        }

        var asked: Request? { request }

        /// How many attempts the call has made.
        package var attempts: Int { counter.attempts }

        /// Whether the call was cancelled before its end.
        public var isCancelled: Bool { state.withLock { $0.isCancelled } }

        /// Whether the ending has not been reported yet.
        public var isRunning: Bool { state.withLock { !$0.isEnded } }

        /// Cancels the call: the transfer ends, and the only further report is the cancellation.
        ///
        /// Has no effect after the end, or when called again.
        public func cancel() {
            let task = state.withLock { state -> Task<Void, Never>? in
                guard !state.isEnded, !state.isCancelled else { return nil }
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }

        /// Stores the task that makes the call; the handle owns it until the end of the call.
        func attach(_ task: Task<Void, Never>) {
            let isCancelled = state.withLock { state in
                if !state.isEnded { state.task = task }
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
        }

        /// The slot in the group of its loader; nil when the group was closed.
        var slot: WorkGroup.Slot? {
            get { state.withLock { $0.slot } }
            set { state.withLock { $0.slot = newValue } }
        }

        /// Records the only ending of the call.
        ///
        /// - Returns: The ending to report; nil when an ending was recorded before.
        func settle<Output>(_ result: Result<Output, LoadingError>) -> Result<Output, LoadingError>? {
            state.withLock { state in
                guard !state.isEnded else { return nil }
                state.isEnded = true
                state.task = nil
                guard state.isCancelled else { return result }
                if case .failure(let error) = result, error.isCancellation { return result }
                return .failure(LoadingError(.cancelled, LoadingError.Context(request)).counted(attempts))
            }
        }

        /// Whether events before the ending may still be reported.
        package var isExpected: Bool { state.withLock { !$0.isEnded && !$0.isCancelled } }
    }
}
