import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

/// The handling of errors that are reported to a queue.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestQueueErrorTests: QueueSuite {
    let rig = HandleRig()
    let steps = Deliveries<Step>()

    @Test("requests Q14 ends with the one error that was reported, as it is")
    func singleError() async throws {
        let queue = makeQueue()
        queue.add(try request("/missing", in: queue))

        #expect(
            try await steps.wait(for: 3).dropFirst() == [
                .completed("/missing", hasValue: false), .finished(.http, count: 1),
            ]
        )
    }

    @Test("requests Q16 starts without an error, whatever errors its requests report")
    func startWithoutError() async throws {
        let delivered = Deliveries<String>()
        let queue = RequestQueue { change in delivered.add("\(change)") }
        for _ in 0..<2 { queue.add(try request("/missing", in: queue)) }

        let all = try await delivered.wait(for: 2)

        #expect(all[0] == "\(RequestQueue.Change.started)")
        #expect(all.count == 2 && all[1] != "\(RequestQueue.Change.finished(nil))")
    }

    @Test("requests Q15 joins several errors")
    func severalErrors() async throws {
        let queue = makeQueue()
        queue.add(try request("/missing", in: queue))
        queue.add(try request("/missing", in: queue))

        let all = try await steps.wait(for: 4)
        #expect(all.first == .started)
        #expect(all.last == .finished(.multiple, count: 2))
    }

    @Test("requests Q22 begins each time without errors")
    func errorsReset() async throws {
        let queue = makeQueue()
        let request = try request("/missing", in: queue)
        queue.add(request)
        _ = try await steps.wait(for: 3)

        queue.resume()

        let all = try await steps.wait(for: 6)
        #expect(all[2] == .finished(.http, count: 1))
        #expect(all[5] == .finished(.http, count: 1))
    }

    @Test("requests Q23 lets the other requests continue after an error")
    func noAutomaticCancellation() async throws {
        let queue = makeQueue()
        queue.add(try request("/slow", in: queue))
        queue.add(try request("/missing", in: queue))
        _ = try await steps.wait(for: 2)
        rig.go.raise()

        #expect(
            try await steps.wait(for: 4) == [
                .started, .completed("/missing", hasValue: false), .completed("/slow", hasValue: true),
                .finished(.http, count: 1),
            ]
        )
    }

    @Test("requests Q24 cancels the others after an error when that is set, within the report")
    func automaticCancellation() async throws {
        let queue = makeQueue(.cancelsOnError)
        let gone = Signal()
        queue.add(try request("/slow", in: queue, trace: Trace(gone)))
        queue.add(try request("/missing", in: queue))

        try await gone.wait()

        #expect(steps.all == [.started, .completed("/missing", hasValue: false), .finished(.http, count: 1)])
        #expect(RequestQueue.Options.cancelsOnError.rawValue == 1)
    }

    @Test("requests Q25 drops what cancelled requests report after its end")
    func automaticCancellationWithErrors() async throws {
        let queue = makeQueue(.cancelsOnError)
        queue.add(try request("/slow", in: queue, options: .cancellationErrors))
        queue.add(try request("/missing", in: queue))

        #expect(
            try await steps.wait(for: 4) == [
                .started, .completed("/missing", hasValue: false), .finished(.http, count: 1),
                .completed("/slow", hasValue: false),
            ]
        )
        #expect(!queue.isRunning)
    }

    @Test("requests Q24 ignores an error that is reported while it does not run, whatever is set")
    func errorWhileIdle() async throws {
        let queue = makeQueue(.cancelsOnError)
        // Only the queue keeps it alive, until it is cancelled.
        queue.add(try request("/ok"), resume: false)

        queue.report(LoadingError(.notStored))
        queue.resume()

        let all = try await steps.wait(for: 3)
        #expect(all == [.started, .completed("/ok", hasValue: true), .finished(nil, count: 0)])
    }

    @Test("requests Q24 cancels nothing when no error is reported")
    func noErrorReported() throws {
        let queue = makeQueue(.cancelsOnError)
        queue.add(try request("/stall"))

        queue.report(nil)

        #expect(queue.isRunning)
        queue.cancel()
    }

    @Test("requests Q15 joins several errors in the order in which they were reported")
    func orderOfErrors() async throws {
        let errors = Deliveries<any Error>()
        let queue = RequestQueue { change in
            if case .finished(let error?) = change { errors.add(error) }
        }
        queue.add(try request("/stall"))

        for status in [500, 501, 502] { queue.report(NetworkError.http(Response.Status(status), url: nil)) }
        queue.cancel()

        let joined = try await errors.wait(for: 1)[0] as? NetworkError
        #expect(joined?.errors.compactMap { ($0 as? NetworkError)?.status } == [500, 501, 502])
    }

    @Test("requests Q-D1 gives several errors as they were, whatever the queue does later")
    func snapshot() async throws {
        let errors = Deliveries<any Error>()
        let queue = RequestQueue { change in
            if case .finished(let error?) = change { errors.add(error) }
        }
        let failing = [try request("/missing", in: queue), try request("/missing", in: queue)]
        for request in failing { queue.add(request) }
        let first = try await errors.wait(for: 1)[0]

        queue.resume()

        #expect((first as? NetworkError)?.errors.count == 2)
        queue.cancel()
    }
}
