#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@Suite("Fluent requests")
struct LoadRequestTests {
    struct Foo: Error, Equatable {}
    struct Bar: Error, Equatable {}
    struct Show: Decodable, Equatable, Sendable { var title: String }

    private func request(_ rig: Rig, _ path: String = "/thing") throws -> LoadRequest {
        rig.loader.request(try rig.request(path).url, sourceIdentifier: "tests", on: .anywhere)
    }

    // A request does not hold its loader, so somebody else has to.
    private let rigs = Locked<[Rig]>([])

    private func rig(_ answer: ScriptedAnswer) -> Rig {
        let rig = Rig()
        rigs.withLock { $0.append(rig) }
        rig.transport.onAnyRequest().respond(answer)
        return rig
    }

    private func status(_ error: (any Error)?) -> Int? {
        if case .unacceptableStatus(let status, _) = error as? LoadingError { status.code } else { nil }
    }

    private func isCancellation(_ error: (any Error)?) -> Bool { (error as? LoadingError)?.isCancellation == true }

    // MARK: - States

    @Test("service SW-01 is made by a loader")
    func creation() throws {
        #expect(try request(Rig()).request.sourceIdentifier == "tests")
    }

    @Test("service SW-02 is under way from its first handler on")
    func active() async throws {
        let rig = rig(.stalls)
        let requests = try ["/a", "/b", "/c"].map { try request(rig, $0) }
        requests[0].response { _ in }
        requests[2].response { _ in }
        #expect(Set(rig.loader.currentRequests.map(\.url.lastPathComponent)) == ["a", "c"])
        rig.loader.cancelAllLoads()
    }

    @Test("is let go, with its handlers, when its loader goes away while it is under way", .timeLimit(.minutes(1)))
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

    @Test("keeps its loader as long as it is awaited", .timeLimit(.minutes(1)))
    func keepsItsLoader() async throws {
        let answers = Signal()
        let task: Task<LoadOutcome<Data>, Never>
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

    @Test("service SW-03 service SW-04 tells a success and an error", arguments: [true, false])
    func ending(_ isGood: Bool) async throws {
        let rig = rig(isGood ? .text("ok") : .connectionLost())
        let outcomes = Journal<LoadOutcome<Void>>()
        try request(rig).response { outcomes.add($0) }
        let first = try #require(await outcomes.next().first)
        #expect((first.error == nil) == isGood)
    }

    @Test("service SW-05 service D-34 tells a cancellation once")
    func cancelled() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<LoadOutcome<Void>>()
        let request = try request(rig).response { outcomes.add($0) }
        request.cancel()
        let all = try await outcomes.next()
        #expect(all.count == 1)
        #expect(isCancellation(all[0].error))
    }

    @Test("service SW-06 cancels what is under way, and not what was never sent")
    func cancelActive() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<LoadOutcome<Void>>()
        let requests = try ["/a", "/b", "/c"].map { try request(rig, $0) }
        for request in requests[..<2] { request.response { outcomes.add($0) } }

        rig.loader.cancelAllLoads()
        let all = try await outcomes.next(2)

