import Lade
import LadeTesting
import Testing

@Suite("Small parts")
struct SmallPartsTests {
    @Test("service SM-01 service SM-02 cancels once, however often it is told to")
    func cancel() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let witness = Witness()
        let handle = rig.perform(try rig.request(), witness)
        _ = try await rig.transport.request(at: 0)

        handle.cancel()
        #expect(handle.isCancelled)
        handle.cancel()

        #expect(try await witness.journal.next() == [.cancelled])
    }

    @Test("service SM-03 gives a handle that knows what it cancels")
    func handle() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)

        let handle = rig.loader.load(try rig.request("/a"), on: .anywhere) { _ in }

        #expect("\(handle.request)" == "GET https://svc.example.com/a")
        #expect(handle.isRunning)
        handle.cancel()
    }

    @Test("service SM-04 service SM-05 service SM-06 counts header fields as the reference does")
    func headerSize() {
        #expect(HeaderSize.compatible([(1, "b")]) == 0)
        #expect(HeaderSize.compatible([("a", 2)]) == 0)
        #expect(HeaderSize.compatible([("Authorisation", "Basic thisismytoken")]) == 35)
    }

    @Test("service SM-09 calls back with the answer", .timeLimit(.minutes(1)))
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

        guard case .failure(.unacceptableStatus(503, let context)) = all[0], case .failure(.cancelled) = all[1] else {
            Issue.record("\(all)")
            return
        }
        #expect(context.body.map { String(decoding: $0, as: UTF8.self) } == "down")
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
