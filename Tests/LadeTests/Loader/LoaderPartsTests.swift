#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

extension Result where Failure == LoadingError {
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self, case .cancelled = error.kind { true } else { false }
    }
}

/// Cancellations that come between two steps of a call, and what a loader leaves behind.
@Suite("Parts of a loader", .timeLimit(.minutes(5)))
struct LoaderPartsTests {
    @Test("a call that is cancelled after its answer and before its report reports the cancellation")
    func cancelledBeforeItsReport() async throws {
        let rig = Rig()
        let gate = Signal()
        rig.transport.onAnyRequest().respond(.text("ok").after(gate))
        let handle = Locked<Loader.Handle?>(nil)
        let executor = Service.CompletionExecutor { work in
            handle.withLock(\.self)?.cancel()
            work()
        }
        let results = Journal<Bool>()

        let load = rig.loader.load(try rig.request(), on: executor) { result in
            if case .failure(let error) = result, case .cancelled = error.kind {
                results.add(true)
            } else {
                results.add(false)
            }
        }
        handle.withLock { $0 = load }
        gate.raise()

        #expect(try await results.next() == [true])
        #expect(load.isCancelled && !load.isRunning)
    }

    @Test("a handle that is cancelled runs until the cancellation is reported, and none is cancelled after its end")
    func statesOfHandle() throws {
        let request = try Request("https://svc.example.com/thing")
        let cancelled = Loader.Handle(id: Call.ID(1), request: request, accepting: .successful)
        cancelled.cancel()
        #expect(cancelled.isCancelled && cancelled.isRunning)

        let ended = Loader.Handle(id: Call.ID(2), request: request, accepting: .successful)
        _ = ended.settle(.success(1))
        ended.cancel()

        #expect(!ended.isCancelled && !ended.isRunning)
        #expect(!ended.isExpected && !cancelled.isExpected)
        #expect(ended.settle(.success(2)) == nil)
    }

    /// A form of call whose transport answers although the call was cancelled.
    enum LateForm: CaseIterable {
        case awaited, completion, delegate
    }

    @Test(
        "a call that was cancelled ends as cancelled, also when its answer still arrives",
        arguments: LateForm.allCases
    )
    func answersAfterCancellation(form: LateForm) async throws {
        let (started, answers) = (Signal(), Signal())
        let late = ClosureTransport { (request, _) throws(LoadingError) in
            started.raise()
            // Not in the task of the call, whose cancellation would end the wait.
            await Task.detached { try? await answers.wait() }.value
            return Response(status: 200, body: Response.Body(), request: request, version: .http1_1)
        }
        let events = EventRecorder()
        var settings = Service.Settings()
        settings.observers = [events]
        let loader = Service(settings, transport: late).anonymous.makeLoader()
        let request = try Request("https://svc.example.com/thing")
        let ended = Journal<Bool>()
        let recorder = ReportRecorder { report, _ in ended.add(report == .cancelled) }
        switch form {
        case .awaited:
            Task {
                let error = await failure { () throws(LoadingError) in try await loader.load(request) }
                ended.add(error?.isCancellation == true)
            }
        case .completion:
            loader.load(request, on: .anywhere) { result in
                ended.add(result.isCancelled)
            }
        case .delegate:
            loader.perform(request, recorder)
        }
        try await started.wait()

        loader.cancelAllLoads()
        answers.raise()

        #expect(try await ended.next() == [true])
        #expect(EventRecorder.line(for: try #require(events.events.last)) == "call failed: cancelled")
        withExtendedLifetime(recorder) {}
    }

    @Test("an unread streamed body is no request of the loader any more when it is released")
    func unreadBody() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello").stalling(after: 1))
        var response: Response? = try await rig.loader.load(rig.request().streamed)
        #expect(rig.loader.currentRequests.count == 1)

