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

@Suite("Small parts", .timeLimit(.minutes(5)))
struct SmallPartsTests {
    /// A call in flight that was cancelled a number of times, and the reports to its delegate.
    private func cancelled(_ times: Int) async throws -> (handle: Loader.Handle, reported: [Report]) {
        let rig = Rig()
        let recorder = ReportRecorder()
        let handle = try await rig.performStalling(recorder)
        for _ in 0..<times { handle.cancel() }
        _ = try await recorder.journal.next()
        // After the end of the exchange, nothing more can be reported.
        try await rig.transport.cancellations(atLeast: 1)
        try await rig.events.line("call failed: cancelled")
        return (handle, recorder.reported)
    }

    @Test("service SM-01 reports one cancellation, and is marked as cancelled")
    func cancel() async throws {
        let (handle, reported) = try await cancelled(1)
        #expect(reported == [.cancelled])
        #expect(handle.isCancelled)
    }

    @Test("service SM-02 reports one cancellation when it is cancelled twice")
    func cancelTwice() async throws {
        #expect(try await cancelled(2).reported == [.cancelled])
    }

    @Test("service SM-03 gives a handle that names what it cancels")
    func handle() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)

        let handle = rig.loader.load(try rig.request("/a"), on: .anywhere) { _ in }

        #expect("\(handle.request)" == "GET https://svc.example.com/a")
        #expect(handle.isRunning)
        handle.cancel()
    }

    @Test("service SM-04 counts nothing for a name that is not text")
    func sizeOfOddName() {
        #expect(Headers.Size.compatible([(1, "b")]) == 0)
    }

    @Test("service SM-05 counts nothing for a value that is not text")
    func sizeOfOddValue() {
        #expect(Headers.Size.compatible([("a", 2)]) == 0)
    }

    @Test("service SM-06 counts name, value and three bytes for each field")
    func size() {
        #expect(Headers.Size.compatible([("Authorisation", "Basic thisismytoken")]) == 35)
    }

    @Test("service SM-07 makes a loader for callers that prefer a closure to a delegate")
    func closureLoader() {
        let loader = Rig().service.anonymous.makeLoader()
        #expect(loader.delegate == nil)
        #expect(loader.currentRequests.isEmpty)
    }

    @Test("service LO-02 SM-08 hands a request with a closure to the layer above")
    func closurePerform() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let handle = rig.loader.load(try rig.request("/a"), on: .anywhere) { _ in }
        _ = try await rig.transport.request(at: 0)
        #expect(rig.loader.currentRequests.map(\.url.lastPathComponent) == ["a"])
        #expect(rig.transport.lines == ["GET /a"])
        handle.cancel()
    }

    @Test("service SM-09 calls back with the answer", .timeLimit(.minutes(5)))
    func success() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let results = Journal<Result<Response, LoadingError>>()

        rig.loader.load(try rig.request(), on: .anywhere) { results.add($0) }

        #expect(try await results.next().first?.get().status == 200)
    }

    @Test("service SM-10 service D-33 calls back with the error, and with that of a cancellation")
    func failures() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(503, "down")).then(.stalls)
        let results = Journal<Result<Response, LoadingError>>()

        rig.loader.load(try rig.request(), on: .anywhere) { results.add($0) }
        _ = try await results.next()
        let handle = rig.loader.load(try rig.request(), on: .anywhere) { results.add($0) }
        _ = try await rig.transport.request(at: 1)
        handle.cancel()
        let all = try await results.next()

        guard case .failure(let error) = all[0], case .unacceptableStatus(503) = error.kind,
            case .failure(let last) = all[1], last.kind == .cancelled
        else {
            Issue.record("\(all)")
            return
        }
        #expect(error.context.body.map { String(decoding: $0, as: UTF8.self) } == "down")
    }

    @Test("leaves the caller's request as it was (D-33)")
    func untouched() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let request = try rig.request()

        _ = try await rig.loader.load(request)

        #expect(request.headers.isEmpty)
    }
}
