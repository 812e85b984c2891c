import Foundation
import LadePolicies
import LadeTesting
import Testing

@testable import LadeCore

/// Lets the test continue when a number of calls wait for a refresh.
private final class Waiting: Call.Observer {
    let all = Signal()
    private let left: Locked<Int>

    init(count: Int) { left = Locked(count) }

    func record(_ event: Call.Event, of call: Call) {
        guard case .waitStarted(.authorisation) = event else { return }
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { all.raise() }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct RefreshTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()
    private let refreshes = Locked(0)
    private let waiting = Waiting(count: 20)

    private func makeCall(_ number: UInt64 = 1) -> Call {
        Call(id: Call.ID(number), time: time, random: SeededRandom(seed: 1), events: [events, waiting])
    }

    private func scope() throws -> Authorisation.Scope { try Authorisation.Scope("https://api.test") }

    /// Answers 200 to the token with the given number and 401 to all others.
    private func accept(_ number: @escaping @Sendable () -> Int) {
        transport.onAnyRequest().respond(
            .computed { (request, _) throws(LoadingError) in
                .status(request.headers["Authorization"] == "Bearer token-\(number())" ? 200 : 401)
            }
        )
    }

    private func source(
        settings: Authorisation.RefreshSettings = Authorisation.RefreshSettings(),
        _ body:
            @escaping @Sendable (Int) async throws(LoadingError) -> Authorisation.RefreshingCredentials<Secret>.Fresh
    ) throws -> Authorisation.Bearer {
        Authorisation.Bearer(scope: try scope(), settings: settings) { [refreshes] (_, _) throws(LoadingError) in
            let number = refreshes.withLock { count in
                count += 1
                return count
            }
            return try await body(number)
        }
    }

    private func send(_ authoriser: any Authoriser, _ call: Call) async throws(LoadingError) -> Response {
        try await Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
            .send(Request("https://api.test/"), call: call)
    }

    private func sendAll(_ count: UInt64, _ authoriser: any Authoriser) async -> [Result<Response, LoadingError>] {
        await withTaskGroup(of: Result<Response, LoadingError>.self) { group in
            for number in 1...count {
                group.addTask {
                    do throws(LoadingError) {
                        return .success(try await send(authoriser, makeCall(number)))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func cause(_ error: (any Error)?) -> LoadingError.AuthorisationCause.Cause? {
        guard case .authorisationFailed(let fault) = (error as? LoadingError)?.kind else { return nil }
        return fault.cause
    }

    @Test("policies PL-42 service D-27 a hundred calls that meet a 401 together make one refresh and a hundred replays")
    func oneRefresh() async throws {
        let allSent = Signal()
        transport.on("old", where: { $0.headers["Authorization"] == "Bearer token-1" })
            .respond(.status(401).after(allSent))
        transport.on("new", where: { $0.headers["Authorization"] == "Bearer token-2" }).respond(.status(200))
        let authoriser = try source { .init(Secret("token-\($0)")) }

        async let results = sendAll(100, authoriser)
        try await allSent.arrivals(atLeast: 100)
        allSent.raise()
        let all = await results

        #expect(all.allSatisfy { (try? $0.get().status) == 200 })
        #expect(transport.received.count == 200)
        // The first call gets the token that is refused; another one gets the next.
        #expect(refreshes.withLock { $0 } == 2)
        #expect(events.events.count { if case .requestReplayed = $0 { true } else { false } } == 100)
        let refreshing = events.events.compactMap {
            if case .refreshStarted(let authoriser) = $0 { authoriser } else { nil }
        }
        #expect(refreshing == [authoriser.identifier, authoriser.identifier])
    }

    @Test("policies PL-41 a 401 for an old version is replayed with the new one, without a refresh")
    func replaysOldVersion() async throws {
        let gate = Signal()
        transport.on("slow", where: { $0.headers["Slow"] != nil && $0.headers["Authorization"] == "Bearer token-1" })
            .respond(.status(401).after(gate))
        accept { 2 }
        let authoriser = try source { .init(Secret("token-\($0)")) }
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        async let slow = chain.send(Request("https://api.test/", headers: ["Slow": "1"]), call: makeCall())
        try await gate.arrivals(atLeast: 1)
        #expect(try await send(authoriser, makeCall(2)).status == 200)
        gate.raise()

        #expect(try await slow.status == 200)
        #expect(refreshes.withLock { $0 } == 2)
    }

    @Test(
        "policies PL-43 a failed refresh fails all waiting calls with the same error, and is remembered for its version"
    )
    func sharesFailure() async throws {
        accept { 0 }
        let gate = Signal()
        let authoriser = try source { (_) throws(LoadingError) in
            try await gate.wait()
            throw LoadingError(.incompleteBody(received: 3, expected: 9))
        }

        async let results = sendAll(20, authoriser)
        try await gate.arrivals(atLeast: 1)
        try await waiting.all.wait()
        gate.raise()
        let all = await results
        let late = await #expect(throws: LoadingError.self) { _ = try await send(authoriser, makeCall()) }

        let texts = Set(
            all.map { if case .failure(let error) = $0 { error.description } else { "" } } + [late?.description ?? ""]
        )
        let fault = LoadingError(.incompleteBody(received: 3, expected: 9))
        let sentence = "Bearer could not get new credentials: \(fault)"
        #expect(texts == ["GET https://api.test/: \(sentence)"])
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test("policies PL-43 a server that refuses every token makes five refreshes within 30 s and no more")
    func stopsExcess() async throws {
        accept { 0 }
        let authoriser = try source { .init(Secret("token-\($0)")) }

        var causes: [LoadingError.AuthorisationCause.Cause] = []
        for _ in 0..<20 {
            do { _ = try await send(authoriser, makeCall()) } catch { cause(error).map { causes.append($0) } }
        }

        #expect(refreshes.withLock { $0 } == 5)
        guard case .excessiveRefresh = causes.last else {
            Issue.record("\(causes)")
            return
        }
        time.advance(by: .seconds(30))
        await #expect(throws: Never.self) { _ = try await send(authoriser, makeCall()) }
        #expect(refreshes.withLock { $0 } > 5)
    }

    @Test("policies PL-44 a refresh continues when the call that started it is cancelled")
    func survivesCancellation() async throws {
        accept { 1 }
        let gate = Signal()
        let authoriser = try source { (number) throws(LoadingError) in
            try await gate.wait()
            return .init(Secret("token-\(number)"))
        }
        let first = Task { try await send(authoriser, makeCall(1)) }
        try await gate.arrivals(atLeast: 1)
        let second = Task { try await send(authoriser, makeCall(2)) }
        try await events.event { if case .waitStarted = $0 { true } else { false } }

        first.cancel()
        let given = await first.result
        #expect(throws: LoadingError.self) { try given.get() }
        gate.raise()

        #expect(try await second.value.status == 200)
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test("policies PL-44 a refresh has a deadline of its own")
    func ownDeadline() async throws {
        accept { 1 }
        let authoriser = try source { (_) throws(LoadingError) in
            try await Signal().wait()
            return .init("never")
        }
        let task = Task { try await send(authoriser, makeCall()) }

        let sleeper = try await time.nextSleeper()
        #expect(sleeper.remaining == .seconds(30))
        time.advance(by: .seconds(30))

        let result = await task.result
        let error = #expect(throws: LoadingError.self) { try result.get() }
        guard case .refreshFailed(let failure as LoadingError) = cause(error), failure.kind == .timedOut(.whole) else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("policies PL-01 a call that waits for a refresh fails at its deadline, and the refresh continues")
    func observesDeadline() async throws {
        accept { 1 }
        let gate = Signal()
        let authoriser = try source { (number) throws(LoadingError) in
            try await gate.wait()
            return .init(Secret("token-\(number)"))
        }
        var call = makeCall()
        call.recordTimes(since: time.now)
        call.deadline = time.now.advanced(by: .seconds(5))
        let task = Task { [call] in try await send(authoriser, call) }
        let sleepers = try await time.sleepers(atLeast: 2)
        #expect(sleepers.map(\.remaining) == [.seconds(5), .seconds(30)])

        time.advance(by: .seconds(5))

        let result = await task.result
        let error = #expect(throws: LoadingError.self) { try result.get() }
        guard case .deadlineExceeded(let report) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        let expected = Call.StageTimes.Stage.wait(.authorisation(authoriser: "Bearer"))
        #expect(report.stages.entries == [.init(stage: expected, duration: .seconds(5))])
        gate.raise()
        #expect(try await send(authoriser, makeCall()).status == 200)
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test("policies PL-41 renews in the background before the end, without a call that waits")
    func renewsAhead() async throws {
        transport.onAnyRequest().respond(.status(200))
        let gate = Signal()
        let authoriser = try source { (number) throws(LoadingError) in
            if number > 1 { try await gate.wait() }
            return .init(Secret("token-\(number)"), end: .after(.seconds(100)))
        }
        _ = try await send(authoriser, makeCall())
        time.advance(by: .seconds(80))

        _ = try await send(authoriser, makeCall())
        try await gate.arrivals(atLeast: 1)
        gate.raise()

        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-1"])
        #expect(refreshes.withLock { $0 } == 2)
    }

    @Test("policies PL-42 in a simulation the refresh takes its virtual time, and all calls wait for it")
    func simulates() async throws {
        accept { 1 }
        let authoriser = try source { [time] (number) throws(LoadingError) in
            try await time.sleep(for: .seconds(7))
            return .init(Secret("token-\(number)"))
        }

        let results = await time.runAutomatically { await sendAll(50, authoriser) }

        #expect(results.allSatisfy { (try? $0.get().status) == 200 })
        #expect(refreshes.withLock { $0 } == 1)
        #expect(time.now == Instant(nanoseconds: 7_000_000_000))
    }

    @Test("the app can request new credentials, supply its own, and remove them")
    func byHand() async throws {
        transport.onAnyRequest().respond(.status(200))
        let authoriser = try source { .init(Secret("token-\($0)")) }
        _ = try await send(authoriser, makeCall())
        authoriser.refresh()
        _ = try await send(authoriser, makeCall())
        authoriser.credentials.replace(with: .init("own"))
        _ = try await send(authoriser, makeCall())
        authoriser.forget()
        _ = try await send(authoriser, makeCall())

        let expected = ["Bearer token-1", "Bearer token-2", "Bearer own", "Bearer token-3"]
        #expect(transport.requests.map { $0.headers["Authorization"] } == expected)
    }

    @Test("signing out during a refresh discards the new credentials")
    func forgetsDuringRefresh() async throws {
        transport.onAnyRequest().respond(.status(200))
        let gate = Signal()
        let authoriser = try source { (number) throws(LoadingError) in
            if number == 1 { try await gate.wait() }
            return .init(Secret("token-\(number)"))
        }
        async let answer = send(authoriser, makeCall())
        try await gate.arrivals(atLeast: 1)

        authoriser.forget()
        _ = try await answer

        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-2"])
    }

    @Test("a fixed token that is refused is the answer")
    func fixedToken() async throws {
        accept { 0 }
        let authoriser = Authorisation.Bearer(token: "fixed", scope: try scope())

        #expect(try await send(authoriser, makeCall()).status == 401)
        #expect(transport.received.count == 1)
    }

    @Test("finding FP-16 a fixed token that is replaced while a call is in flight is replayed after the 401")
    func replacedFixedToken() async throws {
        let gate = Signal()
        let authoriser = Authorisation.Bearer(token: "token-1", scope: try scope())
        transport.on("old", where: { $0.headers["Authorization"] == "Bearer token-1" }).respond(
            .status(401).after(gate)
        )
        transport.onAnyRequest().respond(.status(200))
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        async let answer = chain.send(Request("https://api.test/"), call: makeCall())
        try await gate.arrivals(atLeast: 1)
        authoriser.credentials.replace(with: .init("token-2"))
        gate.raise()

        #expect(try await answer.status == 200)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
    }

    @Test("finding FP-16 a fixed token that was forgotten while a call is in flight is not replayed")
    func forgottenFixedToken() async throws {
        let gate = Signal()
        let authoriser = Authorisation.Bearer(token: "token-1", scope: try scope())
        transport.onAnyRequest().respond(.status(401).after(gate))

        async let answer = send(authoriser, makeCall())
        try await gate.arrivals(atLeast: 1)
        authoriser.forget()
        gate.raise()

        #expect(try await answer.status == 401)
        #expect(transport.received.count == 1)
    }

    @Test("finding FP-14 a token source that ignores its cancellation is abandoned at the deadline of the refresh")
    func abandonsStubbornSources() async throws {
        accept { 2 }
        let (stuck, isStuck) = (Locked<CheckedContinuation<Void, Never>?>(nil), Signal())
        let authoriser = try source { (number) throws(LoadingError) in
            if number == 1 {
                await withCheckedContinuation { continuation in
                    stuck.withLock { $0 = continuation }
                    isStuck.raise()
                }
            }
            return .init(Secret("token-\(number)"))
        }
        let first = Task { try await send(authoriser, makeCall(1)) }
        _ = try await time.nextSleeper()
        try await isStuck.wait()

        time.advance(by: .seconds(30))
        let error = try await failure(of: first)
        guard case .refreshFailed(let failure as LoadingError) = cause(error), failure.kind == .timedOut(.whole) else {
            Issue.record("\(String(describing: error))")
            return
        }
        time.advance(by: .seconds(10))
        #expect(try await send(authoriser, makeCall(2)).status == 200)

        // A late result of the abandoned source is not used.
        stuck.withLock { $0.take() }?.resume()
        #expect(try await send(authoriser, makeCall(3)).status == 200)
        #expect(refreshes.withLock { $0 } == 2)
        let ends = events.events.count {
            if case .refreshFinished = $0 { true } else if case .refreshFailed = $0 { true } else { false }
        }
        #expect(ends == 2)
    }

    private func failure(of task: Task<Response, any Error>) async throws -> (any Error)? {
        switch await task.result {
        case .success: nil
        case .failure(let error): error
        }
    }
}
