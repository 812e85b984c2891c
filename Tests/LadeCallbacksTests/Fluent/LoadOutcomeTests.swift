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

@Suite("Fluent outcomes", .timeLimit(.minutes(5)))
struct LoadOutcomeTests: FluentSuite {
    private struct Foo: Error {}
    private struct Bar: Error {}
    private struct Show: Decodable, Equatable, Sendable { var title: String }

    let rigs = Locked<[Rig]>([])

    // MARK: - Handlers

    @Test("service SW-25 gives a handler without a value the error of a validator, with the response")
    func voidThrown() async throws {
        let outcome = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }.outcome()
        #expect(outcome.error is Foo)
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-26 gives a handler without a value an error that is no status")
    func voidBroken() async throws {
        let outcome = await (try request(rig(.text("ok").breaking(after: 1)))).outcome()
        guard case .incompleteBody = (outcome.error as? LoadingError)?.kind else {
            Issue.record("\(outcome)")
            return
        }
        // The head that had arrived is with the error: the library has no half answers.
        #expect((outcome.error as? LoadingError)?.context.status == 200)
    }

    @Test("service SW-27 gives a handler without a value a success, whatever the status, where any is accepted")
    func voidRefused() async throws {
        let outcome = await (try request(rig(.status(403)))).acceptingAnyStatus().outcome()
        #expect(outcome.error == nil)
        #expect(outcome.response?.status == 403)
    }

    @Test("service SW-28 gives a handler without a value a success")
    func voidPlain() async throws {
        let outcome = await (try request(rig(.text("ok")))).outcome()
        #expect(outcome.error == nil)
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-25 SW-29 gives a handler of the body the error of a validator, with the response")
    func dataThrown() async throws {
        let outcome = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }.dataOutcome()
        #expect(outcome.error is Foo)
        #expect(outcome.response != nil)
    }

    @Test("service SW-26 SW-30 gives a handler of the body an error when there is none")
    func dataMissing() async throws {
        let outcome = await (try request(rig(.status(204)))).dataOutcome()
        #expect(outcome.error as? ProcessingError == .emptyBody)
    }

    @Test("service SW-28 SW-31 gives a handler the body")
    func data() async throws {
        #expect(await (try request(rig(.text("ok")))).dataOutcome().value == Data("ok".utf8))
    }

