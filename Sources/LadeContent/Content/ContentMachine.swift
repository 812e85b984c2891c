/// The state machine of a ``ContentModel``: it receives events, and returns the next snapshot and the effects to carry
/// out.
///
/// A value without tasks and without time. Each event makes one change of the snapshot. Loads have numbers; events of a
/// load that was superseded or cancelled have no effect.
struct ContentMachine<Input: Sendable, Value: Sendable>: Sendable {
    /// An event of the model, its view or its load.
    enum Event: Sendable {
        /// A load was requested.
        case refresh(Input?, LoadReason?)
        /// The app's store had content, while the load was in progress or after it failed.
        case stored(load: Int, Value)
        /// A load with several values delivered one.
        case value(load: Int, Value, isEmpty: Bool)
        /// A load with one value ended with it.
        case finished(load: Int, Value, isEmpty: Bool)
        /// A load ended without a value, or after its last one.
        case completed(load: Int)
        /// A load failed.
        case failed(load: Int, any Error)
        /// The loads were cancelled.
        case cancel
    }

    /// The effects that the model carries out, in this order, after the snapshot has changed.
    enum Effect: Sendable {
        /// Cancel the task of a load.
        case cancel(load: Int)
        /// Start a load.
        case start(load: Int, Input?)
        /// Notify the subscribers of refreshes.
        case refreshed(Input?)
        /// Notify the subscribers of content.
        case changed(Value)
        /// Notify the subscribers of errors.
        case failed(any Error)
    }

    /// How a load is combined with those in progress.
    let strategy: LoadStrategy
    /// The current snapshot.
    private(set) var snapshot = ContentSnapshot<Value>(.unloaded)
    /// The snapshot to return to when the loads end without a result.
    private(set) var settled = ContentSnapshot<Value>(.unloaded)
    /// The loads in progress, oldest first.
    private(set) var running: [Int] = []
    /// The loads that start after those in progress, oldest first.
    private(set) var waiting: [(load: Int, input: Input?)] = []
    private(set) var lastLoad = 0
    /// The inputs of the loads in progress and of those that wait.
    private var inputs: [Int: Input?] = [:]
    /// The input of the load that failed last, for a retry; it belongs to the settled state when that is an error.
    private(set) var failedInput: Input??
    /// The load that failed last; the value of the app's store is still wanted for it.
    private var failedLoad: Int?

    init(strategy: LoadStrategy) {
        self.strategy = strategy
    }

    /// Handles an event.
    ///
    /// - Returns: The effects to carry out; nil for an event of a load that was superseded or cancelled, or when there
    ///   is nothing to cancel.
    mutating func handle(_ event: Event) -> [Effect]? {
        switch event {
        case .refresh(let input, let reason): refresh(input, reason)
        case .stored(let load, let value): stored(load, value)
        case .value(let load, let value, let isEmpty): take(value, isEmpty, from: load, isLast: false)
        case .finished(let load, let value, let isEmpty): take(value, isEmpty, from: load, isLast: true)
        case .completed(let load): end(load, [])
        case .failed(let load, let error): fail(load, error)
        case .cancel: cancel()
        }
    }

    private mutating func refresh(_ input: Input?, _ reason: LoadReason?) -> [Effect] {
        lastLoad += 1
        var effects: [Effect] = []
        if strategy == .latest {
            effects = running.map { .cancel(load: $0) }
            running = []
            inputs = [:]
        }
        inputs[lastLoad] = .some(input)
        if strategy == .concat, !running.isEmpty {
            waiting.append((lastLoad, input))
        } else {
            running.append(lastLoad)
            effects.append(.start(load: lastLoad, input))
        }
        snapshot.state = .loading
        snapshot.reason = reason ?? (settled.content == nil ? .first : .refresh)
        effects.append(.refreshed(input))
        return effects
    }

    private mutating func stored(_ load: Int, _ value: Value) -> [Effect]? {
        // The network was faster, or there is content that is newer than the store's.
        guard running.contains(load) || load == failedLoad, snapshot.content == nil else { return nil }
        // It stays when the load ends without a value, is cancelled, or is superseded by such a load: shown content does not
        // vanish.
        (snapshot.content, snapshot.isStale) = (value, true)
        (settled.content, settled.isStale) = (value, true)
        return [.changed(value)]
    }

    private mutating func take(_ value: Value, _ isEmpty: Bool, from load: Int, isLast: Bool) -> [Effect]? {
        guard running.contains(load) else { return nil }
        settled = ContentSnapshot(isEmpty ? .empty : .success(value), content: value)
        snapshot.content = value
        snapshot.isStale = false
        return isLast ? end(load, [.changed(value)]) : [.changed(value)]
    }

    private mutating func fail(_ load: Int, _ error: any Error) -> [Effect]? {
        guard running.contains(load) else { return nil }
        settled = snapshot
        settled.state = .error(error)
        settled.reason = nil
        failedInput = inputs[load]
        failedLoad = load
        return end(load, [.failed(error)])
    }

    /// Removes a load, and applies the outcome once none is in progress.
    private mutating func end(_ load: Int, _ outcome: [Effect]) -> [Effect]? {
        guard let position = running.firstIndex(of: load) else { return nil }
        running.remove(at: position)
        inputs[load] = nil
        var effects: [Effect] = []
        if running.isEmpty, !waiting.isEmpty {
            let next = waiting.removeFirst()
            running.append(next.load)
            effects.append(.start(load: next.load, next.input))
        }
        if running.isEmpty { snapshot = settled }
        return effects + outcome
    }

    private mutating func cancel() -> [Effect]? {
        guard !running.isEmpty else { return nil }
        defer {
            running = []
            waiting = []
            inputs = [:]
            snapshot = settled
        }
        return running.map { .cancel(load: $0) }
    }
}

/// How a refresh is combined with the loads that are in progress.
public enum LoadStrategy: Sendable, Hashable {
    /// The new load cancels the old one; the default.
    case latest
    /// Loads run side by side; each delivers.
    case merge
    /// Loads run one after the other, in the order of their refreshes.
    case concat
}
