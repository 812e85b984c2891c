import LadeCore

/// Limits the number of concurrent exchanges per host, in order of arrival.
///
/// The platform's limit per host does not apply to sessions that are made for a single request.
final class HostGate: Sendable {
    /// The permission for one exchange; returned when its last reference is released.
    final class Permit: Sendable {
        private let gate: HostGate
        private let host: String

        fileprivate init(_ gate: HostGate, _ host: String) {
            self.gate = gate
            self.host = host
        }

        deinit { gate.leave(host) }
    }

    private struct Room {
        var inside = 0
        /// The numbers of the waiters.
        var waiting: [UInt64] = []
    }

    private struct State {
        var rooms: [String: Room] = [:]
        /// The waiters whose tasks do not have their outcome yet.
        var waiters: [UInt64: Waiter<Bool>] = [:]
        var lastID: UInt64 = 0

        /// Enters a host, or waits for it under the returned number.
        mutating func enter(_ host: String, limit: Int) -> UInt64? {
            var room = rooms[host] ?? Room()
            defer { rooms[host] = room }
            guard room.inside >= limit else {
                room.inside += 1
                return nil
            }
            lastID += 1
            waiters[lastID] = Waiter()
            room.waiting.append(lastID)
            return lastID
        }

        mutating func wait(_ id: UInt64, _ resumption: Resumption<Bool>) -> Waiter<Bool>.Wake? {
            let wake = waiters[id]?.wait(resumption)
            if wake != nil { waiters[id] = nil }
            return wake
        }

        /// Removes a waiter that no longer wants a slot.
        mutating func cancel(_ id: UInt64, _ host: String) -> Waiter<Bool>.Wake? {
            guard let index = rooms[host]?.waiting.firstIndex(of: id) else { return nil }
            rooms[host]?.waiting.remove(at: index)
            return end(id, false)
        }

        /// Frees a slot.
        mutating func leave(_ host: String) -> Waiter<Bool>.Wake? {
            guard var room = rooms[host] else { return nil }
            // The slot passes directly to the next waiter: `inside` does not change.
            guard room.waiting.isEmpty else {
                let next = room.waiting.removeFirst()
                rooms[host] = room
                return end(next, true)
            }
            room.inside -= 1
            rooms[host] = room.inside > 0 ? room : nil
            return nil
        }

        private mutating func end(_ id: UInt64, _ isInside: Bool) -> Waiter<Bool>.Wake? {
            let wake = waiters[id]?.end(isInside)
            if wake != nil { waiters[id] = nil }
            return wake
        }
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Waits for a slot.
    ///
    /// - Throws: ``LoadingError/Kind/cancelled`` when the task is cancelled before a slot is free.
    func enter(_ host: String, context: LoadingError.Context) async throws(LoadingError) -> Permit {
        guard !Task.isCancelled else { throw LoadingError(.cancelled, context) }
        if let id = state.withLock({ [limit] in $0.enter(host, limit: limit) }) {
            let isInside = await Waiter.outcome { resumption in
                state.withLock { $0.wait(id, resumption) }
            } _: {
                state.withLock { $0.cancel(id, host) }?.resume()
            }
            guard isInside else { throw LoadingError(.cancelled, context) }
        }
        return Permit(self, host)
    }

    private func leave(_ host: String) {
        state.withLock { $0.leave(host) }?.resume()
    }
}
