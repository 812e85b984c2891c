/// The state machine of a ``ContentModel``: an event goes in, the next snapshot and what is to be done come out.
///
/// A value without tasks and without time. Each event makes one change of the snapshot. Loads have numbers, and an event of
/// a load that was superseded or cancelled changes nothing.
struct ContentMachine<Input: Sendable, Value: Sendable>: Sendable {
    /// What happened.
    enum Event: Sendable {
        /// A load is wanted.
        case refresh(Input?, LoadReason?)
        /// A store of the app had content while the load runs.
        case stored(load: Int, Value)
        /// A load that may give several values gave one.
        case value(load: Int, Value, isEmpty: Bool)
        /// A load ended with a value.
        case finished(load: Int, Value, isEmpty: Bool)
        /// A load ended without one, or after those that it gave.
        case completed(load: Int)
        /// A load failed.
        case failed(load: Int, any Error)
        /// The loads are no longer wanted.
        case cancel
    }

    /// What the model does, in this order, after the snapshot has changed.
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

    /// How a load is combined with those that run already.
    let strategy: LoadStrategy
    /// What is shown.
    private(set) var snapshot = ContentSnapshot<Value>(.unloaded)
    /// What is shown again when the loads end without a result.
    private var settled = ContentSnapshot<Value>(.unloaded)
    private var running: [Int] = []
    private var waiting: [(load: Int, input: Input?)] = []
    private var lastLoad = 0
    /// The input of the last refresh, for a retry.
    private(set) var lastInput: Input??

    init(strategy: LoadStrategy) {
        self.strategy = strategy
    }

    /// Takes an event in.
    ///
    /// - Returns: What is to be done; nil for an event of a load that was superseded or cancelled, or when there is
    ///   nothing to cancel.
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
        lastInput = .some(input)
        var effects: [Effect] = []
        if strategy == .latest {
            effects = running.map { .cancel(load: $0) }
            running = []
        }
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
        // The network was faster, or there is something newer than the store has.
        guard running.contains(load), snapshot.content == nil else { return nil }
        snapshot.content = value
        snapshot.isStale = true
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
        return end(load, [.failed(error)])
    }

    /// Takes a load out, and shows the outcome once none runs.
    private mutating func end(_ load: Int, _ outcome: [Effect]) -> [Effect]? {
        guard let position = running.firstIndex(of: load) else { return nil }
        running.remove(at: position)
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
