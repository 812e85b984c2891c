#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

@Suite("Fluent requests", .timeLimit(.minutes(5)))
struct LoadRequestTests: FluentSuite {
    private struct Foo: Error {}

    let rigs = Locked<[Rig]>([])

    // MARK: - States

    @Test("service SW-01 is made by a loader")
    func creation() throws {
        #expect(try request(Rig()).request.sourceIdentifier == "tests")
    }

    @Test("service SW-02 is in flight from its first handler on")
    func active() async throws {
        let rig = rig(.stalls)
        let requests = try ["/a", "/b", "/c"].map { try request(rig, $0) }
        requests[0].response { _ in }
        requests[2].response { _ in }
        #expect(Set(rig.loader.currentRequests.map(\.url.lastPathComponent)) == ["a", "c"])
        rig.loader.cancelAllLoads()
    }

    @Test("is released, with its handlers, when its loader is released while it is in flight", .timeLimit(.minutes(5)))
    func release() async throws {
        let isGone = Signal()
        do {
            let rig = Rig()
            rig.transport.onAnyRequest().respond(.stalls)
            let sentinel = Sentinel { isGone.raise() }
            try request(rig).response { _ in withExtendedLifetime(sentinel) {} }
            _ = try await rig.transport.request(at: 0)
        }

        try await isGone.wait()
    }

    @Test("finding SF-6 gives each handler one cancellation when its loader is released", arguments: [1, 3])
    func cancelledByRelease(count: Int) async throws {
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request: LoadRequest
        do {
            let rig = Rig()
            rig.transport.onAnyRequest().respond(.stalls)
            request = rig.loader.request(try rig.request(), on: .anywhere)
            for _ in 0..<count { request.response { outcomes.add($0) } }
            _ = try await rig.transport.request(at: 0)
            withExtendedLifetime(rig) {}
        }

        let all = try await outcomes.next(count)
        // One that comes too late hears the same.
        request.response { outcomes.add($0) }
        _ = try await outcomes.next()

        #expect(all.allSatisfy { isCancellation($0.error) } && outcomes.all.count == count + 1)
    }

    @Test("keeps its loader as long as it is awaited", .timeLimit(.minutes(5)))
    func keepsItsLoader() async throws {
        let answers = Signal()
        let task: Task<Outcome<Data, any Error>, Never>
        do {
            let rig = Rig()
            rig.transport.onAnyRequest().respond(.text("ok").after(answers))
            let request = try request(rig)
            task = Task { await request.dataOutcome() }
            _ = try await rig.transport.request(at: 0)
            withExtendedLifetime(rig) {}
        }

        answers.raise()

        #expect(await task.value.value == Data("ok".utf8))
    }

    /// How a request that is answered so ended for its handler.
    private func outcome(_ answer: ScriptedResponse) async throws -> Outcome<Void, any Error> {
        let outcomes = Journal<Outcome<Void, any Error>>()
        try request(rig(answer)).response { outcomes.add($0) }
        return try #require(await outcomes.next().first)
    }

    @Test("service SW-03 reports a success")
    func success() async throws {
        let outcome = try await outcome(.text("ok"))
        #expect(outcome.error == nil)
        #expect(outcome.data == Data("ok".utf8))
    }

    @Test("service SW-04 reports an error")
    func failure() async throws {
        let error = LoadingError(.transport(code: 123, message: ""))
        #expect((try await outcome(.fails(error)).error as? LoadingError)?.kind == error.kind)
    }

