import Dispatch
import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RequestHandleTests {
    let rig = HandleRig()

    @Test("requests R1 gives data and response, and no error")
    func success() async throws {
        let outcome = try await rig.run("/ok")

        #expect(outcome.value?.count == 100)
        #expect(outcome.response?.status == 200)
        #expect(outcome.error == nil)
    }

    @Test("requests R2 can be made and resumed on a background thread")
    func successFromBackground() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()

        try await offMain { [rig] in try rig.data("/ok", delivered).resume() }

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value != nil && outcome.response != nil && outcome.error == nil)
    }

    @Test("requests R4 sends nothing and does not call back before it is resumed")
    func neverStarted() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let gone = Signal()

        _ = try rig.data("/ok", delivered, trace: Trace(gone))
        try await gone.wait()

        #expect(delivered.all.isEmpty)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("requests R17 calls back on the main thread")
    func defaultThread() async throws {
        let delivered = Deliveries<Bool>()
        RequestHandle(rig.loader, try rig.endpoint("/ok")) { _ in delivered.add(MainDelivery.isOnMain) }.resume()
        RequestHandle(rig.loader, try rig.endpoint("/ok"), on: .main) { _ in delivered.add(MainDelivery.isOnMain) }
            .resume()

        #expect(try await delivered.wait(for: 2) == [true, true])
    }

    /// The forms in which a request can be made.
    enum Form: CaseIterable {
        case endpoint
        case endpointOnMain
        case parser
        case changedLater
        case firstPage
        case firstPageOnMain
        case page
        case pageChangedLater
    }

    /// A request of a form with background completion, which delivers whether its completion ran on the main queue.
    private func background(_ form: Form, _ delivered: Deliveries<Bool>) throws -> any GroupedRequest {
        let options = RequestOptions.backgroundCompletion
        let loader = rig.loader
        let endpoint = try rig.endpoint("/json")
        let paged = PagedEndpoint(endpoint, paginator: Pages.Paginator { _ in nil })
        return switch form {
        case .endpoint:
            RequestHandle(loader, endpoint, options: options) { _ in delivered.add(isOnMain) }
        case .endpointOnMain:
            RequestHandle(loader, endpoint, options: options, on: .main) { _ in delivered.add(isOnMain) }
        case .parser:
            RequestHandle(loader, endpoint.request, options: options, parser: { $0.count }) { _ in
                delivered.add(isOnMain)
            }
        case .changedLater:
            RequestHandle(loader, endpoint) { _ in delivered.add(isOnMain) }.with(options: options)
        case .firstPage:
            FirstPageHandle(loader, paged, options: options) { _ in delivered.add(isOnMain) }
        case .firstPageOnMain:
            FirstPageHandle(loader, paged, options: options, on: .main) { _ in delivered.add(isOnMain) }
        case .page:
            FirstPageHandle(loader, paged, options: options) { _ in delivered.add(isOnMain) }.handle(for: nil)
        case .pageChangedLater:
            FirstPageHandle(loader, paged) { _ in delivered.add(isOnMain) }.handle(for: nil).with(options: options)
        }
    }

    @Test(
        "finding SF-2 background completion works alone in every form: the completion is not on the main queue",
        arguments: Form.allCases
    )
    func backgroundCompletionAlone(form: Form) async throws {
        let delivered = Deliveries<Bool>()
        let request = try background(form, delivered)

        // Twice: a request can be started again.
        for count in 1...2 {
            request.resume()
            #expect(try await delivered.wait(for: count).last == false)
            try await end(of: request)
        }
    }

    @Test("finding SF-2 a request is on the main queue again without the option", arguments: [true, false])
    func withoutBackgroundCompletion(isCopied: Bool) async throws {
        let delivered = Deliveries<Bool>()
        let request = RequestHandle(rig.loader, try rig.endpoint("/ok"), options: .backgroundCompletion) { _ in
            delivered.add(isOnMain)
        }

        (isCopied ? request.copy() : request.with(options: .httpErrorsDisabled)).resume()

        #expect(try await delivered.wait(for: 1) == [true])
    }

    @Test("requests R18 calls back off the main thread when that is set")
    func backgroundCompletion() async throws {
        let delivered = Deliveries<Bool>()
        let endpoint = try rig.endpoint("/ok")
        RequestHandle(rig.loader, endpoint, options: .backgroundCompletion, on: .main) { _ in
            delivered.add(MainDelivery.isOnMain)
        }.resume()

        #expect(try await delivered.wait(for: 1) == [false])
    }

    @Test("requests R19 goes with its last reference when it was never started")
    func idleIsReleased() throws {
        weak var weakRequest: RequestHandle<Data>?
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        do {
            let request = try rig.data("/ok", delivered)
            weakRequest = request
        }

        #expect(weakRequest == nil)
        #expect(delivered.all.isEmpty)
    }

    @Test("requests R20 keeps itself until its completion has returned")
    func keepsItself() async throws {
        let gone = Signal()
        let wasAlive = Deliveries<Bool>()
        weak var weakRequest: RequestHandle<Data>?
        do {
            let holder = WeakHandle()
            let trace = Trace(gone)
            let request = RequestHandle(rig.loader, try rig.endpoint("/ok")) { [trace] _ in
                withExtendedLifetime(trace) {}
                wasAlive.add(holder.weakRequest?.isRunning == true)
            }
            holder.weakRequest = request
            weakRequest = request
            request.resume()
        }
        #expect(weakRequest != nil)

        #expect(try await wasAlive.wait(for: 1) == [true])
        try await gone.wait()
        #expect(weakRequest == nil)
    }

    @Test("requests R30 lets a completion start another request")
    func nesting() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let rig = rig
        RequestHandle(rig.loader, try rig.endpoint("/ok")) { outcome in
            delivered.add(outcome)
            do { try rig.data("/ok", delivered).resume() } catch { Issue.record(error) }
        }.resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.allSatisfy { $0.value != nil })
    }

    @Test("requests R31 has copies that run by themselves, without its options")
    func copy() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        let request = try rig.data("/ok", delivered, options: .cancellationErrors)

        let copy = request.copy()
        copy.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value != nil && outcome.response != nil && outcome.error == nil)
        #expect(copy.options == [] && !request.isRunning)
    }

    @Test("requests §1.6 the options of a handle with a parser apply to its run")
    func parserWithOptions() async throws {
        let delivered = Deliveries<Outcome<Int, NetworkError>>()
        let request = RequestHandle(
            rig.loader,
            try HandleRig.request("/missing"),
            options: .httpErrorsDisabled,
            parser: { $0.count },
            completion: { delivered.add($0) }
        )

        request.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(request.options == .httpErrorsDisabled)
        #expect(outcome.error == nil && outcome.response?.status == 404)
    }

    @Test("requests §7 every handle counts in the activity that it is given, and so do its copies")
    func activityOfEveryHandle() throws {
        let handles: [any GroupedRequest] = [
            RequestHandle(rig.loader, try rig.endpoint("/stall"), activity: rig.activity) { _ in },
            RequestHandle(rig.loader, try rig.endpoint("/stall"), activity: rig.activity, on: .anywhere) { _ in },
            RequestHandle(
                rig.loader,
                try HandleRig.request("/stall"),
                activity: rig.activity,
                parser: { $0.count },
                completion: { _ in }
            ),
            RequestHandle(rig.loader, try rig.endpoint("/stall"), activity: rig.activity) { _ in }.copy(),
        ]
        for handle in handles {
            handle.resume()
            #expect(rig.activity.isActive)
            handle.cancel()
            #expect(!rig.activity.isActive)
        }
    }

    @Test("requests §1.6 options have the bits of the brief and are replaced, not merged")
    func options() throws {
        let request = try rig.data("/ok", options: [.cancellationErrors, .httpErrorsDisabled])

        #expect(request.with(options: .backgroundCompletion).options.rawValue == 8)
        #expect(request.options.rawValue == 3)
        #expect(RequestOptions.friendlyWiFiMessagesDisabled.rawValue == 4)
        #expect(request.description.contains("not running"))
    }
}

private let mainQueueMark: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Whether the code runs on the main queue; not bound to the main actor, so that nothing but the queue decides.
private nonisolated var isOnMain: Bool { DispatchQueue.getSpecific(key: mainQueueMark) == true }
