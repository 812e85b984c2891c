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

    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Room {
        var inside = 0
        var waiting: [Waiter] = []
    }

    private struct State {
        var rooms: [String: Room] = [:]
        var lastID: UInt64 = 0
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Waits for a slot.
    ///
    /// - Throws: ``LoadingError/Kind/cancelled`` when the task is cancelled before a slot is free.
    func enter(_ host: String, context: ErrorContext) async throws(LoadingError) -> Permit {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let isInside = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Bool? = state.withLock { state in
                    // A task is marked as cancelled before its handlers run. A handler that ran before the waiter was
                    // added found nothing; the mark is seen here.
                    if Task.isCancelled { return false }
                    var room = state.rooms[host] ?? Room()
                    defer { state.rooms[host] = room }
                    guard room.inside >= limit else {
                        room.inside += 1
                        return true
                    }
                    room.waiting.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            giveUp(id, host)
        }
        guard isInside else { throw LoadingError(.cancelled, context) }
        return Permit(self, host)
    }

    private func giveUp(_ id: UInt64, _ host: String) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.rooms[host]?.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return state.rooms[host]?.waiting.remove(at: index)
        }
        waiter?.continuation.resume(returning: false)
    }

    private func leave(_ host: String) {
        let next = state.withLock { state -> Waiter? in
            guard var room = state.rooms[host] else { return nil }
            // The slot passes directly to the next waiter: `inside` does not change.
            guard room.waiting.isEmpty else {
                let next = room.waiting.removeFirst()
                state.rooms[host] = room
                return next
            }
            room.inside -= 1
            state.rooms[host] = room.inside > 0 ? room : nil
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
