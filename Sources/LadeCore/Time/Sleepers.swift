/// Everybody who sleeps on the system's clock, woken by few alarms.
///
/// `Task.sleep` alone would do, but a sleep that is cancelled leaves its task in memory until its deadline, about 2 KiB:
/// with a time-out of a minute on each of 2,000 calls a second that is a quarter of a gigabyte. Here a cancelled sleep
/// leaves 16 bytes, and those not for long, because the alarms are shared and never cancelled: an alarm is set only when
/// no earlier one is.
final class Sleepers: Sendable {
    /// The sleepers of the process; they have no settings and are not to be seen outside ``SystemTime``.
    static let shared = Sleepers()

    private struct Entry {
        let deadline: Instant
        let id: UInt64
    }

    struct State {
        private var heap: [Entry] = []
        private var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        private var lastID: UInt64 = 0
        /// The alarms that are set, in no order; each is earlier than those before it were when it was set.
        private var alarms: [Instant] = []

        /// How many entries are kept, cancelled ones included.
        var count: Int { heap.count }

        mutating func makeID() -> UInt64 {
            lastID += 1
            return lastID
        }

        /// Adds a sleeper; an alarm is to be set when the result is not nil.
        mutating func add(
            _ id: UInt64,
            until deadline: Instant,
            _ continuation: CheckedContinuation<Bool, Never>
        ) -> Instant? {
            waiting[id] = continuation
            heap.append(Entry(deadline: deadline, id: id))
            var child = heap.count - 1
            while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
            return nextAlarm()
        }

        mutating func remove(_ id: UInt64) -> CheckedContinuation<Bool, Never>? {
            let continuation = waiting.removeValue(forKey: id)
            // Cancelled entries stay until they come up or are more than the others.
            if heap.count > 2 * waiting.count + 64 {
                heap = heap.filter { waiting[$0.id] != nil }.sorted { $0.deadline < $1.deadline }
            }
            return continuation
        }

        /// Takes out whoever is due when an alarm rings; the next alarm is to be set when there is one.
        mutating func ring(
            _ alarm: Instant,
            at now: Instant
        ) -> (due: [CheckedContinuation<Bool, Never>], next: Instant?) {
            if let index = alarms.firstIndex(of: alarm) { alarms.remove(at: index) }
            var due: [CheckedContinuation<Bool, Never>] = []
            while let first = heap.first, first.deadline <= now || waiting[first.id] == nil {
                popFirst()
                if let continuation = waiting.removeValue(forKey: first.id) { due.append(continuation) }
            }
            return (due, nextAlarm())
        }

        private mutating func nextAlarm() -> Instant? {
            guard let first = heap.first?.deadline, !alarms.contains(where: { $0 <= first }) else { return nil }
            alarms.append(first)
            return first
        }

        private mutating func popFirst() {
            let last = heap.removeLast()
            guard !heap.isEmpty else { return }
            heap[0] = last
            var parent = 0
            while true {
                let left = 2 * parent + 1
                guard left < heap.count else { return }
                let right = left + 1
                let least = right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
                guard heap[least].deadline < heap[parent].deadline else { return }
                heap.swapAt(parent, least)
                parent = least
            }
        }
    }

    let state = Locked(State())
    /// Waits until the clock reaches the deadline.
    ///
    /// Returns false when the task was cancelled first.
    func sleep(until deadline: Instant) async -> Bool {
        let id = state.withLock { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isCancelled, alarm) = state.withLock { state -> (Bool, Instant?) in
                    // A task is marked cancelled before its handlers run: one that found nobody here is seen now.
                    if Task.isCancelled { return (true, nil) }
                    return (false, state.add(id, until: deadline, continuation))
                }
                if isCancelled { return continuation.resume(returning: false) }
                if let alarm { set(alarm) }
            }
        } onCancel: {
            state.withLock { $0.remove(id) }?.resume(returning: false)
        }
    }

    /// Sets an alarm: a task that ends by itself when it has rung, urgent because others may wait more urgently than the
    /// one who set it.
    private func set(_ alarm: Instant) {
        Task(priority: .high) {
            let wait = SystemTime().now.duration(to: alarm)
            // It throws only when the task is cancelled, which nobody can.
            if wait > .zero { try? await Task.sleep(for: wait, tolerance: .zero) }
            // Clocks differ a little: whoever is not quite due gets another alarm.
            let now = SystemTime().now
            let (due, next) = state.withLock { $0.ring(alarm, at: now) }
            if let next { set(next) }
            for continuation in due { continuation.resume(returning: true) }
        }
    }
}
