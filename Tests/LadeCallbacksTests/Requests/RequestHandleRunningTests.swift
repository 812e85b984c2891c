import Foundation
import LadeTesting
import Observation
import Testing

@testable import LadeCallbacks

/// When a request is running, and which observers are notified.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestHandleRunningTests {
    let rig = HandleRig()

    @Test("requests R6 runs as soon as it is resumed, and still does when its exchange has begun")
    func runsWhenResumed() async throws {
        let request = try rig.data("/stall")

        request.resume()
        #expect(request.isRunning)

        _ = try await rig.transport.request(at: 0)
        #expect(request.isRunning)
        request.cancel()
    }

    @Test("requests R22 does not run before it is resumed")
    func doesNotRunBefore() throws {
        #expect(try !rig.data("/stall").isRunning)
    }

    @Test("requests R23 runs when resume has returned")
    func runsAfterResume() throws {
        let request = try rig.data("/stall")
        request.resume()
        #expect(request.isRunning)
        request.cancel()
    }

    @Test("requests R24 runs within its completion")
    func runsWithinCompletion() async throws {
        let delivered = Deliveries<Bool>()
        let holder = WeakHandle()
        let request = RequestHandle(rig.loader, try rig.endpoint("/ok")) { _ in
            delivered.add(holder.weakRequest?.isRunning == true)
        }
        holder.weakRequest = request
        request.resume()

        #expect(try await delivered.wait(for: 1) == [true])
    }

    @Test("requests R25 does not run after its completion")
    func doesNotRunAfterCompletion() async throws {
        let request = try rig.data("/ok")
        request.resume()

        try await end(of: request)

        #expect(!request.isRunning)
    }

    @Test("requests R26 notifies observers first that it is running")
    func observation() async throws {
        let delivered = Deliveries<Bool>()
        let request = try rig.data("/ok")
        let observation = request.observeRunning { delivered.add($0) }

        request.resume()

        #expect(!observation.wasRunning)
        #expect(try await delivered.wait(for: 2) == [true, false])
    }

    @Test("requests R36 notifies observers of a request that was resumed on the main thread there, of its end too")
    func observationThread() async throws {
        let threads = Deliveries<Bool>()
        let request = try rig.data("/ok")
        let observation = request.observeRunning { _ in threads.add(MainDelivery.isOnMain) }

        request.resume()

        #expect(try await threads.wait(for: 2) == [true, true])
        observation.cancel()
    }

    @Test("requests R26 notifies each observer of all changes in order, when one of them makes the next change")
    func nestedChanges() async throws {
        let request = try rig.data("/stall")
        let delivered = Deliveries<Bool>()
        let observations = [
            request.observeRunning { [weak request] in if $0 { request?.cancel() } },
            request.observeRunning { delivered.add($0) },
        ]

        request.resume()
        request.resume()

        #expect(delivered.all == [true, false, true, false])
        for observation in observations { observation.cancel() }
    }

    @Test("requests R26 notifies no observer that has ended or was released")
    func endedObservation() async throws {
        let request = try rig.data("/stall")
        let delivered = Deliveries<Bool>()
        let ended = request.observeRunning { delivered.add($0) }
        var released: RunningObservation? = request.observeRunning { delivered.add($0) }
        #expect(released?.wasRunning == false)
        ended.cancel()
        released = nil

        request.resume()
        request.cancel()

        #expect(delivered.all.isEmpty)
    }

    @Test("requests R26 still notifies an observer when one that was added after it has ended")
    func otherObservers() throws {
        let request = try rig.data("/stall")
        let delivered = Deliveries<String>()
        let first = request.observeRunning { delivered.add("first \($0)") }
        let second = request.observeRunning { delivered.add("second \($0)") }

        second.cancel()
        request.resume()
        request.cancel()

        #expect(delivered.all == ["first true", "first false"])
        first.cancel()
    }

    @Test("requests R26 notifies observers of several changes in their order, when one of them makes these changes")
    func nestedChangesInOrder() throws {
        let request = try rig.data("/stall")
        let delivered = Deliveries<Bool>()
        let observations = [
            request.observeRunning { [weak request] in
                guard $0, delivered.all.isEmpty else { return }
                request?.cancel()
                request?.resume()
            },
            request.observeRunning { delivered.add($0) },
        ]

        request.resume()

        #expect(delivered.all == [true, false, true])
        request.cancel()
        for observation in observations { observation.cancel() }
    }

    @Test("requests R26 notifies no observer when a request is cancelled that does not run, and counts nothing")
    func cancelledWhileIdle() throws {
        let delivered = Deliveries<Bool>()
        let request = try rig.data("/stall")
        let observation = request.observeRunning { delivered.add($0) }

        request.cancel()

        #expect(delivered.all.isEmpty)
        // A count below zero would hide a request that runs.
        rig.activity.increase()
        #expect(rig.activity.isActive)
        observation.cancel()
    }

    @Test("requests R26 ends an observation once")
    func endsOnce() {
        let delivered = Deliveries<Bool>()
        do {
            let observation = RunningObservation(wasRunning: false) { delivered.add(true) }
            observation.cancel()
            observation.cancel()
        }
        #expect(delivered.all == [true])
    }

    @Test("requests R26 is tracked by Observation")
    func observationTracking() throws {
        let delivered = Deliveries<Bool>()
        let request = try rig.data("/stall")
        withObservationTracking {
            _ = request.isRunning
        } onChange: {
            delivered.add(true)
        }

        request.resume()

        #expect(delivered.all == [true])
        request.cancel()
    }

    @Test("requests R26 gives its changes as a sequence")
    func observationAsSequence() async throws {
        let request = try rig.data("/ok")
        var changes = request.runningChanges.makeAsyncIterator()

        request.resume()

        #expect(await changes.next() == true)
        #expect(await changes.next() == false)
    }

    @Test("requests R26 is kept alive by the sequence of its changes")
    func sequenceKeepsRequest() throws {
        weak var weakRequest: RequestHandle<Data>?
        var changes: AsyncStream<Bool>?
        do {
            let request = try rig.data("/stall")
            weakRequest = request
            changes = request.runningChanges
        }
        #expect(weakRequest != nil)

        withExtendedLifetime(changes) {}
        changes = nil

        #expect(weakRequest == nil)
    }

    @Test("requests R27 runs once when it is resumed twice")
    func multipleResumes() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/ok", delivered)

        request.resume()
        request.resume()
        try await end(of: request)

        #expect(delivered.all.count == 1)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("requests R28 runs again after its end")
    func reuse() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/ok", delivered)
        request.resume()
        try await end(of: request)

        request.resume()

        #expect(request.isRunning)
        #expect(try await delivered.wait(for: 2).count == 2)
    }
}
