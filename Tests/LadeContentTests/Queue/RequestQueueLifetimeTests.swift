import Foundation
import LadeTesting
import Testing

@testable import LadeContent

/// What a queue keeps alive, and what happens to its requests when it is cancelled or released.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestQueueLifetimeTests: QueueSuite {
    let rig = Rig()
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
        _ = await steps.wait(for: 3)
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
            _ = await steps.wait(for: 3)
        }
        try await gone.wait()
        #expect(weakQueue == nil)
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
