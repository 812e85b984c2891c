import Lade
public import Observation

/// A group of requests with a common state: it runs while any of them runs, collects their errors, and cancels them
/// together.
///
/// ```swift
/// let queue = RequestQueue { change in
///     switch change {
///     case .started: showSpinner()
///     case .finished(let error): hideSpinner(error)
///     }
/// }
/// queue.add(RequestHandle(loader, shows) { outcome in queue.report(outcome.error) })
/// ```
///
/// It neither orders nor limits its requests; the loader's service does that. Requests may be added at any time, from
/// any thread, and from the completion of another request. Pass the queue to parts of the program that add their own
/// requests.
///
/// The queue does not keep itself alive. When it is released, its requests are cancelled and it reports nothing more. A
/// request that was added and not started is kept alive by the queue until it is started or the queue is cancelled. A running
/// request keeps itself alive. A request that has ended stays in the queue as long as something else refers to it. So a
/// completion may capture the queue, once its request is started.
public final class RequestQueue: Sendable, Observable {
    /// A change of the queue as a whole.
    public enum Change: Sendable {
        /// The first of its requests started.
        case started
        /// The last of its requests ended; with the error that was reported during the run, or
        /// ``NetworkError/multiple(_:)`` for several.
        case finished((any Error)?)
    }

    /// How a queue handles errors.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int

