/// What ends a call from outside of the task it runs in.
///
/// Whoever makes a call for others may give it up without cancelling their task: a loader that goes away, an account that
/// signs out. A call that has a scope is ended by either, its task's cancellation or its scope's, and takes it for the
/// same. Links and transports that look at the call (``Interceptor/observesScope``, ``Transport/observesScope``) notice
/// it by themselves; for all others ``Call/inTask(_:)`` makes a task of its own, which is cancelled.
public final class CallScope: Sendable {
    /// A handler's number, for ``remove(_:)``.
    public struct Registration: Sendable, Hashable {
        fileprivate let number: UInt64
    }

    // In a structure, so that it is handed out of the lock as it is: a bare closure would be wrapped in another.
    private struct Handler {
        let number: UInt64
        let run: @Sendable () -> Void
    }

    private struct State {
        var isCancelled = false
        var isOver = false
        var lastNumber: UInt64 = 0
        // A call does one thing at a time; only links that race several exchanges need more than the first place.
        var first: Handler?
        var others: [UInt64: Handler] = [:]

        /// Forgets all handlers, and returns them in the order they came.
        mutating func takeHandlers() -> [Handler] {
            defer { (first, others) = (nil, [:]) }
            return (Array(others.values) + (first.map { [$0] } ?? [])).sorted { $0.number < $1.number }
        }
    }

    // Guarded by its lock; handlers run outside it.
    private let state = Locked(State())
    /// What the call asks for.
    package let request: Request?

    /// Makes the scope of a call.
    ///
    /// - Parameter request: What it asks for; nil when that does not matter.
    public init(_ request: Request? = nil) {
        self.request = request
    }

    /// Whether the call was given up.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Gives the call up: every handler runs once, in the calling thread.
    ///
    /// Harmless after the call's end, and more than once.
    public func cancel() {
        let handlers = state.withLock { state -> [Handler] in
            guard !state.isCancelled, !state.isOver else { return [] }
            state.isCancelled = true
            return state.takeHandlers()
        }
        for handler in handlers { handler.run() }
    }

    /// Says that the call has ended.
    ///
    /// - Returns: Whether its result counts; false when it was given up before.
    public func end() -> Bool {
        state.withLock { state in
            state.isOver = true
            return !state.isCancelled
        }
    }

    /// Has something done when the call is given up.
    ///
    /// The handler may still be running when ``remove(_:)`` returns; it must be harmless then.
    ///
    /// - Returns: What takes the handler back; nil when the call was given up already, and the handler is not called.
    public func add(_ handler: @escaping @Sendable () -> Void) -> Registration? {
        state.withLock { state in
            guard !state.isCancelled else { return nil }
            state.lastNumber += 1
            let added = Handler(number: state.lastNumber, run: handler)
            if state.first == nil {
                state.first = added
            } else {
                state.others[added.number] = added
            }
            return Registration(number: state.lastNumber)
        }
    }

    /// Takes a handler back.
    public func remove(_ registration: Registration) {
        // Let go outside the lock: what a handler holds may take other locks when it goes.
        _ = state.withLock { state -> Handler? in
            guard state.first?.number == registration.number else {
                return state.others.removeValue(forKey: registration.number)
            }
            return state.first.take()
        }
    }
}

extension Call {
    /// Whether the call is to end: its task was cancelled, or it was given up from outside.
    public var isCancelled: Bool { Task.isCancelled || scope?.isCancelled ?? false }

    /// Runs an operation with a handler for the cancellation of the task or of the call's scope.
    ///
    /// As the standard library's function of that name, but the handler may run twice, and it may run after the operation
    /// has ended.
    public func withCancellationHandler<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async -> Value,
        onCancel: @escaping @Sendable () -> Void
    ) async -> Value {
        guard let scope else {
            return await withTaskCancellationHandler(operation: operation, onCancel: onCancel, isolation: isolation)
        }
        let registration = scope.add(onCancel)
        defer { if let registration { scope.remove(registration) } }
        if registration == nil { onCancel() }
        return await withTaskCancellationHandler(operation: operation, onCancel: onCancel, isolation: isolation)
    }

    /// Runs what looks at its task alone, so that it ends with the call's scope too.
    ///
    /// Without a scope it runs right here; with one in a child task, which is cancelled when the call is given up.
    ///
    /// - Parameter operation: What to run, given the call to go on with.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws.
    public func inTask<Value: Sendable>(
        _ operation: @escaping @Sendable (Call) async throws(LoadingError) -> Value
    ) async throws(LoadingError) -> Value {
        guard let scope else { return try await operation(self) }
        var inner = self
        inner.scope = nil
        let watch = ScopeWatch()
        let registration = scope.add { watch.resume(isCancelled: true) }
        defer { if let registration { scope.remove(registration) } }
        let result = await withTaskGroup(of: Result<Value, LoadingError>.self) { [inner] tasks in
            // Given up before it began: the child must not come to its end before it hears of that.
            if registration == nil { tasks.cancelAll() }
            tasks.addImmediately {
                defer { watch.resume(isCancelled: false) }
                do throws(LoadingError) {
                    return .success(try await operation(inner))
                } catch {
                    return .failure(error)
                }
            }
            if await watch.isCancelled() { tasks.cancelAll() }
            return await tasks.next() ?? .failure(.cancelled(ErrorContext()))
        }
        return try result.get()
    }
}

extension TaskGroup {
    /// Adds a task that starts on the spot where the system can, so that it needs no turn of the executor to begin.
    fileprivate mutating func addImmediately(
        _ operation: sending @escaping @isolated(any) () async -> ChildTaskResult
    ) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            addImmediateTask(operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}

/// Waits for whichever comes first: the end of a task, or the word to cancel it.
private final class ScopeWatch: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Bool, Never>)
        case over(isCancelled: Bool)
    }

    private let state = Locked(State.open)

    func isCancelled() async -> Bool {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Bool? in
                if case .over(let isCancelled) = state { return isCancelled }
                state = .awaited(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    func resume(isCancelled: Bool) {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            switch state {
            case .over: return nil
            case .open:
                state = .over(isCancelled: isCancelled)
                return nil
            case .awaited(let continuation):
                state = .over(isCancelled: isCancelled)
                return continuation
            }
        }
        waiter?.resume(returning: isCancelled)
    }
}
