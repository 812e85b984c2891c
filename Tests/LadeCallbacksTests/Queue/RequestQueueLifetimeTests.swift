import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeCallbacks

/// What a queue keeps alive, and what happens to its requests when it is cancelled or released.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestQueueLifetimeTests: QueueSuite {
    let rig = HandleRig()
    let steps = Deliveries<Step>()

    @Test("requests Q8 is released with its last reference")
    func release() {
        weak var weakQueue: RequestQueue?
        do {
            let queue = makeQueue()
            weakQueue = queue
        }
        #expect(weakQueue == nil)
    }

    @Test("requests Q9 cancels its requests when it is released, and reports nothing")
    func releaseWithRequests() async throws {
        let gone = Signal()
        do {
            let queue = makeQueue()
            queue.add(try request("/stall", trace: Trace(gone)))
        }

        try await gone.wait()

        #expect(steps.all == [.started])
    }

    @Test("requests Q19 cancels all its requests, which report nothing")
    func globalCancel() async throws {
        let queue = makeQueue()
        let gone = Signal()
        queue.add(try request("/stall", in: queue, trace: Trace(gone)))
        queue.add(try request("/stall", in: queue))

        queue.cancel()

        #expect(steps.all == [.started, .finished(nil, count: 0)])
        #expect(!queue.isRunning)
        try await gone.wait()
        #expect(steps.all.count == 2)
    }

    @Test("requests §4.6 forgets requests that have ended and have no other reference")
    func forgetsEnded() async throws {
        let queue = makeQueue()
        let gone = Signal()
        queue.add(try request("/ok", trace: Trace(gone)))
        _ = try await steps.wait(for: 3)
        try await gone.wait()

        queue.resume()

        #expect(!queue.isRunning)
    }

    @Test("requests §4.6 is not kept by the completions of requests that have ended")
    func noCycle() async throws {
        weak var weakQueue: RequestQueue?
        let gone = Signal()
        do {
            let queue = makeQueue()
            weakQueue = queue
            queue.add(try request("/ok", in: queue, trace: Trace(gone)))
            _ = try await steps.wait(for: 3)
        }
        try await gone.wait()
        #expect(weakQueue == nil)
    }

    @Test("requests §4.6 accepts a new request in the memory of one that was released")
    func reusedMemory() {
        let queue = RequestQueue()
        for _ in 0..<100 {
            let request = StandaloneRequest()
            queue.add(request)
            #expect(request.isRunning && queue.isRunning)
            request.cancel()
            #expect(!queue.isRunning)
        }
    }

    @Test("requests §4.6 does not count requests that were released while they were running")
    func releasedWhileRunning() {
        let queue = RequestQueue()
        // So many that the queue removes the records of released requests.
        var requests = (0..<32).map { _ in StandaloneRequest() }
        for request in requests { queue.add(request) }
        #expect(queue.isRunning)
        // Made before the others are released: in the memory of one of them, a request would take its record, and the
        // queue would have too few to visit them all.
        let others = [StandaloneRequest(), StandaloneRequest()]
        requests = []

        for request in others { queue.add(request) }
        #expect(queue.isRunning)
        for request in others { request.cancel() }

        #expect(!queue.isRunning)
    }

    /// Blocks the thread, which on Apple platforms only code that is not asynchronous may do.
    private static func wait(for semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    @Test("requests §4.3 reports the start before the end when both happen on another thread")
    func changesFromAnotherThread() async throws {
        let changes = Deliveries<String>()
        let queue = RequestQueue { change in changes.add("\(change)") }
        let isEnded = DispatchSemaphore(value: 0)
        let thread = Thread {
            let request = StandaloneRequest()
            queue.add(request)
            request.cancel()
            isEnded.signal()
        }
        thread.start()
        // The main actor is busy, so that the report of the start has not arrived yet.
        Self.wait(for: isEnded)

        _ = try await changes.wait(for: 2)

        #expect(changes.all == ["started", "finished(nil)"])
    }

    @Test("requests §4.3 counts a request that starts while it is added as running")
    func startsWhileAdded() {
        let queue = RequestQueue()
        let request = StandaloneRequest()
        request.startsWhenObserved = true

        queue.add(request, resume: false)
        #expect(queue.isRunning)

        request.cancel()
        #expect(!queue.isRunning)
    }

    @Test("requests §4.6 releases requests that were never started when it is cancelled")
    func cancelReleasesIdle() async throws {
        weak var weakQueue: RequestQueue?
        do {
            let queue = makeQueue()
            weakQueue = queue
            queue.add(try request("/ok", in: queue), resume: false)
            queue.cancel()
        }
        #expect(weakQueue == nil)
    }
}

/// A request of an app's own type, which runs until it is cancelled, and does not keep itself alive.
private final class StandaloneRequest: GroupedRequest {
    private struct State {
        var isRunning = false
        var startsWhenObserved = false
        var handlers: [@Sendable (Bool) -> Void] = []
    }

    private let state = Locked(State())

    var isRunning: Bool { state.withLock { $0.isRunning } }
    var description: String { "standalone" }

    /// Whether it starts between its registration and the return of the observation.
    var startsWhenObserved: Bool {
        get { state.withLock { $0.startsWhenObserved } }
        set { state.withLock { $0.startsWhenObserved = newValue } }
    }

    func resume() { set(true) }
    func cancel() { set(false) }

    func observeRunning(_ handler: @escaping @Sendable (Bool) -> Void) -> RunningObservation {
        let wasRunning = isRunning
        state.withLock { $0.handlers.append(handler) }
        if startsWhenObserved { resume() }
        return RunningObservation(wasRunning: wasRunning) {}
    }

    private func set(_ isRunning: Bool) {
        let handlers = state.withLock { state in
            guard state.isRunning != isRunning else { return [] as [@Sendable (Bool) -> Void] }
            state.isRunning = isRunning
            return state.handlers
        }
        for handler in handlers { handler(isRunning) }
    }
}