        /// Makes options from bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// An error that is reported while the queue runs cancels all its requests.
        public static let cancelsOnError = Options(rawValue: 1)
    }

    private struct Member {
        weak var request: (any GroupedRequest)?
        /// Keeps a request alive that was not started yet.
        var kept: (any GroupedRequest)?
        var observation: RunningObservation?
        /// Nil until known.
        var isRunning: Bool?
        let number: Int
    }

    private struct State: ObservedState {
        var isRunning = false
        var observers = ObserverTable()
        var members: [ObjectIdentifier: Member] = [:]
        var lastNumber = 0
        var runningCount = 0
        var purgeCount = 32
        var errors: [any Error] = []
        /// Changes that were not reported yet.
        var pendingChanges: [Change] = []

        /// Records whether a member runs.
        ///
        /// - Returns: Whether the queue's own state has changed.
        mutating func set(_ isRunning: Bool, for id: ObjectIdentifier) -> Bool {
            let wasRunning = members[id]?.isRunning ?? false
            members[id]?.isRunning = isRunning
            if isRunning != wasRunning { runningCount += isRunning ? 1 : -1 }
            return settle()
        }

        /// Removes the members that were deallocated; the result must be released outside the lock.
        mutating func removeGone(_ ids: [ObjectIdentifier]) -> [Member] {
            ids.compactMap { id in
                guard let member = members[id], member.request == nil else { return nil }
                members[id] = nil
                if member.isRunning == true { runningCount -= 1 }
                return member
            }
        }

        mutating func settle() -> Bool {
            guard isRunning != (runningCount > 0) else { return false }
            isRunning = runningCount > 0
            if isRunning {
                errors = []
                pendingChanges.append(.started)
            } else {
                pendingChanges.append(.finished(Self.joined(errors)))
            }
            observers.note(isRunning)
            return true
        }

        private static func joined(_ errors: [any Error]) -> (any Error)? {
            errors.count > 1 ? NetworkError.multiple(errors) : errors.first
        }
    }

    /// How it handles errors; by default they are only collected.
    public let options: Options

    private let onChange: (@MainActor @Sendable (Change) -> Void)?
    private let state = Locked(State())
    private let registrar = ObservationRegistrar()

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - options: How it handles errors.
    ///   - onChange: Called on the main actor whenever the queue starts or stops running, in order. When the change is
    ///     made on the main actor, it is called immediately.
    public init(options: Options = [], onChange: (@MainActor @Sendable (Change) -> Void)? = nil) {
        self.options = options
        self.onChange = onChange
    }

    deinit {
        for request in requests { request.cancel() }
    }

    /// Whether any of its requests is running.
    public var isRunning: Bool {
        registrar.access(self, keyPath: \.isRunning)
        return state.withLock { $0.isRunning }
    }

    /// A queue with the same closure, the given options, and no requests.
    public func with(options: Options) -> RequestQueue {
        RequestQueue(options: options, onChange: onChange)
    }

    /// Adds a request, and starts it by default.
    ///
    /// Has no effect for a request that the queue contains already.
    ///
    /// - Parameters:
    ///   - request: The request, which may be running already. It can belong to one queue only.
    ///   - resume: Whether to start it; ``isRunning`` is then true when this returns.
    public func add(_ request: any GroupedRequest, resume: Bool = true) {
        let id = ObjectIdentifier(request)
        let (isNew, gone) = state.withLock { state -> (Bool, [Member]) in
            var gone = state.removeGone([id])
            // From time to time all members are visited, so that a long-lived queue does not collect records of ended
            // requests.
            if state.members.count >= state.purgeCount {
                gone += state.removeGone(Array(state.members.keys))
                state.purgeCount = max(32, 2 * state.members.count)
            }
            guard state.members[id] == nil else { return (false, gone) }
            state.lastNumber += 1
            state.members[id] = Member(request: request, kept: request, number: state.lastNumber)
            return (true, gone)
        }
        withExtendedLifetime(gone) {}
        guard isNew else { return }
        let observation = request.observeRunning { [weak self] isRunning in
            self?.take(isRunning, of: id)
        }
        state.withLock { $0.members[id]?.observation = observation }
        take(observation.wasRunning, of: id, isInitial: true)
        if resume { request.resume() }
    }

    /// Starts all its requests, including those that have ended or were cancelled.
    public func resume() {
        for request in requests { request.resume() }
    }

    /// Cancels all its requests, and releases those that were never started.
    public func cancel() {
        for request in requests { request.cancel() }
        let kept = state.withLock { state in
            state.members.keys.compactMap { id in
                defer { state.members[id]?.kept = nil }
                return state.members[id]?.kept
            }
        }
        withExtendedLifetime(kept) {}
    }

    /// Adds an error to those reported when the queue ends.
    ///
    /// Nil, and any error while it does not run, is ignored.
    public func report(_ error: (any Error)?) {
        guard let error else { return }
        let isTaken = state.withLock { state in
            if state.isRunning { state.errors.append(error) }
            return state.isRunning
        }
        if isTaken, options.contains(.cancelsOnError) { cancel() }
    }

    /// Reports every change of ``isRunning``, in order.
    ///
    /// - Parameter handler: Called synchronously on the thread that makes the change.
    /// - Returns: The observation; it ends when released, so keep it.
    public func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation {
        let (id, wasRunning) = state.withLock { ($0.observers.add(handler), $0.isRunning) }
        return RunningObservation(wasRunning: wasRunning) { [weak self] in
            _ = self?.state.withLock { $0.observers.remove(id) }
        }
    }

    /// Its requests, in the order in which they were added.
    private var requests: [any GroupedRequest] {
        state.withLock { state in
            state.members.values.sorted { $0.number < $1.number }.compactMap(\.request)
        }
    }

    private func take(_ isRunning: Bool, of id: ObjectIdentifier, isInitial: Bool = false) {
        let (hasChanged, kept) = state.withLock { state -> (Bool, (any GroupedRequest)?) in
            // A change that was reported meanwhile is newer than the initial state.
            if isInitial, state.members[id]?.isRunning != nil { return (false, nil) }
            var kept: (any GroupedRequest)?
            if isRunning {
                // A running request keeps itself alive.
                kept = state.members[id]?.kept
                state.members[id]?.kept = nil
            }
            return (state.set(isRunning, for: id), kept)
        }
        withExtendedLifetime(kept) {}
        guard hasChanged else { return }
        registrar.withMutation(of: self, keyPath: \.isRunning) {}
        state.notify()
        MainDelivery.run { [weak self] in self?.tellChanges() }
    }

    @MainActor
    private func tellChanges() {
        while let change = state.withLock({ $0.pendingChanges.isEmpty ? nil : $0.pendingChanges.removeFirst() }) {
            onChange?(change)
        }
    }
}

extension RequestQueue: CustomStringConvertible {
    /// The type, whether it is running, and its requests.
    public var description: String {
        let members = requests.map(\.description).joined(separator: "; ")
        return "RequestQueue \(ObjectIdentifier(self).shortText): \(isRunning ? "running" : "not running")"
            + (members.isEmpty ? "" : ", " + members)
    }
}
