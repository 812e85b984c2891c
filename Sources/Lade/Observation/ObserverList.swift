import Synchronization

/// The observers of a service's calls, by number; the list can change while the service runs.
final class ObserverList: Sendable {
    private struct State {
        var lastID: UInt64 = 0
        var entries: [(id: UInt64, sink: any Call.Observer)] = []
    }

    private let state: Locked<State>
    // Changed under the lock, and read without it, because every call reads it.
    private let changes = Atomic<UInt64>(1)

    init(_ sinks: [any Call.Observer]) {
        state = Locked(State(entries: sinks.map { (0, $0) }))
    }

    /// A number that changes whenever the list changes; never zero.
    var version: UInt64 { changes.load(ordering: .acquiring) }

    /// The current observers, and a number that changes whenever they change.
    var current: (version: UInt64, sinks: [any Call.Observer]) {
        state.withLock { state in (version, state.entries.map(\.sink)) }
    }

    func add(_ sink: any Call.Observer) -> Service.Observation {
        let id = state.withLock { state in
            changes.add(1, ordering: .acquiringAndReleasing)
            state.lastID += 1
            state.entries.append((state.lastID, sink))
            return state.lastID
        }
        return Service.Observation(list: self, id: id)
    }

    fileprivate func remove(_ id: UInt64) {
        let removed = state.withLock { state -> (any Call.Observer)? in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return nil }
            changes.add(1, ordering: .acquiringAndReleasing)
            return state.entries.remove(at: index).sink
        }
        _ = removed
    }
}

extension Service {
    /// Keeps an observer with a service until ``end()`` is called or the observation is released.
    ///
    /// Calls in flight still report to the observer.
    public final class Observation: Sendable {
        private let list: ObserverList
        private let id: UInt64

        fileprivate init(list: ObserverList, id: UInt64) {
            self.list = list
            self.id = id
        }

        deinit {
            list.remove(id)
        }

        /// Removes the observer: it is not notified of later calls.
        ///
        /// A second call has no effect.
        public func end() {
            list.remove(id)
        }
    }
}