    @Test("service SW-05 service D-34 reports a cancellation once")
    func cancelled() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request = try request(rig).response { outcomes.add($0) }
        request.cancel()
        let all = try await outcomes.next()
        #expect(all.count == 1)
        #expect(isCancellation(all[0].error))
    }

    @Test("service SW-06 cancels what is in flight, and not what was never sent")
    func cancelActive() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<Outcome<Void, any Error>>()
        let requests = try ["/a", "/b", "/c"].map { try request(rig, $0) }
        for request in requests[..<2] { request.response { outcomes.add($0) } }

        rig.loader.cancelAllLoads()
        let all = try await outcomes.next(2)

        #expect(all.allSatisfy { isCancellation($0.error) })
        #expect(!requests[2].isCancelled)
        requests[2].cancel()
    }

    @Test("sends nothing after it was cancelled, and notifies a handler of that")
    func cancelledUnsent() async throws {
        let rig = rig(.text("ok"))
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request = try request(rig)

        request.cancel()
        request.response { outcomes.add($0) }

        #expect(try await isCancellation(outcomes.next()[0].error))
        #expect(request.isCancelled && rig.transport.requests.isEmpty && rig.events.events.isEmpty)
    }

    @Test("releases its handlers when it ends", .timeLimit(.minutes(5)), arguments: [false, true])
    func handlersAfterTheEnd(isCancelled: Bool) async throws {
        let isGone = Signal()
        let rig = rig(isCancelled ? .stalls : .text("ok"))
        let request = try request(rig)
        attachSentinel(to: request, isGone)
        if isCancelled { request.cancel() }

        try await isGone.wait()
        withExtendedLifetime(request) {}
    }

    private func attachSentinel(to request: LoadRequest, _ isGone: Signal) {
        let sentinel = Sentinel { isGone.raise() }
        request.response { _ in withExtendedLifetime(sentinel) {} }
    }

    @Test("does not send again for a status that it accepts itself")
    func acceptedStatus() async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503))
        let outcome = try await request(rig).validateStatus(in: [503]).outcome()

        #expect(outcome.error == nil && outcome.response?.status == 503)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("gives an answer of any status where any is accepted", arguments: [100, 599, 600, 999])
    func anyStatus(status: Int) async throws {
        let rig = rig(.status(Response.Status(status)))
        let outcome = try await request(rig).acceptingAnyStatus().outcome()

        #expect(outcome.error == nil && outcome.response?.status.code == status)
    }

    @Test("service SW-07 can be changed before it is sent")
    func modifyBefore() async throws {
        let rig = rig(.text("ok"))
        let request = try request(rig).modify { $0.method = .delete }
        _ = await request.outcome()
        #expect(rig.transport.requests.map(\.method) == [.delete])
        #expect(request.request.method == .delete)
    }

    @Test("service SW-08 cannot be changed after it was sent")
    func modifyAfter() async throws {
        let rig = rig(.stalls)
        let request = try request(rig).response { _ in }
        request.modify { $0.method = .put }
        _ = try await rig.transport.request(at: 0)
        #expect(rig.transport.requests.map(\.method) == [.get])
        #expect(request.request.method == .get)
        request.cancel()
    }

    @Test("service D-35 takes the streaming flag while it is built, and gives the whole body")
    func modifyDelivery() async throws {
        let request = try request(rig(.text("ok"))).modify { $0.delivery = .streamed }
        #expect(await request.dataOutcome().value == Data("ok".utf8))
    }

    @Test("service SW-09 cancels the exchange")
    func cancelAfterStart() async throws {
        let rig = rig(.stalls)
        let request = try request(rig).response { _ in }
        _ = try await rig.transport.request(at: 0)
        request.cancel()
        try await rig.transport.cancellations(atLeast: 1)
        #expect(request.isCancelled)
    }

    @Test("service SW-10 sends the request as it was built")
    func execution() async throws {
        let rig = rig(.text("ok"))
        _ = try await request(rig, "/a?b=c").modify { $0.headers["X-Own"] = "1" }.outcome().get()
        #expect(rig.transport.lines == ["GET /a?b=c"])
        #expect(rig.transport.requests[0].headers["X-Own"] == "1")
        #expect(rig.transport.requests[0].sourceIdentifier == "tests")
    }

    // MARK: - Validators

    @Test("service SW-11 runs no validator when there is no answer")
    func noValidators() async throws {
        let ran = Locked(0)
        let outcome = await (try request(rig(.connectionLost()))).validate { _ in ran.withLock { $0 += 1 } }.outcome()
        #expect(outcome.error is LoadingError)
        #expect(outcome.response == nil)
        #expect(ran.withLock { $0 } == 0)
    }

    @Test("service SW-12 runs all validators over a status that is accepted, whatever it is")
    func bothValidators() async throws {
        let ran = Locked(0)
        let count: LoadRequest.Validator = { _ in ran.withLock { $0 += 1 } }
        let outcome = await (try request(rig(.status(403)))).acceptingAnyStatus().validate(count).validate(count)
            .outcome()
        #expect(outcome.error == nil)
        #expect(ran.withLock { $0 } == 2)
    }

    @Test("service SW-13 stops at the first validator that throws")
    func validatorsStop() async throws {
        let ran = Locked(0)
        let count: LoadRequest.Validator = { _ in ran.withLock { $0 += 1 } }
        let outcome = await (try request(rig(.text("ok")))).validate(count).validate { _ in throw Foo() }.validate(
            count
        )
        .outcome()
        #expect(outcome.error is Foo)
        #expect(outcome.response != nil)
        #expect(ran.withLock { $0 } == 1)
    }

    /// The status for which a request fails that is answered so; nil when it succeeds.
    private func refused(_ code: Int, in range: Response.StatusSet? = nil) async throws -> Int? {
        let request = try request(rig(.status(Response.Status(code))))
        if let range { request.validateStatus(in: range) }
        return status(await request.outcome().error)
    }

    @Test("service SW-14 takes a 201 by default")
    func created() async throws { #expect(try await refused(201) == nil) }

    @Test("service SW-15 refuses a 301 by default, with its code")
    func moved() async throws { #expect(try await refused(301) == 301) }

    @Test("service SW-16 accepts a 304 where 300 to 399 are accepted")
    func notModified() async throws { #expect(try await refused(304, in: .redirection) == nil) }

    @Test("service SW-17 refuses a 204 where only 200 is accepted, with its code")
    func noContent() async throws { #expect(try await refused(204, in: 200) == 204) }

    @Test("service D-38 treats a 404 as a failure by default, and keeps the answer in its error")
    func notFound() async throws {
        let outcome = await (try request(rig(.status(404, "page")))).outcome()
        #expect(status(outcome.error) == 404)
        #expect(outcome.data == Data("page".utf8))
    }

    @Test("hands over an answer whose status the request itself refuses, with the error", arguments: [404, 299])
    func refusedByRequest(code: Int) async throws {
        let rig = rig(.status(Response.Status(code), "page"))
        var asked = try rig.request("/thing")
        asked.acceptableStatuses = 200

        let outcome = await rig.loader.request(asked, on: .anywhere).outcome()

        #expect(status(outcome.error) == code)
        #expect(outcome.response?.status.code == code)
        #expect(outcome.data == Data("page".utf8))
    }

    // MARK: - Handlers

    /// What handlers get for a request that cannot be sent, because its loader is released.
    private func unsent(
        count: Int = 1,
        _ attach: (LoadRequest, Journal<Outcome<Void, any Error>>) -> Void
    ) async throws -> [Outcome<Void, any Error>] {
        let rig = rig(.text("ok"))
        var loader: Loader? = rig.loader.account.makeLoader()
        let request = try #require(loader).request(try rig.request(), on: .anywhere)
        loader = nil
        let outcomes = Journal<Outcome<Void, any Error>>()
        attach(request, outcomes)
        _ = try await outcomes.next(count)
        #expect(rig.transport.requests.isEmpty)
        return outcomes.all
    }

    @Test("service SW-18 gives handlers before and after the error that it could not be sent")
    func executionFails() async throws {
        let all = try await unsent(count: 2) { request, outcomes in
            request.response { outcomes.add($0) }
            request.response { outcomes.add($0) }
        }
        #expect(all.count == 2)
        #expect(all.allSatisfy { isCancellation($0.error) })
    }

    @Test("service SW-18 notifies a handler of it where handlers run, and not while it is attached")
    func executorOfUnsent() throws {
        let rig = rig(.text("ok"))
        let scheduled = Locked<[@Sendable () -> Void]>([])
        let executor = Service.CompletionExecutor { work in scheduled.withLock { $0.append(work) } }
        var loader: Loader? = rig.loader.account.makeLoader()
        let request = try #require(loader).request(try rig.request(), on: executor)
        loader = nil
        let outcomes = Journal<Outcome<Void, any Error>>()

        request.response { outcomes.add($0) }
        #expect(outcomes.all.isEmpty)

        for work in scheduled.withLock({ $0 }) { work() }
        #expect(outcomes.all.map { isCancellation($0.error) } == [true])
    }

    @Test("service SW-24 gives a handler without a value the error that it could not be sent, without an answer")
    func voidExecutionFails() async throws {
        let all = try await unsent { request, outcomes in request.response { outcomes.add($0) } }
        #expect(all.map { isCancellation($0.error) } == [true])
        #expect(all.map { $0.response == nil } == [true])
    }

    @Test("service SW-19 service D-34 notifies handlers before and after a cancellation of it")
    func aroundCancellation() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request = try request(rig).response { outcomes.add($0) }
        request.cancel()
        request.response { outcomes.add($0) }
        let all = try await outcomes.next(2)
        #expect(all.count == 2)
        #expect(all.allSatisfy { isCancellation($0.error) })
    }

    /// What handlers get for a request: some attached before it is sent, some after its end.
    private func handled(
        _ answer: ScriptedResponse,
        before: Int,
        after: Int
    ) async throws -> (outcomes: [Outcome<Void, any Error>], sent: Int) {
        let rig = rig(answer)
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request = try request(rig)
        for _ in 0..<before { request.response { outcomes.add($0) } }
        _ = try await outcomes.next(before)
        for _ in 0..<after { request.response { outcomes.add($0) } }
        _ = try await outcomes.next(after)
        return (outcomes.all, rig.transport.received.count)
    }

    @Test("service SW-20 notifies a handler once, also when the transport reports an end twice")
    func answersTwice() async throws {
        // A cancellation after the end is the only second ending that there can be.
        let rig = rig(.text("ok"))
        let outcomes = Journal<Outcome<Void, any Error>>()
        let request = try request(rig).response { outcomes.add($0) }
        _ = try await outcomes.next()
        request.cancel()
        rig.loader.cancelAllLoads()
        await rig.service.shutDown()
        #expect(outcomes.all.count == 1)
        #expect(outcomes.all.first?.error == nil)
    }

    @Test("service SW-21 sends once for two handlers, and notifies both")
    func twoHandlers() async throws {
        let (outcomes, sent) = try await handled(.text("ok"), before: 2, after: 0)
        #expect(outcomes.map { $0.error == nil } == [true, true])
        #expect(sent == 1)
    }

    @Test("service SW-22 notifies a handler that comes after the end, without sending again")
    func lateHandler() async throws {
        let (outcomes, sent) = try await handled(.text("ok"), before: 1, after: 1)
        #expect(outcomes.map { $0.data } == [Data("ok".utf8), Data("ok".utf8)])
        #expect(sent == 1)
    }

    @Test("service SW-23 notifies a handler that comes after a failure of it, without sending again")
    func lateHandlerOfFailure() async throws {
        let (outcomes, sent) = try await handled(.connectionLost(), before: 1, after: 1)
        #expect(outcomes.count == 2)
        #expect(outcomes.allSatisfy { $0.error is LoadingError })
        #expect(sent == 1)
    }
}