        withExtendedLifetime(response) {}
        response = nil

        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("an answer at hand goes through the processors of the service, and has a status when it came over HTTP")
    func answerAtHand() async throws {
        let rig = Rig { $0.processors = [Service.processor { (data: Data, _) in data + Data("!".utf8) }] }
        let endpoint = try rig.endpoint().text()
        let response = Response(status: 200, body: Response.Body(Data("hello".utf8)), request: endpoint.request)
        let own = try Request("own://host/")

        #expect(try LoaderAccess(rig.loader).value(of: endpoint, from: response) == "hello!")
        #expect(!Response(status: 404, request: own, version: .http1_1).isSuccess(200))
        #expect(Response(status: 404, request: own).isSuccess(200))
    }

    @Test("loads after all loads were cancelled")
    func loadsAfterCancellingAll() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))

        rig.loader.cancelAllLoads()

        #expect(try await rig.loader.load(rig.request()).status == 200)
    }

    @Test("an invalid request is refused before its call begins, in every form")
    func invalidRequest() async throws {
        let rig = Rig()
        var request = try rig.request()
        request.headers.add("X-Bad", "a\r\nb")
        let results = Journal<Bool>()

        let error = await failure { [request] () throws(LoadingError) in try await rig.loader.load(request) }
        #expect(error != nil)
        rig.loader.load(request, on: .anywhere) { results.add((try? $0.get()) == nil) }

        #expect(try await results.next() == [true])
        #expect(rig.events.events.isEmpty)
    }

    @Test("a call of an account that has signed out has a beginning and an end, in every form")
    func callsAfterSignOut() async throws {
        let rig = Rig()
        let account = rig.service.account(Account.Settings())
        let loader = account.makeLoader()
        await account.signOut()
        let results = Journal<Bool>()

        loader.load(try rig.request(), on: .anywhere) { results.add((try? $0.get()) == nil) }
        #expect(try await results.next() == [true])
        _ = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }

        let call = ["call started GET https://svc.example.com/thing", "call failed: cancelled"]
        #expect(rig.events.events.map(EventRecorder.line) == call + call)
    }

    @Test("hands the request of the endpoint to the closures of a sent endpoint, also after a redirect")
    func requestOfSentEndpoint() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/thing").respond(.status(302, headers: ["Location": "/other"]))
        rig.transport.on(.get, "/other").respond(.text("ok"))
        let paths = Journal<String>()

        rig.loader.send(try rig.endpoint(), on: .anywhere) { request, _ in paths.add(request.url.path()) }

        #expect(try await paths.next() == ["/thing"])
    }

    @Test("ends the exchange of a response whose body its scope does not read")
    func unreadScope() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("abcdef").inPieces(of: 1))
        let kept = Locked<Response.Body?>(nil)

        let status = try await rig.loader.withResponse(to: rig.request()) { response in
            kept.withLock { $0 = response.body }
            return response.status
        }

        #expect(status == 200)
        #expect(rig.transport.cancellations == 1)
        withExtendedLifetime(kept) {}
    }

    @Test("a resumed download is no request of the loader any more")
    func requestsOfResumedDownload() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(
                .bytes(
                    Data(" world".utf8),
                    status: 206,
                    headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"]
                )
            )
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.file("file")

        let download = try await rig.loader.download(rig.request(), to: path)

        #expect(download.length == 11)
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("a handle that was cancelled before it had a task cancels the task")
    func cancelledBeforeItsTask() throws {
        let handle = Loader.Handle(
            id: Call.ID(1),
            request: try Request("https://svc.example.com/thing"),
            accepting: .successful
        )
        let gate = Signal()
        // The outcome of the wait does not matter here.
        let task = Task { _ = try? await gate.wait() }

        handle.cancel()
        handle.attach(task)

        #expect(task.isCancelled)
        gate.raise()
    }

    @Test("a released loader leaves nothing in the group of its account")
    func releasedGroup() {
        let rig = Rig()
        let account = rig.loader.account
        var loader: Loader? = account.makeLoader()
        weak let group = loader?.core.group
        #expect(group != nil)

        loader = nil

        #expect(group == nil)
    }

    @Test("a body that arrives after its group was closed is cancelled")
    func lateBody() async throws {
        final class Source: Response.Body.Source {
            let wasCancelled = Locked(false)
            func next() async throws(LoadingError) -> Data? { Data("late".utf8) }
            func cancel() { wasCancelled.withLock { $0 = true } }
            var trailers: Headers { Headers() }
            var metrics: Response.Metrics { Response.Metrics() }
        }
        let source = Source()
        let group = WorkGroup()
        group.close()
        let request = try Request("https://svc.example.com/thing")
        let late = Response(status: 200, body: Response.Body(streaming: source), request: request)

        let response = TrackedBody.track(late, in: group)

        #expect(source.wasCancelled.withLock { $0 })
        let error = await failure { () throws(LoadingError) in try await response.body.collect() }
        #expect(error?.isCancellation == true)
    }

    @Test("a streamed body that its reader cancels is no request of the loader any more, though it is kept")
    func cancelledBody() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello").stalling(after: 2))
        var request = try rig.request()
        request.delivery = .streamed
        let response = try await rig.loader.load(request)
        #expect(rig.loader.currentRequests.count == 1)

        response.body.cancel()

        #expect(rig.loader.currentRequests.isEmpty)
        withExtendedLifetime(response) {}
    }

    @Test("a download that is cancelled while the answer with its rest goes up the chain is cancelled")
    func cancelledBetweenAnswers() async throws {
        let held = Locked<Loader?>(nil)
        let cancelling = Chain.interceptor { request, next in
            let response = try await next(request)
            if request.headers.contains("Range") { held.withLock(\.self)?.cancelAllLoads() }
            return response
        }
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
            $0.callInterceptors = [cancelling]
        }
        held.withLock { $0 = rig.loader }
        defer { held.withLock { $0 = nil } }
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(
                .bytes(Data(" world".utf8), status: 206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"])
            )

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        #expect(error?.isCancellation == true)
        #expect(rig.transport.requests.count == 2)
        #expect(folder.text("file") == nil)
    }

    /// A body of so many pieces of 1 KiB, which fails at its end where it should.
    private final class Pieces: Response.Body.Source {
        private let rest: Locked<Int>
        private let fails: Bool

        init(_ count: Int, fails: Bool = false) {
            rest = Locked(count)
            self.fails = fails
        }

        var unread: Int { rest.withLock { $0 } }

        func next() async throws(LoadingError) -> Data? {
            let isAtEnd = rest.withLock { rest in
                defer { rest = max(0, rest - 1) }
                return rest == 0
            }
            if isAtEnd, fails { throw LoadingError(.notStored) }
            return isAtEnd ? nil : Data(repeating: 7, count: 1_024)
        }

        func cancel() {}
        var trailers: Headers { Headers() }
        var metrics: Response.Metrics { Response.Metrics() }
    }

    private func loader(_ status: Response.Status, _ pieces: Pieces) -> Loader {
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            Response(status: status, body: Response.Body(streaming: pieces), request: request)
        }
        return transport.makeLoader()
    }

    @Test(
        "a streamed body that has ended, failed or been released is no request of the loader any more",
        arguments: ["ended", "failed", "released"]
    )
    func endedBody(how: String) async throws {
        let loader = loader(200, Pieces(3, fails: how == "failed"))
        var request = try Request("https://svc.example.com/thing")
        request.delivery = .streamed
        var response: Response? = try await loader.load(request)
        #expect(loader.currentRequests.count == 1)

        // The iterator is kept: a reader that has read to the end may stay for a while.
        var iterator = how == "released" ? nil : response?.body.makeAsyncIterator()
        if iterator == nil { response = nil }
        // The error of the body does not matter here.
        while let chunk = try? await iterator?.next(), !chunk.isEmpty {}

        #expect(loader.currentRequests.isEmpty)
        withExtendedLifetime((response, iterator)) {}
    }

    @Test("of a streamed body with a refused status no more is read than the error shows")
    func endlessMessage() async throws {
        let pieces = Pieces(1_000)
        let loader = loader(500, pieces)
        var request = try Request("https://svc.example.com/thing")
        request.delivery = .streamed

        let error = await failure { [request] () throws(LoadingError) in try await loader.load(request) }

        #expect(error?.context.status == 500)
        #expect(error?.context.body?.count == Loader.errorBodyLimit)
        #expect(pieces.unread == 1_000 - Loader.errorBodyLimit / 1_024)
    }
}
