/// All sleeping tasks on the system's clock, resumed by a few shared timers.
///
/// `Task.sleep` alone would work, but a cancelled sleep keeps its task in memory until its deadline, about 2 KiB. With a
/// time-out of a minute on each of 2,000 calls a second that is a quarter of a gigabyte. Here a cancelled sleep keeps 16
/// bytes, and only for a short time. The timers are shared and never cancelled; a timer is set only when no earlier one is.
final class Sleepers: Sendable {
    /// The sleepers of the process, used only by ``SystemTime``; they have no settings.
    static let shared = Sleepers()

    private struct Entry {
        let deadline: Instant
        let id: UInt64
    }

    struct State {
        private var heap: [Entry] = []
        private var waiting: [UInt64: Waiter<Bool>] = [:]
        private var lastID: UInt64 = 0
        /// The pending timers, in no order; when one was set, it was earlier than all others.
        private var timers: [Instant] = []

        /// The number of entries, cancelled ones included.
        var count: Int { heap.count }

        mutating func makeID() -> UInt64 {
            lastID += 1
            waiting[lastID] = Waiter()
            return lastID
        }

        /// A sleeper begins to wait; returns its task again if it was cancelled, or the timer that the caller must set.
        mutating func add(
            _ id: UInt64,
            until deadline: Instant,
            _ resumption: Resumption<Bool>
        ) -> (wake: Waiter<Bool>.Wake?, timer: Instant?) {
            if let wake = waiting[id]?.wait(resumption) {
                waiting[id] = nil
                return (wake, nil)
            }
            heap.append(Entry(deadline: deadline, id: id))
            var child = heap.count - 1
            while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
            return (nil, nextTimer())
        }

        mutating func cancel(_ id: UInt64) -> Waiter<Bool>.Wake? {
            guard let wake = waiting[id]?.end(false) else { return nil }
            waiting[id] = nil
            // Cancelled entries stay until they are due or outnumber the others.
            if heap.count > 2 * waiting.count + 64 {
                heap = heap.filter { waiting[$0.id] != nil }.sorted { $0.deadline < $1.deadline }
            }
            return wake
        }

        /// Removes the sleepers that are due when a timer fires; returns the next timer that the caller must set, if any.
        mutating func fire(
            _ timer: Instant,
            at now: Instant
        ) -> (due: [Waiter<Bool>.Wake], next: Instant?) {
            if let index = timers.firstIndex(of: timer) { timers.remove(at: index) }
            var due: [Waiter<Bool>.Wake] = []
            while let first = heap.first, first.deadline <= now || waiting[first.id] == nil {
                popFirst()
                if let wake = waiting[first.id]?.end(true) {
                    waiting[first.id] = nil
                    due.append(wake)
                }
            }
            return (due, nextTimer())
        }

        private mutating func nextTimer() -> Instant? {
            guard let first = heap.first?.deadline, !timers.contains(where: { $0 <= first }) else { return nil }
            timers.append(first)
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
        return await Waiter.outcome { resumption in
            let (wake, timer) = state.withLock { $0.add(id, until: deadline, resumption) }
            if let timer { set(timer) }
            return wake
        } _: {
            state.withLock { $0.cancel(id) }?.resume()
        }
    }

    /// Sets a timer: a task that ends when it has fired.
    ///
    /// Its priority is high, because sleepers of a higher priority than the current task may use it.
    private func set(_ timer: Instant) {
        Task(priority: .high) {
            let wait = SystemTime().now.duration(to: timer)
            // It throws only when the task is cancelled, and nothing else has a reference to this task.
            if wait > .zero { try? await Task.sleep(for: wait, tolerance: .zero, clock: .suspending) }
            // Clocks differ slightly: a sleeper that is not quite due gets another timer.
            let now = SystemTime().now
            let (due, next) = state.withLock { $0.fire(timer, at: now) }
            if let next { set(next) }
            for wake in due { wake.resume() }
        }
    }
}
