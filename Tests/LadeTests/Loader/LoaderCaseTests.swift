#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Dispatch
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

@Suite("Loader", .timeLimit(.minutes(5)))
struct LoaderCaseTests {
    @Test("service LO-01 is made by an account")
    func creation() {
        let rig = Rig()
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("service LO-02 hands a performed request to the layer above")
    func forwards() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request("/a"), recorder)
        _ = try await recorder.journal.next()

        #expect(rig.transport.lines == ["GET /a"])
    }

    @Test("service LO-03 cancels all loads, each reported once")
    func cancelAll() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()
        for _ in 0..<5 { _ = rig.perform(try rig.request(), recorder) }
        _ = try await rig.transport.request(at: 4)

        rig.loader.cancelAllLoads()
        let reported = try await recorder.journal.next(5)
        try await rig.transport.cancellations(atLeast: 5)

        #expect(reported == Array(repeating: .cancelled, count: 5))
        #expect(rig.transport.cancellations == 5)
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("service LO-04 reports one success")
    func success() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.success(200, "ok")])
    }

    @Test("service LO-05 reports one error")
    func error() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.timesOut())
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.failure("call failed: timedOut(idle)")])
    }

    @Test("service AT-13 LO-06 reports one cancellation when the network ends the request as cancelled")
    func cancelled() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.cancelled)))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.cancelled])
    }

    /// Everything that is reported for a streamed request in two chunks.
    private func reportsOfStream() async throws -> [Report] {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.chunks(["one", "two"]))
        let recorder = ReportRecorder(chunks: true)
        _ = rig.perform(try rig.request().streamed, recorder)
        while try await recorder.journal.next().last?.isEnding == false {}
        return recorder.reported
    }

    @Test("service LO-07 reports each chunk of a streamed request once, in order, and no body at the end")
    func chunks() async throws {
        #expect(try await reportsOfStream().dropFirst() == [.chunk("one"), .chunk("two"), .success(200, "")])
    }

    @Test("service LO-08 reports the head of a streamed request once, before its chunks")
    func head() async throws {
        let reported = try await reportsOfStream()
        #expect(reported.firstIndex(of: .head(200)) == 0)
        #expect(reported.filter { $0 == .head(200) }.count == 1)
    }

    @Test("reports the head of a streamed request without a body, and its trailers and metrics at the end")
    func headAndTrailers() async throws {
        final class Listener: LoaderDelegate {
            let heads = Journal<Data?>()
            let ends = Journal<Response>()

            func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) { ends.add(response) }
            func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {}
            func loaderSupportsChunks(_ loader: Loader) -> Bool { true }
            func loader(_ loader: Loader, didReceiveHead response: Response, for load: Loader.Handle) {
                heads.add(response.body.bytes)
            }
        }
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.chunks(["one", "two"]).trailers(["X-Sum": "2"]))
        let listener = Listener()
        rig.loader.delegate = listener

        await rig.loader.perform(try rig.request().streamed)

        let response = try #require(try await listener.ends.next().first)
        #expect(listener.heads.all == [Data()])
        #expect(response.body.trailers["X-Sum"] == "2")
        #expect(response.body.metrics.decodedBodyBytes == 6)
    }

    @Test("asks a delegate for no body when the request's can be sent again")
    func keepsReplayableBodies() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost()).then(.text("ok"))
        let recorder = ReportRecorder(newBody: .text("other"))
        var request = try rig.request()
        request.method = .post
        request.body = .text("first")

        _ = rig.perform(request, recorder)

        #expect(try await recorder.journal.next(1) == [.success(200, "ok")])
        #expect(rig.transport.received.map(\.text) == ["first", "first"])
    }

    @Test("service LO-09 asks a delegate that can for a body that is needed again")
    func reopens() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost()).then(.text("ok"))
        let recorder = ReportRecorder(newBody: .text("again"))
        var request = try rig.request()
        request.method = .post
        request.body = .writer { try await $0(Data("first".utf8)) }

        _ = rig.perform(request, recorder)

        #expect(try await recorder.journal.next(2) == [.askedForBody, .success(200, "ok")])
        #expect(rig.transport.received.map(\.text) == ["first", "again"])
    }

    /// Writes the body of each request twice, and cancels the load in between.
    private struct WritingTwice: Interceptor {
        let isPerformed = Signal()
        let load = Locked<Loader.Handle?>(nil)
        /// Whether the body could be written the second time.
        let wasRewritten = Locked<Bool?>(nil)

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            guard case .stream(let make) = request.body?.content else { return try await next(request) }
            do {
                try await make { _ in }
                try await isPerformed.wait()
                load.withLock { $0 }?.cancel()
                wasRewritten.withLock { $0 = false }
                try await make { _ in }
                wasRewritten.withLock { $0 = true }
            } catch {
                throw (error as? LoadingError) ?? LoadingError(.cancelled, LoadingError.Context(request))
            }
            return Response(status: 200, request: request)
        }
    }

    @Test("service LO-09 asks a delegate for no body of a load that was cancelled")
    func asksNothingAfterCancellation() async throws {
        let writing = WritingTwice()
        let rig = Rig { $0.attemptInterceptors = [writing] }
        let recorder = ReportRecorder(newBody: .text("again"))
        var request = try rig.request()
        request.method = .post
        request.body = .writer { try await $0(Data("first".utf8)) }

        let load = rig.perform(request, recorder)
        writing.load.withLock { $0 = load }
        writing.isPerformed.raise()

        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(writing.wasRewritten.withLock { $0 } == false)
        #expect(recorder.reported == [.cancelled])
    }

    @Test(
        "service LO-10 service D-05 leaves a body that cannot be sent again marked so when the delegate does not reopen it"
    )
    func doesNotReopen() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()
        var request = try rig.request()
        request.method = .post
        request.body = .writer { try await $0(Data("first".utf8)) }

        _ = rig.perform(request, recorder)
        _ = try await recorder.journal.next()

        #expect(rig.transport.requests.first?.body?.isReplayable == false)
    }

    @Test("service LO-11 reports once on another queue")
    func otherQueue() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "lade.test")
        queue.setSpecific(key: key, value: true)
        let reports = Journal<Bool>()

        rig.loader.send(try rig.endpoint(), on: .queue(queue)) { _, _ in
            reports.add(DispatchQueue.getSpecific(key: key) ?? false)
        } failure: { _, _ in
            reports.add(false)
        }

        #expect(try await reports.next() == [true])
    }

    @Test("service LO-12 fails a streamed request without consent, and sends nothing")
    func noConsent() async throws {
        let rig = Rig()
        let recorder = ReportRecorder()

        let handle = rig.perform(try rig.request().streamed, recorder)

        #expect(try await recorder.journal.next() == [.failure("call failed: invalidRequest")])
        #expect(rig.transport.requests.isEmpty)
        #expect(!handle.isRunning)
    }

    @Test("service D-16 reports missing consent where everything else is reported")
    func noConsentOnMain() async throws {
        let rig = Rig()
        let isMain = Locked(false)
        let recorder = ReportRecorder { _, _ in isMain.withLock { $0 = isOnMainQueue() } }
        let delegate = WitnessedDelegate(recorder)
        rig.loader.delegate = delegate

        await rig.loader.perform(try rig.request().streamed)
        let reported = try await recorder.journal.next()

        #expect(reported == [.failure("call failed: invalidRequest")])
        #expect(isMain.withLock { $0 })
    }

    @Test("service LO-13 reports no head of a request that is not streamed")
    func noHead() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder(chunks: true)

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.success(200, "ok")])
    }

    /// What is reported to a loader's delegate for another loader's request that is answered so, and to the other's.
    private func reportsOfForeign(_ answer: ScriptedResponse, isStreamed: Bool) async throws -> (
        own: [Report], other: [Report]
    ) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        let recorder = ReportRecorder(chunks: true)
        let own = ReportRecorder(chunks: true)
        let second = rig.loader.account.makeLoader()
        let delegates = [own, recorder].map(WitnessedDelegate.init)
        for (loader, delegate) in zip([rig.loader, second], delegates) { loader.delegate = delegate }
        await second.perform(isStreamed ? try rig.request().streamed : try rig.request())
        while try await recorder.journal.next().last?.isEnding == false {}
        return (own.reported, recorder.reported)
    }

    @Test("service LO-14 reports no success of another loader's request")
    func foreignSuccess() async throws {
        let reported = try await reportsOfForeign(.text("ok"), isStreamed: false)
        #expect(reported.own.isEmpty)
        #expect(reported.other == [.success(200, "ok")])
    }

    @Test("service LO-14 LO-15 reports no error of another loader's request")
    func foreignError() async throws {
        let reported = try await reportsOfForeign(.timesOut(), isStreamed: false)
        #expect(reported.own.isEmpty)
        #expect(reported.other == [.failure("call failed: timedOut(idle)")])
    }

    @Test("service LO-14 LO-16 reports no cancellation of another loader's request")
    func foreignCancellation() async throws {
        let reported = try await reportsOfForeign(.fails(LoadingError(.cancelled)), isStreamed: false)
        #expect(reported.own.isEmpty)
        #expect(reported.other == [.cancelled])
    }

    @Test("service LO-14 LO-17 reports no chunk of another loader's request")
    func foreignChunk() async throws {
        let reported = try await reportsOfForeign(.chunks(["a", "b"]), isStreamed: true)
        #expect(!reported.own.contains(.chunk("a")) && !reported.own.contains(.chunk("b")))
        #expect(reported.other.contains(.chunk("a")) && reported.other.contains(.chunk("b")))
    }

    @Test("service LO-14 LO-18 reports no head of another loader's request")
    func foreignHead() async throws {
        let reported = try await reportsOfForeign(.chunks(["a", "b"]), isStreamed: true)
        #expect(!reported.own.contains(.head(200)))
        #expect(reported.other.contains(.head(200)))
    }

    @Test("service LO-19 reports a cancellation by the handle, once, and nothing after it")
    func byHandle() async throws {
        let rig = Rig()
        let recorder = ReportRecorder()
        let handle = try await rig.performStalling(recorder)

        handle.cancel()
        handle.cancel()

        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(handle.isCancelled)
    }

    @Test("service LO-20 lists what is in flight")
    func current() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()

        let handle = rig.perform(try rig.request("/a"), recorder)

        #expect(rig.loader.currentRequests.map(\.url.lastPathComponent) == ["a"])
        handle.cancel()
        _ = try await recorder.journal.next()
        #expect(rig.loader.currentRequests.isEmpty)
    }

    enum End: Sendable { case success, failure, cancelEvent, cancel }

    @Test("service LO-21 lets everything go after a success")
    func releasesAfterSuccess() async throws { try await releases(.success) }

    @Test("service LO-22 lets everything go after a failure")
    func releasesAfterFailure() async throws { try await releases(.failure) }

    @Test("service LO-23 lets everything go after the network's cancellation")
    func releasesAfterCancelEvent() async throws { try await releases(.cancelEvent) }

    @Test("service LO-24 lets everything go after a cancellation by the handle")
    func releasesAfterCancel() async throws { try await releases(.cancel) }

    /// Performs a request that ends so, and waits until it is released.
    private func releases(_ end: End) async throws {
        let time = VirtualTime()
        let begun = Signal()
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            begun.raise()
            switch end {
            case .success: return Response(status: 200, request: request)
            case .failure: throw LoadingError(.timedOut(.idle), LoadingError.Context(request))
            case .cancelEvent: throw LoadingError(.cancelled, LoadingError.Context(request))
            case .cancel: try await time.sleep(for: .seconds(1))
            }
            return Response(status: 200, request: request)
        }
        let loader = transport.makeLoader()
        let released = Signal()
        let recorder = ReportRecorder()
        func perform() async throws {
            var request = try Request("https://svc.example.com/thing")
            request[Sentinel.self] = Sentinel(onRelease: { released.raise() })
            let load = loader.perform(request, recorder)
            if end == .cancel {
                try await begun.wait()
                load.cancel()
            }
            let reported = try await recorder.journal.next()
            #expect(reported.count == 1)
            switch end {
            case .success: #expect(reported == [.success(200, "")])
            case .failure: #expect(reported == [.failure("call failed: timedOut(idle)")])
            case .cancelEvent, .cancel: #expect(reported == [.cancelled])
            }
        }

        try await perform()

        #expect(loader.currentRequests.isEmpty)
        try await released.wait()
    }

    @Test("service D-13 keeps account and service alive, so that no request falls silent")
    func keepsUpperLevels() async throws {
        let transport = ScriptedTransport(answering: .text("ok"))
        let loader = Service(.still, transport: transport).account(identifier: "alice").makeLoader()

        let response = try await loader.load(Request("https://svc.example.com/"))

        #expect(response.status == 200)
    }

    @Test("service D-19 gives one request performed twice two identities")
    func identities() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()
        let request = try rig.request()

        let first = rig.perform(request, recorder)
        let second = rig.perform(request, recorder)
        _ = try await rig.transport.request(at: 1)
        first.cancel()
        _ = try await recorder.journal.next()

        #expect(first.id != second.id)
        #expect(recorder.loads.withLock { $0 } == [first.id])
        #expect(second.isRunning)
        #expect(rig.loader.currentRequests.count == 1)
        second.cancel()
        _ = try await recorder.journal.next()
    }

    @Test("service M-19 brings typed tags back, closures among them")
    func tags() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let ran = Locked(false)
        var request = try rig.request()
        request[Block.self] = { ran.withLock { $0 = true } }

        let response = try await rig.loader.load(request)
        response.request[Block.self]?()

        #expect(ran.withLock { $0 })
    }

    enum Block: Request.Tag { static var defaultValue: (@Sendable () -> Void)? { nil } }
}

/// A transport made of a closure, which keeps nothing.
struct ClosureTransport: Transport {
    let answer: @Sendable (Request, Call) async throws(LoadingError) -> Response

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await answer(request, call)
    }
}
