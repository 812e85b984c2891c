import Lade

/// The observers of a Boolean value, and the changes that they have not received yet.
///
/// A change is recorded under the lock, together with its observers, and reported outside of it. Each observer receives
/// all changes after its registration, in order, for any number of threads that make changes.
struct ObserverTable {
    typealias Handler = @Sendable (Bool) -> Void

    private var handlers: [(id: UInt64, call: Handler)] = []
    private var lastID: UInt64 = 0
    private var pending: [(value: Bool, handlers: [Handler])] = []
    private var isReporting = false

    /// Adds an observer and returns its number.
    mutating func add(_ handler: @escaping Handler) -> UInt64 {
        lastID += 1
        handlers.append((lastID, handler))
        return lastID
    }

    /// Removes an observer; the result must be released outside the lock.
    mutating func remove(_ id: UInt64) -> Handler? {
        handlers.firstIndex { $0.id == id }.map { handlers.remove(at: $0).call }
    }

    /// Records a change for the present observers.
    mutating func note(_ value: Bool) {
        if !handlers.isEmpty { pending.append((value, handlers.map(\.call))) }
    }

    /// Whether the caller must report the recorded changes; false when another thread is reporting.
    mutating func beginTelling() -> Bool {
        guard !isReporting, !pending.isEmpty else { return false }
        isReporting = true
        return true
    }

    /// The next change to report; nil when there is none, which ends the reporting.
    mutating func next() -> (value: Bool, handlers: [Handler])? {
        guard !pending.isEmpty else {
            isReporting = false
            return nil
        }
        return pending.removeFirst()
    }
}

/// A locked state with an observed Boolean value.
protocol ObservedState {
    var isRunning: Bool { get }
    var observers: ObserverTable { get set }
}

extension Locked where State: ObservedState {
    /// Reports the recorded changes.
    ///
    /// If another thread, or a caller further up the stack, is reporting, that one continues.
    func notify() {
        guard withLock({ $0.observers.beginTelling() }) else { return }
        while let change = withLock({ $0.observers.next() }) {
            for handler in change.handlers { handler(change.value) }
        }
    }
}