    @Test("service SW-25 SW-32 gives a handler of a decoded value the error of a validator")
    func decodableThrown() async throws {
        let outcome = await (try request(rig(.json(#"{"title": "a"}"#)))).validate { _ in throw Foo() }
            .decodedOutcome(Show.self)
        #expect(outcome.error is Foo)
    }

    @Test("service SW-33 gives a handler of a decoded value an error with the missing key")
    func decodableLacking() async throws {
        let outcome = await (try request(rig(.json("{}")))).decodedOutcome(Show.self)
        guard case .keyNotFound(let key, _) = outcome.error as? DecodingError else {
            Issue.record("\(outcome)")
            return
        }
        #expect(key.stringValue == "title")
    }

    @Test("service SW-28 SW-34 gives a handler a decoded value")
    func decodable() async throws {
        let outcomes = Journal<Outcome<Show, any Error>>()
        try request(rig(.json(#"{"title": "a"}"#))).responseDecodable(Show.self) { outcomes.add($0) }
        #expect(try await outcomes.next().first?.value == Show(title: "a"))
    }

    @Test("service SW-35 decodes the type that is named, which can be mapped to another")
    func decodableMapped() async throws {
        let outcome = await (try request(rig(.json(#"{"title": "a"}"#)))).decodedOutcome([String: String].self)
        #expect(try outcome.result.map { Show(title: $0["title"] ?? "") }.get() == Show(title: "a"))
    }

    @Test("service SW-25 SW-36 gives a handler of JSON the error of a validator")
    func jsonThrown() async throws {
        let outcome = await (try request(rig(.json("{}")))).validate { _ in throw Foo() }.jsonOutcome()
        #expect(outcome.error is Foo)
    }

    @Test("service SW-37 gives a handler of JSON an error when the text is none")
    func jsonBad() async throws {
        #expect(await (try request(rig(.text("bad")))).jsonOutcome().error is JSONError)
    }

    @Test("service SW-28 SW-38 gives a handler the JSON")
    func json() async throws {
        let outcomes = Journal<Outcome<JSONValue, any Error>>()
        try request(rig(.json(#"{"a":1}"#))).responseJSON { outcomes.add($0) }
        #expect(try await outcomes.next().first?.value == .object(["a": .integer(1)]))
    }

    @Test("service SW-25 SW-39 gives a handler with a serialiser of its own the error of a validator")
    func serialiserThrown() async throws {
        let outcome = await (try request(rig(.text("ok")))).validate { _ in throw Foo() }
            .outcome(processedBy: TextProcessor())
        #expect(outcome.error is Foo)
    }

    @Test("service SW-37 SW-40 gives a handler the error of its serialiser")
    func serialiserFails() async throws {
        let failing = Service.processor { (_: Data, _) -> String in throw Bar() }
        #expect(await (try request(rig(.text("ok")))).outcome(processedBy: failing).error is Bar)
    }

    @Test("service SW-28 SW-41 gives a handler the value of its serialiser")
    func serialiser() async throws {
        #expect(await (try request(rig(.text("ok")))).outcome(processedBy: TextProcessor()).value == "ok")
    }

    // MARK: - Serialisers

    /// What a serialiser makes of a body.
    private func serialised<Value>(
        _ text: String,
        by processor: some Service.Processor<Data, Value>
    ) throws -> Value {
        try processor.process(Data(text.utf8), of: Response(status: 200, request: try Request("https://a.test/")))
    }

    @Test("service SW-42 refuses an empty body where the body is required, and delivers another as it is")
    func dataSerialiser() throws {
        #expect(throws: ProcessingError.emptyBody) { try serialised("", by: BodyProcessor()) }
        #expect(try serialised("body", by: BodyProcessor()) == Data("body".utf8))
    }

    @Test(
        "service SW-42 SW-43 misses an empty body where a value is to be decoded, and distinguishes the wrong type from the right"
    )
    func decodableSerialiser() throws {
        let processor = DecodingProcessor(Show.self, decoder: JSONDecoder())
        #expect(throws: ProcessingError.emptyBody) { try serialised("", by: processor) }
        #expect(throws: DecodingError.self) { try serialised(#"{"title": 1}"#, by: processor) }
        #expect(try serialised(#"{"title": "a"}"#, by: processor) == Show(title: "a"))
    }

    @Test("service SW-37 SW-42 SW-44 requires a body and JSON, and takes fragments")
    func jsonSerialiser() throws {
        let processor = RequiredJSONProcessor()
        #expect(throws: ProcessingError.emptyBody) { try serialised("", by: processor) }
        #expect(throws: JSONError.self) { try serialised("{null}", by: processor) }
        #expect(try serialised(#"{"a":1}"#, by: processor) == .object(["a": .integer(1)]))
        #expect(try serialised("123", by: processor) == .integer(123))
    }

    // MARK: - Awaiting, which stands for publishers and tasks

    private static let body = #"{"title":"a"}"#

    /// Publishers: a handler gets one outcome, which is a success.
    private func published<Value>(
        _ attach: (LoadRequest, @escaping @Sendable (Outcome<Value, any Error>) -> Void) -> Void
    ) async throws -> Outcome<Value, any Error> {
        let outcomes = Journal<Outcome<Value, any Error>>()
        attach(try request(rig(.json(Self.body))), { outcomes.add($0) })
        let first = try #require(await outcomes.next().first)
        #expect(outcomes.all.count == 1)
        #expect(first.response?.status == 200)
        return first
    }

    @Test("service SW-45 publishes one outcome without a value")
    func publishesVoid() async throws {
        #expect(try await published { (request, handler) in request.response(handler) }.error == nil)
    }

    @Test("service SW-45 SW-46 publishes one outcome with the body")
    func publishesData() async throws {
        #expect(
            try await published { (request, handler) in request.responseData(handler) }.value == Data(Self.body.utf8)
        )
    }

    @Test("service SW-45 SW-47 publishes one outcome with a decoded value")
    func publishesDecodable() async throws {
        let outcome = try await published { (request, handler) in request.responseDecodable(Show.self, handler) }
        #expect(outcome.value == Show(title: "a"))
    }

    @Test("service SW-45 SW-48 publishes one outcome with JSON")
    func publishesJSON() async throws {
        let outcome = try await published { (request, handler) in request.responseJSON(handler) }
        #expect(outcome.value?["title"]?.string == "a")
    }

    @Test("service SW-45 SW-49 publishes one outcome with what a serialiser made")
    func publishesSerialised() async throws {
        let outcome = try await published { (request, handler) in
            request.response(processedBy: TextProcessor(), handler)
        }
        #expect(outcome.value == Self.body)
    }

    @Test("service SW-50 publishes an error and no value without a body")
    func publishesNoValue() async throws {
        let outcomes = Journal<Outcome<Data, any Error>>()
        try request(rig(.status(204))).responseData { outcomes.add($0) }
        let outcome = try #require(await outcomes.next().first)
        #expect(outcome.value == nil)
        #expect(outcome.error as? ProcessingError == .emptyBody)
    }

    @Test("service SW-50 SW-51 publishes the value and no error with a body")
    func publishesValue() async throws {
        let outcome = try await published { (request, handler) in request.responseData(handler) }
        #expect(outcome.value?.count == Self.body.count)
        #expect(outcome.error == nil)
    }

    @Test("service SW-52 gives one outcome to a task that awaits the end")
    func awaitsVoid() async throws {
        let outcome = await (try request(rig(.json(Self.body)))).outcome()
        #expect(outcome.error == nil)
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-53 gives the body to a task that awaits it, with the response")
    func awaitsData() async throws {
        let outcome = await (try request(rig(.json(Self.body)))).dataOutcome()
        #expect(outcome.value == Data(Self.body.utf8))
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-54 gives a decoded value to a task that awaits it, with the response")
    func awaitsDecodable() async throws {
        let outcome = await (try request(rig(.json(Self.body)))).decodedOutcome(Show.self)
        #expect(outcome.value == Show(title: "a"))
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-55 gives JSON to a task that awaits it, with the response")
    func awaitsJSON() async throws {
        let outcome = await (try request(rig(.json(Self.body)))).jsonOutcome()
        #expect(outcome.value?["title"]?.string == "a")
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-56 gives the value of a serialiser to a task that awaits it, with the response")
    func awaitsSerialised() async throws {
        let outcome = await (try request(rig(.json(Self.body)))).outcome(processedBy: TextProcessor())
        #expect(outcome.value == Self.body)
        #expect(outcome.response?.status == 200)
    }

    @Test("service SW-57 throws to a task that awaits the body when there is none")
    func throwsWithoutBody() async throws {
        let empty = await (try request(rig(.status(204)))).dataOutcome()
        #expect(throws: ProcessingError.emptyBody) { try empty.get() }
    }

    @Test("service SW-58 gives the body to a task that awaits it")
    func awaitedBody() async throws {
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