        #expect(all.allSatisfy { isCancellation($0.error) })
        #expect(!requests[2].isCancelled)
        requests[2].cancel()
    }

    @Test("service SW-07 service SW-08 service D-35 can be changed until it is sent, streaming flag and all")
    func modify() async throws {
        let rig = rig(.text("ok"))
        let request = try request(rig).modify { $0.method = .delete }.modify { $0.delivery = .streamed }
        let outcomes = Journal<LoadOutcome<Data>>()
        request.responseData { outcomes.add($0) }
        request.modify { $0.method = .put }
        #expect(try await outcomes.next().first?.value == Data("ok".utf8))
        #expect(rig.transport.requests.map(\.method) == [.delete])
        #expect(request.request.method == .delete)
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

    @Test(
        "service SW-14 service SW-15 service SW-16 service SW-17 judges statuses",
        arguments: [
            (201, nil, true), (301, nil, false), (304, 300..<400, true), (204, 200..<201, false),
        ] as [(Int, Range<Int>?, Bool)]
    )
    func statuses(_ code: Int, _ range: Range<Int>?, _ isGood: Bool) async throws {
        let request = try request(rig(.status(Status(code))))
        if let range { request.validateStatus(in: range) }
        let outcome = await request.outcome()
        #expect(status(outcome.error) == (isGood ? nil : code))
    }

    @Test("service D-38 takes a 404 for a failure unless told otherwise, and keeps the answer within reach")
    func notFound() async throws {
        let outcome = await (try request(rig(.status(404, "page")))).outcome()
        #expect(status(outcome.error) == 404)
        #expect(outcome.data == Data("page".utf8))
    }

    // MARK: - Handlers

    @Test("service SW-18 service SW-24 tells handlers before and after that it could not be sent")
    func executionFails() async throws {
        let rig = rig(.text("ok"))
        var loader: Loader? = rig.loader.account.makeLoader()
        let request = try #require(loader).request(try rig.request(), on: .anywhere)
        loader = nil
        let outcomes = Journal<LoadOutcome<Void>>()
        request.response { outcomes.add($0) }
        request.response { outcomes.add($0) }
        let all = try await outcomes.next(2)
        #expect(all.allSatisfy { isCancellation($0.error) && $0.response == nil })
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SW-19 service D-34 tells handlers before and after a cancellation of it")
    func aroundCancellation() async throws {
        let rig = rig(.stalls)
        let outcomes = Journal<LoadOutcome<Void>>()
        let request = try request(rig).response { outcomes.add($0) }
        request.cancel()
        request.response { outcomes.add($0) }
        let all = try await outcomes.next(2)
        #expect(all.count == 2)
        #expect(all.allSatisfy { isCancellation($0.error) })
    }

    @Test(
        "service SW-20 service SW-21 service SW-22 service SW-23 sends once and tells each handler once",
        arguments: [true, false]
    )
    func handlers(_ isGood: Bool) async throws {
        let rig = rig(isGood ? .text("ok") : .connectionLost())
        let outcomes = Journal<LoadOutcome<Void>>()
        let request = try request(rig).response { outcomes.add($0) }.response { outcomes.add($0) }
        _ = try await outcomes.next(2)
        request.response { outcomes.add($0) }
        let all = try await outcomes.next()
        #expect(all.count == 3)
        #expect(all.allSatisfy { ($0.error == nil) == isGood })
        #expect(rig.transport.received.count == 1)
    }

    @Test("service SW-25 service SW-26 service SW-27 service SW-28 tells a handler without a value how it ended")
    func voidHandler() async throws {
        let thrown = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }.outcome()
        #expect(thrown.error is Foo && thrown.response != nil)
        let broken = await (try request(rig(.text("ok").breaking(after: 1)))).outcome()
        #expect(broken.error is LoadingError)
        let refused = await (try request(rig(.status(403)))).acceptingAnyStatus().outcome()
        #expect(refused.error == nil && refused.response?.status == 403)
        let plain = await (try request(rig(.text("ok")))).outcome()
        #expect(plain.error == nil && plain.response != nil)
    }

    @Test("service SW-29 service SW-30 service SW-31 service SW-42 tells a handler the body, and misses an empty one")
    func dataHandler() async throws {
        let thrown = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }.dataOutcome()
        #expect(thrown.error is Foo && thrown.response != nil)
        #expect(await (try request(rig(.status(204)))).dataOutcome().error as? ProcessingFault == .emptyBody)
        #expect(await (try request(rig(.text("ok")))).dataOutcome().value == Data("ok".utf8))
    }

    @Test("service SW-32 service SW-33 service SW-34 service SW-35 service SW-43 tells a handler a decoded value")
    func decodableHandler() async throws {
        let thrown = await (try request(rig(.json("{}")))).validate { _ in throw Foo() }.decodedOutcome(Show.self)
        #expect(thrown.error is Foo)
        #expect(await (try request(rig(.json("{}")))).decodedOutcome(Show.self).error is DecodingError)
        #expect(
            await (try request(rig(.status(204)))).decodedOutcome(Show.self).error as? ProcessingFault == .emptyBody
        )
        let outcomes = Journal<LoadOutcome<Show>>()
        try request(rig(.json(#"{"title": "a"}"#))).responseDecodable(Show.self) { outcomes.add($0) }
        #expect(try await outcomes.next().first?.value == Show(title: "a"))
        let mapped = await (try request(rig(.json(#"{"title": "a"}"#)))).decodedOutcome([String: String].self)
        #expect(mapped.result.map { $0["title"] }.isSame(as: "a"))
    }

    @Test("service SW-36 service SW-37 service SW-38 service SW-44 tells a handler JSON, fragments too")
    func jsonHandler() async throws {
        let thrown = await (try request(rig(.json("{}")))).validate { _ in throw Foo() }.jsonOutcome()
        #expect(thrown.error is Foo)
        #expect(await (try request(rig(.text("bad")))).jsonOutcome().error is JSONFault)
        #expect(await (try request(rig(.text("{null}")))).jsonOutcome().error is JSONFault)
        #expect(await (try request(rig(.status(204)))).jsonOutcome().error as? ProcessingFault == .emptyBody)
        #expect(await (try request(rig(.text("123")))).jsonOutcome().value == .integer(123))
        let outcomes = Journal<LoadOutcome<JSONValue>>()
        try request(rig(.json(#"{"a":1}"#))).responseJSON { outcomes.add($0) }
        #expect(try await outcomes.next().first?.value == .object(["a": .integer(1)]))
    }

    @Test("service SW-39 service SW-40 service SW-41 tells a handler what its own serialiser makes")
    func serialiser() async throws {
        let good = await (try request(rig(.text("ok")))).outcome(processedBy: TextProcessor())
        #expect(good.value == "ok")
        let thrown = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }.outcome(
            processedBy: TextProcessor()
        )
        #expect(thrown.error is Foo)
        let failing = ClosureProcessor { (_: Data, _) -> String in throw Bar() }
        #expect(await (try request(rig(.text("ok")))).outcome(processedBy: failing).error is Bar)
    }

    // MARK: - Awaiting, which stands for publishers and tasks

    @Test(
        """
        service SW-45 service SW-46 service SW-47 service SW-48 service SW-49 service SW-52 service SW-53 service SW-54 \
        service SW-55 service SW-56 gives one outcome of every kind to who awaits it
        """
    )
    func awaited() async throws {
        let rig = rig(.json(#"{"title":"a"}"#))
        #expect(await (try request(rig)).outcome().error == nil)
        #expect(await (try request(rig)).dataOutcome().value?.count == 13)
        #expect(await (try request(rig)).decodedOutcome(Show.self).value == Show(title: "a"))
        #expect(await (try request(rig)).jsonOutcome().value?["title"]?.string == "a")
        #expect(await (try request(rig)).outcome(processedBy: TextProcessor()).value?.count == 13)
    }

    @Test(
        "service SW-50 service SW-51 service SW-57 service SW-58 throws without a body, and gives it where there is one"
    )
    func value() async throws {
        let empty = await (try request(rig(.status(204)))).dataOutcome()
        #expect(throws: ProcessingFault.emptyBody) { try empty.get() }
        #expect(try await request(rig(.text("ok"))).dataOutcome().get() == Data("ok".utf8))
    }

    @Test("service SW-59 has value or error, request, answer and raw body")
    func accessors() async throws {
        let good = await (try request(rig(.text("7")))).decodedOutcome(Int.self)
        #expect(good.value == 7 && good.error == nil && good.data == Data("7".utf8) && good.response?.status == 200)
        #expect(good.request.url.lastPathComponent == "thing")
        let bad = await (try request(rig(.text("x")))).decodedOutcome(Int.self)
        #expect(bad.value == nil && bad.error != nil && bad.data == Data("x".utf8))
    }

    @Test("service D-34 ends an awaited outcome when the task around it is cancelled")
    func structured() async throws {
        let rig = rig(.stalls)
        let request = try request(rig)
        let task = Task { await request.outcome() }
        _ = try await rig.transport.request(at: 0)
        task.cancel()
        #expect(isCancellation(await task.value.error))
        try await rig.transport.cancellations(atLeast: 1)
    }
}

extension Result where Success: Equatable {
    /// Whether it is this success.
    func isSame(as value: Success) -> Bool {
        if case .success(let success) = self { success == value } else { false }
    }
}
