import Foundation
import LadeTesting
import Observation
import Testing

@testable import LadeCallbacks

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestQueueTests: QueueSuite {
    let rig = HandleRig()
    let steps = Deliveries<Step>()

    @Test("requests Q1 does not run when it is new")
    func creation() {
        #expect(!RequestQueue().isRunning)
    }

    @Test("requests Q2 runs as soon as a request is added to it")
    func start() throws {
        let queue = makeQueue()

        queue.add(try request("/stall"))

        #expect(queue.isRunning)
    }

    @Test("requests Q3 reports its start once, without an error, on the main thread, while it is running")
    func toldStart() async throws {
        // The queue of the suite checks the thread and the state of each report.
        let queue = makeQueue()

        queue.add(try request("/stall"))
        _ = try await rig.transport.request(at: 0)

        #expect(steps.all == [.started])
    }

    /// The reports of a queue for one request that succeeds, and whether either runs afterwards.
    private func single() async throws -> (steps: [Step], areRunning: [Bool]) {
        let queue = makeQueue()
        let request = try request("/ok")
        queue.add(request)
        let all = try await steps.wait(for: 3)
        return (all, [queue.isRunning, request.isRunning])
    }

    @Test("requests Q4 reports its end once, without an error, on the main thread, when it is not running any more")
    func end() async throws {
        let all = try await single().steps
        #expect(all.filter { $0 == .finished(nil, count: 0) }.count == 1)
        #expect(all.last == .finished(nil, count: 0))
    }

    @Test("requests Q5 runs the completion of its request before it reports its end")
    func endOrder() async throws {
        let all = try await single().steps
        #expect(all.dropFirst() == [.completed("/ok", hasValue: true), .finished(nil, count: 0)])
    }

    @Test("requests Q6 runs no more at its end, nor does its request")
    func endState() async throws {
        #expect(try await single().areRunning == [false, false])
    }

    @Test("requests Q7 does not run when it is resumed empty")
    func emptyQueue() {
        let queue = makeQueue()
        queue.resume()

        #expect(!queue.isRunning)
        #expect(steps.all.isEmpty)
    }

    @Test("requests Q10 starts and ends once for parallel requests")
    func parallel() async throws {
        let queue = makeQueue()
        queue.add(try request("/ok"))
        queue.add(try request("/json"))

        let all = try await steps.wait(for: 4)
        #expect(all.first == .started && all.last == .finished(nil, count: 0))
        #expect(all.count == 4 && !queue.isRunning)
    }

    @Test("requests Q11 accepts requests from several threads")
    func parallelFromThreads() async throws {
        let rig = rig
        let steps = steps
        let queue = await offMain {
            RequestQueue { change in
                #expect(MainDelivery.isOnMain)
                if case .started = change { steps.add(.started) } else { steps.add(.finished(nil, count: 0)) }
            }
        }
        @Sendable func make() throws -> RequestHandle<Data> {
            RequestHandle(rig.loader, try rig.endpoint("/slow")) {
                steps.add(.completed("/slow", hasValue: $0.value != nil))
            }
        }
        async let one: Void = offMain { queue.add(try make()) }
        async let other: Void = offMain { queue.add(try make()) }
        _ = try await (one, other)
        #expect(queue.isRunning)
        rig.go.raise()

        let done = Step.completed("/slow", hasValue: true)
        #expect(try await steps.wait(for: 4) == [.started, done, done, .finished(nil, count: 0)])
    }

    @Test("requests Q12 runs on without a break when a completion adds another request")
    func cascade() async throws {
        let queue = makeQueue()
        let second = try request("/json")
        let delivered = Deliveries<Bool>()
        queue.add(
            RequestHandle(rig.loader, try rig.endpoint("/ok")) { _ in
                queue.add(second)
                delivered.add(second.isRunning)
            }
        )

        #expect(
            try await steps.wait(for: 3) == [.started, .completed("/json", hasValue: true), .finished(nil, count: 0)]
        )
        #expect(delivered.all == [true])
    }

    @Test("requests Q13 accepts pages one after the other")
    func paginated() async throws {
        let queue = makeQueue()
        rig.transport.on(.get, "/list").respond(.json(#"{"next": "/list?page=1"}"#))
        let pages = Deliveries<Int>()
        let paged = PagedEndpoint(try rig.endpoint("/list").jsonObject(), paginator: .rule(.body(["next"])))
        let holder = PageHolder()
        let first = FirstPageHandle(rig.loader, paged) { outcome in
            pages.add(outcome.page.number)
            if outcome.page.number == 0, let next = holder.first?.handle(for: outcome.next) { queue.add(next) }
        }
        holder.first = first
        queue.add(first)

        #expect(try await steps.wait(for: 2) == [.started, .finished(nil, count: 0)])
        #expect(pages.all == [0, 1])
    }

    final class PageHolder {
        weak var first: FirstPageHandle<[String: JSONValue]>?
    }

    @Test("requests Q17 does not run when requests are added that are not to be resumed")
    func addWithoutResume() throws {
        let queue = makeQueue()
        for path in ["/ok", "/json"] {
            queue.add(try request(path), resume: false)
            #expect(!queue.isRunning)
        }
        #expect(steps.all.isEmpty)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("requests Q18 starts added requests when it is resumed, with one start and one end")
    func globalResume() async throws {
        let queue = makeQueue()
        // Only the queue keeps them alive.
        for path in ["/ok", "/json"] { queue.add(try request(path), resume: false) }

        queue.resume()

        #expect(queue.isRunning)
        let all = try await steps.wait(for: 4)
        #expect(all.first == .started && all.last == .finished(nil, count: 0))
        #expect(all.count == 4)
    }

    @Test("requests Q20 is observed")
    func observation() async throws {
        let queue = makeQueue()
        let changes = Deliveries<Bool>()
        let observation = queue.observeRunning { changes.add($0) }
        queue.add(try request("/ok"))
        #expect(queue.isRunning)
        #expect(try await changes.wait(for: 2) == [true, false])

        queue.add(try request("/ok"))

        #expect(queue.isRunning)
        #expect(try await changes.wait(for: 4) == [true, false, true, false])
        observation.cancel()

        queue.add(try request("/stall"))
        queue.cancel()
        #expect(changes.all.count == 4)
    }

    @Test("requests Q20 is tracked by Observation")
    func observationTracking() throws {
        let queue = makeQueue()
        let changes = Deliveries<Bool>()
        withObservationTracking {
            _ = queue.isRunning
        } onChange: {
            changes.add(true)
        }

        queue.add(try request("/stall"))

        #expect(changes.all == [true])
    }

    @Test("requests §4.3 starts and cancels its requests in the order in which they were added")
    func order() async throws {
        let queue = makeQueue()
        let requests = try (0..<8).map { try request("/stall?\($0)") }
        let ended = Deliveries<String>()
        let observations = requests.map { request in
            let query = request.request.url.query() ?? ""
            return request.observeRunning { ended.add("\(query) \($0)") }
        }
        for request in requests { queue.add(request, resume: false) }

        queue.resume()
        queue.cancel()

        #expect(ended.all == (0..<8).map { "\($0) true" } + (0..<8).map { "\($0) false" })
        for observation in observations { observation.cancel() }
    }

    @Test("requests Q21 runs its requests again when it is resumed again")
    func reuse() async throws {
        let queue = makeQueue()
        let request = try request("/ok")
        queue.add(request)
        _ = try await steps.wait(for: 3)

        queue.resume()

        #expect(queue.isRunning && request.isRunning)
        #expect(try await steps.wait(for: 6).last == .finished(nil, count: 0))
    }

    @Test("requests §4.3 accepts a running request, and a request only once")
    func addRunning() throws {
        let queue = makeQueue()
        let request = try request("/stall")
        request.resume()

        queue.add(request, resume: false)
        #expect(queue.isRunning)
        request.cancel()
        queue.add(request, resume: true)

        #expect(!queue.isRunning && !request.isRunning)
        #expect(steps.all == [.started, .finished(nil, count: 0)])
    }

    @Test("requests §4.3 accepts requests from many threads while others end, and reports its changes in order")
    func addFromManyThreads() async throws {
        let rig = rig
        let steps = steps
        let completions = Deliveries<Bool>()
        let queue = RequestQueue { change in
            if case .started = change { steps.add(.started) } else { steps.add(.finished(nil, count: 0)) }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        guard let endpoint = try? rig.endpoint("/ok") else { return }
                        queue.add(
                            RequestHandle(rig.loader, endpoint, options: .backgroundCompletion, on: .main) {
                                completions.add($0.value != nil)
                            }
                        )
                    }
                }
            }
        }

        let all = try await completions.wait(for: 400)
        try await end(of: queue)

        #expect(all.count == 400 && all.allSatisfy(\.self))
        #expect(!queue.isRunning)
        let delivered = steps.all
        #expect(delivered.count.isMultiple(of: 2) && delivered.first == .started)
        #expect(zip(delivered, delivered.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test("requests §4.1 makes a queue with other options and no requests")
    func withOptions() throws {
        let queue = makeQueue()
        let request = try request("/stall")
        queue.add(request)

        let other = queue.with(options: .cancelsOnError)

        #expect(other.options == .cancelsOnError && queue.options == [])
        #expect(!other.isRunning && queue.isRunning)
        #expect(queue.description.contains("/stall"))
        other.add(try self.request("/stall"))
        #expect(steps.all == [.started, .started])
    }
}
