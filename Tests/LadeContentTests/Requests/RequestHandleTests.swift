import Foundation
import LadeTesting
import Observation
import Testing

@testable import LadeContent

@MainActor
struct RequestHandleTests {
    let rig = Rig()

    @Test("requests R1 gives data and response, and no error")
    func success() async throws {
        let outcome = try await rig.run("/ok")

        #expect(outcome.value?.count == 100)
        #expect(outcome.response?.status == 200)
        #expect(outcome.error == nil)
    }

    @Test("requests R2 can be made and resumed on a background thread")
    func successFromBackground() async throws {
        let told = Told<RequestOutcome<Data>>()

        try await offMain { [rig] in try rig.data("/ok", told).resume() }

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value != nil && outcome.response != nil && outcome.error == nil)
    }

    @Test("requests R3 gives a JSON dictionary")
    func dictionary() async throws {
        let told = Told<RequestOutcome<[String: JSONValue]>>()

        RequestHandle(rig.loader, try rig.endpoint("/json").jsonObject()) { told.add($0) }.resume()

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value?["name"]?.string == "x")
        #expect(outcome.response != nil && outcome.error == nil)
    }

    @Test("requests R4 sends nothing and calls nobody before it is resumed")
    func neverStarted() async throws {
        let told = Told<RequestOutcome<Data>>()
        let gone = Signal()

        _ = try rig.data("/ok", told, trace: Trace(gone))
        try await gone.wait()

        #expect(told.all.isEmpty)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("requests R5 tells JSON that cannot be read as invalid data", arguments: ["/garbage", "/empty", "/array"])
    func wrongJSON(path: String) async throws {
        rig.transport.on(.get, "/array").respond(.json("[1]"))
        let told = Told<RequestOutcome<[String: JSONValue]>>()

        RequestHandle(rig.loader, try rig.endpoint(path).jsonObject()) { told.add($0) }.resume()

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response != nil)
        #expect(outcome.error?.code == .invalidData)
    }

    @Test("requests R6 runs as soon as it is resumed, and still does when its exchange has begun")
    func runsWhenResumed() async throws {
        let request = try rig.data("/stall")

        request.resume()
        #expect(request.isRunning)

        _ = try await rig.transport.request(at: 0)
        #expect(request.isRunning)
        request.cancel()
    }

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
        let told = Told<RequestOutcome<Data>>()
        let gone = Signal()
        do {
            let request = try rig.data("/ok", told, trace: Trace(gone))
            request.resume()
            request.cancel()
        }

        try await gone.wait()

        #expect(told.all.isEmpty)
    }

    @Test("requests R9 calls back with the cancellation when that is wanted")
    func cancellationErrors() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/stall", told, options: .cancellationErrors)

        request.resume()
        request.cancel()

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response == nil)
        #expect(outcome.error?.isCancellation == true)
        #expect(outcome.error?.loadingError?.urlErrorCode == -999)
    }

    @Test("requests R10 tells a refusal as an HTTP error, with the response")
    func httpError() async throws {
        let outcome = try await rig.run("/missing")

        #expect(outcome.value == nil && outcome.response != nil)
        #expect(outcome.error?.code == .http)
    }

    @Test("requests R11 tells the status of a refusal")
    func httpErrorStatus() async throws {
        #expect(try await rig.run("/missing").error?.status == 404)
    }

    @Test("requests R12 tells the address of a refusal")
    func httpErrorURL() async throws {
        #expect(try await rig.run("/missing").error?.failingURL == "https://svc.example.com/missing")
    }

    @Test("requests R13 takes no status for an error when those are disabled")
    func httpErrorsDisabled() async throws {
        let outcome = try await rig.run("/missing", options: .httpErrorsDisabled)

        #expect(outcome.value == nil && outcome.error == nil)
        #expect(outcome.response?.status == 404)
    }

    @Test("requests R14 tells a certificate that is not trusted as what it is")
    func untrusted() async throws {
        let outcome = try await rig.run("/untrusted")

        #expect(outcome.value == nil && outcome.response == nil)
        guard case .untrustedServer = outcome.error?.loadingError else {
            Issue.record("It is \(outcome)")
            return
        }
        #expect(outcome.error?.loadingError?.urlErrorCode == -1202)
    }

    @Test("requests R15 says in every language that a public WiFi may be in the way, and at which address")
    func friendlyWiFi() async throws {
        let outcome = try await rig.run("/untrusted")

        #expect(outcome.error?.failingURL == "https://svc.example.com/untrusted")
        for language in MessageLanguage.allCases {
            #expect(outcome.error?.text(in: language).contains("WiFi") == true)
        }
    }

    @Test("requests R16 leaves the text of a refused certificate when that is wanted")
    func friendlyWiFiDisabled() async throws {
        let outcome = try await rig.run("/untrusted", options: .friendlyWiFiMessagesDisabled)

        #expect(outcome.error?.loadingError?.urlErrorCode == -1202)
        #expect(outcome.error?.failingURL == "https://svc.example.com/untrusted")
        #expect(outcome.error?.text(in: .english).contains("WiFi") == false)
    }

    @Test("requests R17 calls back on the main thread")
    func defaultThread() async throws {
        let told = Told<Bool>()
        RequestHandle(rig.loader, try rig.endpoint("/ok")) { _ in told.add(MainDelivery.isOnMain) }.resume()
        RequestHandle(rig.loader, try rig.endpoint("/ok"), on: .main) { _ in told.add(MainDelivery.isOnMain) }.resume()

        #expect(await told.wait(for: 2) == [true, true])
    }

    @Test("requests R18 calls back off the main thread when that is wanted")
    func backgroundCompletion() async throws {
        let told = Told<Bool>()
        let endpoint = try rig.endpoint("/ok")
        RequestHandle(rig.loader, endpoint, options: .backgroundCompletion, on: .main) { _ in
            told.add(MainDelivery.isOnMain)
        }.resume()

        #expect(await told.wait(for: 1) == [false])
    }

    @Test("requests R19 goes with its last reference when it was never started")
    func idleIsReleased() throws {
        weak var weakRequest: RequestHandle<Data>?
        let told = Told<RequestOutcome<Data>>()
        do {
            let request = try rig.data("/ok", told)
            weakRequest = request
        }

        #expect(weakRequest == nil)
        #expect(told.all.isEmpty)
    }

    @Test("requests R20 keeps itself until its completion has returned")
    func keepsItself() async throws {
        let gone = Signal()
        let wasAlive = Told<Bool>()
        weak var weakRequest: RequestHandle<Data>?
        do {
            let holder = Holder()
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

        #expect(await wasAlive.wait(for: 1) == [true])
        try await gone.wait()
        #expect(weakRequest == nil)
    }

    final class Holder {
        weak var weakRequest: RequestHandle<Data>?
    }

    @Test("requests R21 is released after it was cancelled and has told so")
    func releasedAfterCancellation() async throws {
        let gone = Signal()
        let told = Told<RequestOutcome<Data>>()
        weak var weakRequest: RequestHandle<Data>?
        do {
            let request = try rig.data("/stall", told, options: .cancellationErrors, trace: Trace(gone))
            weakRequest = request
            request.resume()
        }
        #expect(weakRequest != nil)
        // A weak reference is enough to cancel.
        weakRequest?.cancel()

        _ = await told.wait(for: 1)
        try await gone.wait()
        #expect(weakRequest == nil)
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
        let told = Told<Bool>()
        let holder = Holder()
        let request = RequestHandle(rig.loader, try rig.endpoint("/ok")) { _ in
            told.add(holder.weakRequest?.isRunning == true)
        }
        holder.weakRequest = request
        request.resume()

        #expect(await told.wait(for: 1) == [true])
    }

    @Test("requests R25 does not run after its completion")
    func doesNotRunAfterCompletion() async throws {
        let request = try rig.data("/ok")
        request.resume()

        await end(of: request)

        #expect(!request.isRunning)
    }

    @Test("requests R26 tells observers first that it runs")
    func observation() async throws {
        let told = Told<Bool>()
        let request = try rig.data("/ok")
        let observation = request.observeRunning { told.add($0) }

        request.resume()

        #expect(!observation.wasRunning)
        #expect(await told.wait(for: 2) == [true, false])
    }

    @Test("requests R36 tells observers of a request that the main thread resumed there, of its end too")
    func observationThread() async throws {
        let threads = Told<Bool>()
        let request = try rig.data("/ok")
        let observation = request.observeRunning { _ in threads.add(MainDelivery.isOnMain) }

        request.resume()

        #expect(await threads.wait(for: 2) == [true, true])
        observation.cancel()
    }

    @Test("requests R26 is tracked by Observation")
    func observationTracking() throws {
        let told = Told<Bool>()
        let request = try rig.data("/stall")
        withObservationTracking {
            _ = request.isRunning
        } onChange: {
            told.add(true)
        }

        request.resume()

        #expect(told.all == [true])
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

    @Test("requests R27 runs once when it is resumed twice")
    func multipleResumes() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/ok", told)

        request.resume()
        request.resume()
        await end(of: request)

        #expect(told.all.count == 1)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("requests R28 runs again after its end")
    func reuse() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/ok", told)
        request.resume()
        await end(of: request)

        request.resume()

        #expect(request.isRunning)
        #expect(await told.wait(for: 2).count == 2)
    }

    @Test("requests R29 runs again after it was cancelled")
    func reuseAfterCancellation() async throws {
        let told = Told<RequestOutcome<Data>>()
        let changes = Told<Bool>()
        let request = try rig.data("/ok", told)
        let observation = request.observeRunning { changes.add($0) }
        request.resume()
        request.cancel()

        request.resume()

        #expect(changes.all == [true, false, true])
        #expect(await told.wait(for: 1)[0].value != nil)
        observation.cancel()
    }

    @Test("requests R30 lets a completion start another request")
    func nesting() async throws {
        let told = Told<RequestOutcome<Data>>()
        let rig = rig
        RequestHandle(rig.loader, try rig.endpoint("/ok")) { outcome in
            told.add(outcome)
            do { try rig.data("/ok", told).resume() } catch { Issue.record(error) }
        }.resume()

        let outcomes = await told.wait(for: 2)
        #expect(outcomes.allSatisfy { $0.value != nil })
    }

    @Test("requests R31 has copies that run by themselves, without its options")
    func copy() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/ok", told, options: .cancellationErrors)

        let copy = request.copy()
        copy.resume()

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value != nil && outcome.response != nil && outcome.error == nil)
        #expect(copy.options == [] && !request.isRunning)
    }

    @Test("requests R35 never calls back once its loader is gone, and stops running")
    func ownerGone() async throws {
        let told = Told<RequestOutcome<Data>>()
        let transport = ScriptedTransport(answering: .stalls)
        var loader: Loader? = Service(Service.Settings(), transport: transport).anonymous.makeLoader()
        let request = RequestHandle(try #require(loader), try rig.endpoint("/ok"), options: .cancellationErrors) {
            told.add($0)
        }
        request.resume()
        _ = try await transport.request(at: 0)

        loader = nil
        await end(of: request)

        #expect(told.all.isEmpty)
    }

    @Test("requests §1.4 row 9 takes a parser that makes nothing for no error")
    func parserWithoutValue() async throws {
        let told = Told<RequestOutcome<Int>>()
        let isMain = Told<Bool>()

        RequestHandle(rig.loader, try Rig.request("/ok")) { (_: Data) -> Int? in
            isMain.add(MainDelivery.isOnMain)
            return nil
        } completion: {
            told.add($0)
        }.resume()

        let outcome = await told.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.response != nil && outcome.error == nil)
        #expect(isMain.all == [false])
    }

    @Test("requests §1.4 row 8 wraps what a parser throws")
    func parserThatThrows() async throws {
        struct Odd: Error {}
        let told = Told<RequestOutcome<Int>>()

        RequestHandle(rig.loader, try Rig.request("/ok")) { (_: Data) -> Int? in
            throw Odd()
        } completion: {
            told.add($0)
        }.resume()

        guard case .invalidData(let error, _) = await told.wait(for: 1)[0].error else {
            Issue.record("It is \(told.all)")
            return
        }
        #expect(error is Odd)
    }

    @Test("requests §1.4 a 204 without content is empty data, and a 304 is an answer as any other")
    func emptyAnswers() async throws {
        rig.transport.on(.get, "/unchanged").respond(.status(304))

        let empty = try await rig.run("/empty")
        let unchanged = try await rig.run("/unchanged")

        #expect(empty.value == Data() && empty.error == nil)
        #expect(unchanged.value == Data() && unchanged.error == nil)
    }

    @Test("requests §1.6 options have the bits of the brief and are replaced, not merged")
    func options() throws {
        let request = try rig.data("/ok", options: [.cancellationErrors, .httpErrorsDisabled])

        #expect(request.with(options: .backgroundCompletion).options.rawValue == 8)
        #expect(request.options.rawValue == 3)
        #expect(RequestOptions.friendlyWiFiMessagesDisabled.rawValue == 4)
        #expect(request.description.contains("not running"))
    }

    @Test("requests RQ-D1 stops running when others than itself cancel it")
    func cancelledByOthers() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/stall", told)
        request.resume()
        _ = try await rig.transport.request(at: 0)

        rig.loader.cancelAllLoads()
        await end(of: request)

        #expect(!request.isRunning)
        #expect(told.all.isEmpty)
    }

    @Test("requests RQ-D2 drops an answer whose request is cancelled before its completion begins")
    func cancelledBeforeCompletion() async throws {
        let told = Told<RequestOutcome<Data>>()
        let gone = Signal()
        let scheduled = Told<@Sendable () -> Void>()
        let executor = CompletionExecutor { work in scheduled.add(work) }
        do {
            let trace = Trace(gone)
            let endpoint = try rig.endpoint("/ok")
            let request = RequestHandle(rig.loader, endpoint, on: executor) { [trace] outcome in
                withExtendedLifetime(trace) { told.add(outcome) }
            }
            request.resume()
            // The answer is there and its completion about to be called.
            _ = await scheduled.wait(for: 1)
            request.cancel()
        }
        scheduled.all[0]()

        #expect(told.all.isEmpty)
    }

    @Test("requests RQ-D3 runs on when the cancelled run before tells its cancellation")
    func generations() async throws {
        let told = Told<RequestOutcome<Data>>()
        let request = try rig.data("/slow", told, options: .cancellationErrors)
        request.resume()
        _ = try await rig.transport.request(at: 0)

        request.cancel()
        request.resume()
        _ = await told.wait(for: 1)
        #expect(request.isRunning)

        rig.go.raise()
        let outcomes = await told.wait(for: 2)
        #expect(outcomes[0].error?.isCancellation == true)
        #expect(outcomes[1].value != nil)
    }

    @Test("requests RQ-D4 does not run within the completion that tells its cancellation")
    func cancelledRunDoesNotRun() async throws {
        let told = Told<Bool>()
        let holder = Holder()
        let endpoint = try rig.endpoint("/stall")
        let request = RequestHandle(rig.loader, endpoint, options: .cancellationErrors) { _ in
            told.add(holder.weakRequest?.isRunning == true)
        }
        holder.weakRequest = request
        request.resume()
        request.cancel()

        #expect(await told.wait(for: 1) == [false])
    }
}
