#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Streams of events", .timeLimit(.minutes(5)))
struct EventStreamTests {
    private let headers: Headers = ["Content-Type": "text/event-stream; charset=utf-8"]

    private func events(_ rig: Rig, _ count: Int, _ change: (inout Request) -> Void = { _ in }) async throws
        -> [Response.ServerSentEvent]
    {
        var request = try rig.request("/feed")
        change(&request)
        let (loader, asked) = (rig.loader, request)
        return try await rig.time.runAutomatically { () async throws(LoadingError) in
            var found: [Response.ServerSentEvent] = []
            guard count > 0 else { return found }
            for try await event in loader.events(from: asked) {
                found.append(event)
                if found.count == count { break }
            }
            return found
        }
    }

    @Test("a stream of events is opened anew with Last-Event-ID, after 3 s, when it ends or breaks")
    func reconnects() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed")
            .respond(.text("id: 7\ndata: a\n\n", headers: headers))
            .then(
                .text("data: b\n\nid: 8\n\ndata: cut", headers: headers).breaking(
                    after: 18,
                    with: LoadingError(.connectionLost(.nothing, isSafeToRepeat: false))
                )
            )
            .then(.text("data: c\n\n", headers: headers))

        let found = try await events(rig, 3)

        #expect(found.map(\.data) == ["a", "b", "c"])
        #expect(found.map(\.lastEventID) == ["7", "7", "8"])
        let sent = rig.transport.requests
        #expect(sent.map { $0.headers["Last-Event-ID"] } == [nil, "7", "8"])
        #expect(sent.map { $0.headers["Accept"] } == ["text/event-stream", "text/event-stream", "text/event-stream"])
        #expect(sent.map { $0.headers["Cache-Control"] } == ["no-store", "no-store", "no-store"])
        #expect(rig.time.now == Instant(nanoseconds: 6_000_000_000))
    }

    @Test("the data of an event is decoded from JSON, and data that is none is an error of decoding")
    func values() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.text("data: [1,\ndata: 2]\n\ndata: [\n\n", headers: headers))

        let found = try await events(rig, 2)

        #expect(try found[0].decode([Int].self) == [1, 2])
        let error = #expect(throws: LoadingError.self) { try found[1].decode([Int].self) }
        #expect(error?.kind == .decoding && error?.underlyingError != nil)
    }

    @Test("the server sets the delay, and it doubles while connections bring no event")
    func delays() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed")
            .respond(.text("retry: 500\ndata: a\n\n", headers: headers))
            .then(.text("", headers: headers)).then(.text(": nothing\n\n", headers: headers))
            .then(.text("data: b\n\n", headers: headers))

        #expect(try await events(rig, 2).map(\.data) == ["a", "b"])

        // 500 ms after the first, 500 ms after one without an event, 1 s after two.
        #expect(rig.time.now == Instant(nanoseconds: 2_000_000_000))
    }

    @Test(
        "a delay is 100 ms at least, and doubling makes it a minute at most, unless the server's is longer",
        arguments: [(0, 400), (40_000, 140_000), (120_000, 360_000)] as [(Int, Int64)]
    )
    func delayBounds(retry: Int, total: Int64) async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed")
            .respond(.text("retry: \(retry)\ndata: a\n\n", headers: headers))
            .then(.text("", headers: headers)).then(.text("", headers: headers))
            .then(.text("data: b\n\n", headers: headers))

        #expect(try await events(rig, 2).map(\.data) == ["a", "b"])

        // 100, 100 and 200 ms; 40, 40 and 60 s; three times 120 s.
        #expect(rig.time.now == Instant(nanoseconds: total * 1_000_000))
    }

    @Test("a stream has ended after an error that ends it, such as an event above the limit")
    func endsForGood() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(
            .text("data: \(String(repeating: "x", count: 100))\n\n", headers: headers)
        )
        var iterator = rig.loader.events(from: try rig.request("/feed"), limit: 50).makeAsyncIterator()

        await #expect(throws: LoadingError.self) { _ = try await iterator.next() }

        #expect(try await iterator.next() == nil)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("an empty identifier of the server is in the place of the caller's, and is not sent")
    func forgetsIdentifiers() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed")
            .respond(.text("id\ndata: a\n\n", headers: headers)).then(.text("data: b\n\n", headers: headers))

        let found = try await events(rig, 2) { $0.headers.set("Last-Event-ID", "5") }

        #expect(found.map(\.lastEventID) == ["", ""])
        #expect(rig.transport.requests.map { $0.headers["Last-Event-ID"] } == ["5", nil])
    }

    @Test("only the limit of silence that the caller sets ends a silent connection")
    func silence() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.text("data: a\n\n", headers: headers))
        var request = try rig.request("/feed")
        request.timeouts.idle = .seconds(60)

        for limit in [nil, Duration.seconds(5)] {
            for try await _ in rig.loader.events(from: request, silence: limit) { break }
        }

        #expect(rig.transport.requests.map(\.timeouts.idle) == [nil, .seconds(5)])
    }

    @Test(
        "an identifier that no field value can have is not sent back, and the stream goes on",
        arguments: ["a\u{1}b", "\u{7F}", "\u{1B}[2J"]
    )
    func strangeIdentifier(id: String) async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed")
            .respond(.text("id: 7\ndata: a\n\nid: \(id)\ndata: b\n\n", headers: headers))
            .then(.text("data: c\n\nid: é\n\n", headers: headers)).then(.text("data: d\n\n", headers: headers))

        let found = try await events(rig, 4)

        #expect(found.map(\.data) == ["a", "b", "c", "d"])
        #expect(found.map(\.lastEventID) == ["7", id, id, "é"])
        #expect(rig.transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, nil, "é"])
    }

    @Test(
        "a stream is opened anew after each failure of the connection",
        arguments: [
            LoadingError(.timedOut(.connect)), LoadingError(.nameNotResolved(host: "a")),
            LoadingError(.cannotConnect(host: "a", reason: .refused)),
            LoadingError(.incompleteBody(received: 1, expected: 2)),
            LoadingError(.proxy(.nameNotResolved(proxy: "p"))), LoadingError(.proxy(.cannotConnect(proxy: "p"))),
        ] as [LoadingError]
    )
    func passingFailures(error: LoadingError) async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.fails(error)).then(.text("data: a\n\n", headers: headers))

        #expect(try await events(rig, 1).map(\.data) == ["a"])
        #expect(rig.transport.requests.count == 2)
    }

    @Test("the fields that the caller sets are sent as they are")
    func fieldsOfCaller() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.text("data: a\n\n", headers: headers))

        _ = try await events(rig, 1) { $0.headers = ["Accept": "text/*", "Cache-Control": "no-cache"] }

        let sent = try #require(rig.transport.requests.first)
        #expect(sent.headers.all("Accept") == ["text/*"] && sent.headers.all("Cache-Control") == ["no-cache"])
    }

    @Test("a 204 ends the stream")
    func ends() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.text("data: a\n\n", headers: headers)).then(.status(204))

        #expect(try await events(rig, 10).map(\.data) == ["a"])
        #expect(rig.transport.requests.count == 2)
    }

    @Test(
        "another status, another media type or none ends the stream with an error",
        arguments: ["404", "500", "206", "text/plain", "none"]
    )
    func fails(kind: String) async throws {
        let rig = Rig()
        let answer: ScriptedResponse =
            switch kind {
            case "text/plain": .text("data: a\n\n", headers: ["Content-Type": "text/plain"])
            case "none": .status(200)
            default: .status(Response.Status(Int(kind) ?? 0), headers: headers)
            }
        rig.transport.on(.get, "/feed").respond(answer)
        do {
            _ = try await events(rig, 1)
            Issue.record("It continued")
        } catch let error as LoadingError {
            switch error.kind {
            case .unacceptableStatus(let status): #expect("\(status)" == kind)
            case .decoding:
                #expect(kind == "text/plain" || kind == "none")
                guard case .mediaType(_, let type)? = error.underlyingError as? ProcessingError else {
                    throw error
                }
                #expect(type == (kind == "none" ? nil : kind))
            default: throw error
            }
        }
        #expect(rig.transport.requests.count == 1)
    }

    @Test("cancelling the task ends the wait for the next connection")
    func cancels() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/feed").respond(.text("data: a\n\n", headers: headers)).then(.status(204))
        let request = try rig.request("/feed")
        let loader = rig.loader
        let task = Task {
            for try await _ in loader.events(from: request) {}
        }
        _ = try await rig.time.nextSleeper()
        task.cancel()
        let error = await #expect(throws: LoadingError.self) { try await task.value }
        #expect(error?.isCancellation == true)
        #expect(rig.transport.requests.count == 1)
    }

    // MARK: - Sending again

    private struct Ending {
        var events = 0
        var error: LoadingError?
    }

    /// Reads a stream to its end.
    private func ending(_ rig: Rig, _ request: Request) async -> Ending {
        let loader = rig.loader
        return await rig.time.runAutomatically {
            var ending = Ending()
            do throws(LoadingError) {
                for try await _ in loader.events(from: request) { ending.events += 1 }
            } catch {
                ending.error = error
            }
            return ending
        }
    }

    private func post(_ rig: Rig, _ change: (inout Request) -> Void = { _ in }) throws -> Request {
        var request = try rig.request("/feed")
        request.method = .post
        request.body = .text("question")
        change(&request)
        return request
    }

    @Test(
        "finding LF-2 a stream of a POST is not requested again, after its end or after an error",
        arguments: [true, false]
    )
    func postOnce(breaks: Bool) async throws {
        let rig = Rig()
        let answer = ScriptedResponse.text("data: a\n\n", headers: headers)
        rig.transport.onAnyRequest()
            .respond(breaks ? answer.breaking(after: 9) : answer).then(.text("data: b\n\n", headers: headers))

        let ending = await ending(rig, try post(rig))

        #expect(ending.events == 1 && (ending.error != nil) == breaks)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("finding LF-2 a stream of a POST with an idempotency key is, with one key", arguments: [true, false])
    func postWithKey(isGenerated: Bool) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest()
            .respond(.text("data: a\n\n", headers: headers)).then(.text("data: b\n\n", headers: headers))
            .then(.status(204))

        let ending = await ending(rig, try post(rig) { $0.idempotencyKey = isGenerated ? .generated : .value("k") })

        #expect(ending.events == 2 && ending.error == nil)
        let keys = rig.transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 3 && Set(keys).count == 1 && keys[0] != nil)
    }

    @Test("finding LF-2 a stream with a body that can be sent once is not requested again")
    func onceOnly() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest()
            .respond(.text("data: a\n\n", headers: headers)).then(.text("data: b\n\n", headers: headers))
        let request = try post(rig) {
            $0.method = .put
            $0.body = .writer(length: 1) { write in try await write(Data([1])) }
        }

        #expect(await ending(rig, request).events == 1)
        #expect(rig.transport.requests.count == 1)
    }

    @Test(
        "finding LF-2 connections that fail or bring nothing withdraw from the retry budget",
        arguments: [true, false]
    )
    func budget(fails: Bool) async throws {
        var budget = RetryBudget.Settings()
        budget.capacity = 15
        let rig = Rig { $0.retryBudget = RetryBudget(budget) }
        let lost = LoadingError(.connectionLost(.nothing, isSafeToRepeat: false))
        rig.transport.onAnyRequest().respond(fails ? .fails(lost) : .text("", headers: headers))

        let ending = await ending(rig, try rig.request("/feed"))

        guard case .connectionLost = ending.error?.kind else {
            Issue.record("\(String(describing: ending.error))")
            return
        }
        #expect(rig.transport.requests.count == 4)
    }

    @Test("finding LF-2 an event refunds what the connections before it took")
    func refund() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest()
            .respond(.text("", headers: headers)).then(.text("", headers: headers))
            .then(.text("data: a\n\n", headers: headers)).then(.status(204))

        _ = await ending(rig, try rig.request("/feed"))

        let key = ServiceKey(try rig.request("/feed"))
        #expect(rig.service.settings.retryBudget?.left(for: key) == 500)
    }

    // MARK: - The pause

    private enum Ender: CaseIterable { case task, loader, signOut, shutDown }

    @Test(
        "finding LF-11 a pause before reconnecting is a current request, and ends immediately",
        arguments: Ender.allCases
    )
    private func pauses(by ender: Ender) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("data: a\n\n", headers: headers))
        let account = rig.service.account(identifier: "user")
        let loader = account.makeLoader()
        let request = try rig.request("/feed")
        let task = Task {
            await failure { () throws(LoadingError) in
                for try await _ in loader.events(from: request) {}
            }
        }
        _ = try await rig.time.nextSleeper()
        #expect(loader.currentRequests.map(\.url) == [request.url])

        switch ender {
        case .task: task.cancel()
        case .loader: loader.cancelAllLoads()
        case .signOut: await account.signOut()
        case .shutDown: await rig.service.shutDown()
        }

        #expect(await task.value?.kind == .cancelled)
        #expect(rig.transport.requests.count == 1 && loader.currentRequests.isEmpty)
        #expect(rig.time.now == Instant(nanoseconds: 0))
    }
}
