#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

@Suite("Attempts", .timeLimit(.minutes(5)))
struct AttemptCaseTests {
    @Test("service AT-01 makes the first attempt of a call")
    func creation() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.request())
        #expect(rig.events.story.contains("attemptStarted(1)"))
    }

    @Test("service AT-10 sends a request once and immediately without a reason to wait")
    func start() async throws {
        let rig = Rig { settings in
            settings.rateLimiter = try? RateLimiter(RateLimits(default: .perSecond(10)), time: settings.time)
        }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.request())
        #expect(rig.transport.received.count == 1)
        #expect(rig.time.now == Instant(nanoseconds: 0))
        #expect(!rig.events.story.contains { $0.hasPrefix("wait started") })
    }

    @Test("service LO-07 AT-02 reports a chunk once")
    func chunk() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let recorder = ReportRecorder(chunks: true)
        _ = rig.perform(try rig.request().streamed, recorder)
        #expect(try await recorder.journal.next(3) == [.head(200), .chunk("thing"), .success(200, "")])
    }

    @Test("service AT-03 ends well once")
    func success() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let recorder = ReportRecorder()
        _ = rig.perform(try rig.request(), recorder)
        #expect(try await recorder.journal.next() == [.success(200, "thing")])
    }

    @Test("service AT-04 reports one failure when the body fails after the head")
    func brokenBody() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing").breaking(after: 2, with: LoadingError(.timedOut(.idle))))
        let recorder = ReportRecorder(chunks: true)
        _ = rig.perform(try rig.request().streamed, recorder)
        #expect(
            try await recorder.journal.next(3) == [.head(200), .chunk("th"), .failure("call failed: timedOut(idle)")]
        )
    }

    @Test("service AT-08 service D-46 glues nothing of a failed attempt to the body")
    func bodyOfRepetition() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest()
            .respond(.text("error payload").breaking(after: 13, with: LoadingError(.timedOut(.idle))))
            .then(.text("success payload"))
        #expect(try await rig.loader.load(rig.endpoint().text()) == "success payload")
    }

    @Test("service D-06 reports nothing of the head of a failed attempt when the next has none")
    func staleHead() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest()
            .respond(.text("thing").breaking(after: 2))
            .then(.connectionLost())
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        #expect(error?.context.status == nil)
        #expect(error?.context.headers.isEmpty == true)
    }

    @Test("service AT-06 asks for the body once before the attempt that needs it again")
    func bodyPrompt() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503)).then(.text("ok"))
        let recorder = ReportRecorder(newBody: .text("again"))
        var request = try rig.request()
        request.method = .put
        request.body = .writer { try await $0(Data("once".utf8)) }

        _ = rig.perform(request, recorder)

        #expect(try await recorder.journal.next(2) == [.askedForBody, .success(200, "ok")])
        #expect(rig.transport.received.map(\.text) == ["once", "again"])
    }

    @Test("service AT-09 continues after the head with any announced length")
    func contentLength() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text(String(repeating: "x", count: 60)))
        let response = try await rig.loader.load(rig.request().streamed)
        #expect(response.headers["Content-Length"] == "60")
        #expect(try await response.body.collect().count == 60)
    }

    @Test("service AT-18 hands the body over as a value by default, to no file")
    func defaultDelivery() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let response = try await rig.loader.load(rig.request())
        #expect(rig.transport.requests.map(\.delivery) == [.buffered(limit: Request.defaultBufferLimit)])
        #expect(response.body.bytes == Data("thing".utf8))
    }

    @Test("service AT-11 reports an error with the request when there was no answer")
    func noAnswer() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.connectionLost())
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        #expect(error?.context.url == "https://svc.example.com/thing")
        #expect(error?.context.status == nil)
    }

    @Test("service AT-12 puts the pieces of a body together")
    func pieces() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.chunks(["TEST", "TEST"]))
        #expect(try await rig.loader.load(rig.endpoint().text()) == "TESTTEST")
    }

    @Test("service AT-19 puts the pieces of a body together when it came with no HTTP head")
    func piecesWithoutHead() async throws {
        let address = "own:thing"
        let transport = ClosureTransport { request, call throws(LoadingError) in
            let script = ScriptedTransport(answering: .chunks(["TEST", "TEST"]))
            var response = try await script.send(request.streamed, call: call)
            (response.status, response.headers, response.version) = (0, Headers(), nil)
            response.request = request
            return response
        }
        let rig = Rig { $0.transportsByScheme = ["own": transport] }
        #expect(try await rig.loader.load(Endpoint(address).text()) == "TESTTEST")
    }

    @Test("service AT-13 reports one cancellation when the network cancels")
    func cancelled() async throws {
        let rig = Rig {
            $0.retries.limit = 4
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.cancelled)))
        let recorder = ReportRecorder()
        _ = rig.perform(try rig.request(), recorder)
        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service AT-16 reports a cancelled attempt as cancelled")
    func cancelledFlag() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.cancelled)))
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        #expect(error?.isCancellation == true)
        #expect(rig.events.story.contains("call failed: cancelled"))
    }

    @Test("service AT-15 reports one cancellation when it is released in flight")
    func tornDown() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()
        _ = rig.perform(try rig.request(), recorder)
        _ = try await rig.transport.request(at: 0)
        await rig.service.shutDown()
        #expect(try await recorder.journal.next() == [.cancelled])
    }

    @Test("service D-29 collects the body of a refused streamed answer into its error")
    func refusedStream() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(503, "the page of an error"))
        let recorder = ReportRecorder(chunks: true)

        _ = rig.perform(try rig.request().streamed, recorder)
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request().streamed) }

        #expect(try await recorder.journal.next() == [.failure("call failed: unacceptableStatus(503)")])
        #expect(error?.context.body == Data("the page of an error".utf8))
    }
}
