import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

/// Requests that are cancelled, by themselves or by others.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestHandleCancellationTests {
    let rig = HandleRig()

    @Test("requests R7 does not run once it is cancelled, nor later")
    func doesNotRunWhenCancelled() async throws {
        let gone = Signal()
        weak var weakRequest: RequestHandle<Data>?
        do {
            let request = try rig.data("/stall", trace: Trace(gone))
            weakRequest = request
            request.resume()
            request.cancel()
            #expect(!request.isRunning)
        }
        try await gone.wait()
        #expect(weakRequest == nil)
    }

    @Test("requests R8 never calls back once it is cancelled")
    func cancelledIsSilent() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let gone = Signal()
        do {
            let request = try rig.data("/ok", delivered, trace: Trace(gone))
            request.resume()
            request.cancel()
        }

        try await gone.wait()

        #expect(delivered.all.isEmpty)
    }

    @Test("requests R9 calls back with the cancellation when that is set")
    func cancellationErrors() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/stall", delivered, options: .cancellationErrors)

        request.resume()
        request.cancel()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response == nil)
        #expect(outcome.error?.isCancellation == true)
        #expect(outcome.error?.loadingError?.urlErrorCode == -999)
    }

    @Test("requests R21 is released after it was cancelled and has reported so")
    func releasedAfterCancellation() async throws {
        let gone = Signal()
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        weak var weakRequest: RequestHandle<Data>?
        do {
            let request = try rig.data("/stall", delivered, options: .cancellationErrors, trace: Trace(gone))
            weakRequest = request
            request.resume()
        }
        #expect(weakRequest != nil)
        // A weak reference is enough to cancel.
        weakRequest?.cancel()

        _ = try await delivered.wait(for: 1)
        try await gone.wait()
        #expect(weakRequest == nil)
    }

    @Test("requests R29 runs again after it was cancelled")
    func reuseAfterCancellation() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let changes = Deliveries<Bool>()
        let request = try rig.data("/ok", delivered)
        let observation = request.observeRunning { changes.add($0) }
        request.resume()
        request.cancel()

        request.resume()

        #expect(changes.all == [true, false, true])
        #expect(try await delivered.wait(for: 1)[0].value != nil)
        observation.cancel()
    }

    @Test("requests R35 never calls back after the owner of its loader was released, and stops running")
    func ownerGone() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let transport = ScriptedTransport(answering: .stalls)
        let loader = HandleRig.loader(on: transport)
        let request = RequestHandle(loader, try rig.endpoint("/ok"), options: .cancellationErrors) {
            delivered.add($0)
        }
        request.resume()
        _ = try await transport.request(at: 0)

        // As the provider of a catalogue does.
        loader.dissolve()
        try await end(of: request)

        #expect(delivered.all.isEmpty)
    }

    @Test(
        "finding SF-6 a request keeps its loader, started or not, and releases it with itself",
        arguments: ["data", "first page", "page"]
    )
    func keepsItsLoader(form: String) async throws {
        let values = Deliveries<Bool>()
        let transport = ScriptedTransport()
        let go = Signal()
        transport.onAnyRequest().respond(.json("[]").after(go))
        weak var weakLoader: Loader?
        do {
            let loader = HandleRig.loader(on: transport)
            weakLoader = loader
            let endpoint = try rig.endpoint("/ok")
            let paged = PagedEndpoint(endpoint, paginator: Pages.Paginator { _ in nil })
            let request: any GroupedRequest =
                switch form {
                case "data": RequestHandle(loader, endpoint) { values.add($0.value != nil) }
                case "first page": FirstPageHandle(loader, paged) { values.add($0.value != nil) }
                default: FirstPageHandle(loader, paged) { values.add($0.value != nil) }.handle(for: nil)
                }
            request.resume()
        }
        _ = try await transport.request(at: 0)
        #expect(weakLoader != nil)

        go.raise()

        #expect(try await values.wait(for: 1) == [true])
        #expect(transport.cancellations == 0)
    }

    @Test("requests RQ-D1 stops running when others than itself cancel it")
    func cancelledByOthers() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/stall", delivered)
        request.resume()
        _ = try await rig.transport.request(at: 0)

        rig.loader.cancelAllLoads()
        try await end(of: request)

        #expect(!request.isRunning)
        #expect(delivered.all.isEmpty)
    }

    @Test("requests R9 calls back with the cancellation of others, too, when that is set")
    func cancelledByOthersIsReported() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        try rig.data("/stall", delivered, options: .cancellationErrors).resume()
        _ = try await rig.transport.request(at: 0)

        rig.loader.cancelAllLoads()

        #expect(try await delivered.wait(for: 1)[0].error?.isCancellation == true)
    }

    @Test("requests RQ-D2 drops an answer when its request is cancelled before its completion begins")
    func cancelledBeforeCompletion() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let gone = Signal()
        let scheduled = Deliveries<@Sendable () -> Void>()
        let executor = Service.CompletionExecutor { work in scheduled.add(work) }
        do {
            let trace = Trace(gone)
            let endpoint = try rig.endpoint("/ok")
            let request = RequestHandle(rig.loader, endpoint, on: executor) { [trace] outcome in
                withExtendedLifetime(trace) { delivered.add(outcome) }
            }
            request.resume()
            // The response has arrived and its completion is about to be called.
            _ = try await scheduled.wait(for: 1)
            request.cancel()
        }
        scheduled.all[0]()

        #expect(delivered.all.isEmpty)
    }

    @Test("requests RQ-D2 reports the cancellation, and no answer, when it is cancelled before its completion begins")
    func cancelledBeforeCompletionIsReported() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let scheduled = Deliveries<@Sendable () -> Void>()
        let executor = Service.CompletionExecutor { work in scheduled.add(work) }
        let request = RequestHandle(
            rig.loader,
            try rig.endpoint("/ok"),
            options: .cancellationErrors,
            on: executor,
            completion: { delivered.add($0) }
        )
        request.resume()
        // The response has arrived and its completion is about to be called.
        _ = try await scheduled.wait(for: 1)

        request.cancel()
        scheduled.all[0]()

        #expect(delivered.all.map { $0.error?.isCancellation } == [true])
        #expect(delivered.all.allSatisfy { $0.value == nil && $0.response == nil })
    }

    @Test("requests RQ-D2 drops an answer to an earlier run that arrives during the next")
    func answerToEarlierRun() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let scheduled = Deliveries<@Sendable () -> Void>()
        let executor = Service.CompletionExecutor { work in scheduled.add(work) }
        let request = RequestHandle(rig.loader, try rig.endpoint("/ok"), on: executor) { delivered.add($0) }
        request.resume()
        _ = try await scheduled.wait(for: 1)
        request.cancel()
        request.resume()

        scheduled.all[0]()

        #expect(delivered.all.isEmpty && request.isRunning)
        _ = try await scheduled.wait(for: 2)
        scheduled.all[1]()
        #expect(delivered.all.count == 1 && !request.isRunning)
    }

    @Test("requests R8 a run that an observer of its start cancels ends, and calls back never")
    func cancelledByObserver() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let gone = Signal()
        do {
            let request = try rig.data("/stall", delivered, trace: Trace(gone))
            let observation = request.observeRunning { [weak request] isRunning in
                if isRunning { request?.cancel() }
            }
            request.resume()
            #expect(!request.isRunning)
            observation.cancel()
        }

        try await gone.wait()

        #expect(delivered.all.isEmpty)
    }

    @Test("requests R29 a run that an observer starts in place of the one that begins is cancelled as any other")
    func replacedByObserver() async throws {
        let gone = Signal()
        do {
            let request = try rig.data("/stall", trace: Trace(gone))
            let starts = Deliveries<Bool>()
            let observation = request.observeRunning { [weak request] isRunning in
                if isRunning { starts.add(true) }
                guard isRunning, starts.all.count == 1 else { return }
                request?.cancel()
                request?.resume()
            }
            request.resume()
            #expect(request.isRunning)
            observation.cancel()

            request.cancel()
        }

        try await gone.wait()
    }

    @Test("requests RQ-D3 keeps running when the run cancelled before reports its cancellation")
    func generations() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/slow", delivered, options: .cancellationErrors)
        request.resume()
        _ = try await rig.transport.request(at: 0)

        request.cancel()
        request.resume()
        _ = try await delivered.wait(for: 1)
        #expect(request.isRunning)

        rig.go.raise()
        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes[0].error?.isCancellation == true)
        #expect(outcomes[1].value != nil)
    }

    @Test("requests RQ-D4 is not running within the completion that reports its cancellation")
    func cancelledRunDoesNotRun() async throws {
        let delivered = Deliveries<Bool>()
        let holder = WeakHandle()
        let endpoint = try rig.endpoint("/stall")
        let request = RequestHandle(rig.loader, endpoint, options: .cancellationErrors) { _ in
            delivered.add(holder.weakRequest?.isRunning == true)
        }
        holder.weakRequest = request
        request.resume()
        request.cancel()

        #expect(try await delivered.wait(for: 1) == [false])
    }
}
