import LadeCore

/// Who is told of the changes of one truth value, and what they have not been told yet.
///
/// A change is noted under the lock, together with who is to be told of it, and told outside of it: each observer learns of
/// all changes after it came, in order, however many threads make them.
struct ObserverTable {
    typealias Handler = @Sendable (Bool) -> Void

    private var handlers: [(id: UInt64, call: Handler)] = []
    private var lastID: UInt64 = 0
    private var untold: [(value: Bool, handlers: [Handler])] = []
    private var isTelling = false

    /// Takes an observer in and gives its number.
    mutating func add(_ handler: @escaping Handler) -> UInt64 {
        lastID += 1
        handlers.append((lastID, handler))
        return lastID
    }

    /// Takes an observer out, to be let go of outside the lock.
    mutating func remove(_ id: UInt64) -> Handler? {
        handlers.firstIndex { $0.id == id }.map { handlers.remove(at: $0).call }
    }

    /// Notes a change that those present are to be told of.
    mutating func note(_ value: Bool) {
        if !handlers.isEmpty { untold.append((value, handlers.map(\.call))) }
    }

    /// Whether the caller is to tell what is noted; false when somebody is at it.
    mutating func beginTelling() -> Bool {
        guard !isTelling, !untold.isEmpty else { return false }
        isTelling = true
        return true
    }

    /// The next change to tell; nil when there is none, and then the telling is over.
    mutating func next() -> (value: Bool, handlers: [Handler])? {
        guard !untold.isEmpty else {
            isTelling = false
            return nil
        }
        return untold.removeFirst()
    }
}

/// A locked state with a truth value that is observed.
protocol ObservedState {
    var isRunning: Bool { get }
    var observers: ObserverTable { get set }
}

extension Locked where State: ObservedState {
    /// Tells what is noted, unless another thread, or the caller's caller, is telling: then that one goes on with it.
    func tell() {
        guard withLock({ $0.observers.beginTelling() }) else { return }
        while let change = withLock({ $0.observers.next() }) {
            for handler in change.handlers { handler(change.value) }
        }
    }
}
