#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeCore
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// Rules of the client, each asserted completely and after everything has ended.
@Suite("Rows of the client", .timeLimit(.minutes(5)))
struct ClientRowTests {
    @Test(
        "finding FQ-24 client CD-02 what the builders were given is on the wire, whole, and nothing else of their fields"
    )
    func builders() async throws {
        let rig = Rig {
            $0.userAgent = .string("agent")
            $0.languages = .fixed(["de"])
        }
        rig.transport.onAnyRequest().respond(.status(299, "ok"))
        let endpoint = try rig.endpoint("/thing?keep=a%20b&page=1#top")
            .method(.put).header("X-One", "1").headers(["X-Two": "2", "X-Two": "3"])
            .query("page", "2").query("new", "ä&=").body(.text("body"))
            .timeouts {
                $0 = .init(); $0.connect = .seconds(1); $0.idle = .seconds(7); $0.whole = .seconds(9)
            }
            .acceptingStatuses(299).cacheMode(.revalidate).sourceIdentifier("tests").text()

        let text = try await rig.loader.load(endpoint)

        let received = try #require(rig.transport.received.first)
        #expect(text == "ok")
        #expect(rig.transport.lines == ["PUT /thing?keep=a%20b&page=2&new=%C3%A4%26%3D"])
        #expect(
            received.request.headers.map { "\($0.name): \($0.value)" }.sorted() == [
                "Accept-Language: de;q=1.00", "Cache-Control: no-cache", "User-Agent: agent", "X-One: 1", "X-Two: 2",
                "X-Two: 3",
            ]
        )
        #expect(received.text == "body")
        #expect(received.request.body?.contentType == "text/plain; charset=utf-8")
        #expect(received.request.timeouts.connect == .seconds(1))
        #expect(received.request.timeouts.idle == .seconds(7))
        #expect(received.request.timeouts.whole == .seconds(9))
        #expect(received.request.cacheMode == .revalidate)
        #expect(received.request.acceptableStatuses == 299)
        #expect(received.request.sourceIdentifier == "tests")

        // Only 299 is accepted, so 200 is refused.
        rig.transport.onAnyRequest()
        let other = Rig()
        other.transport.onAnyRequest().respond(.status(200, "ok"))
        let error = await failure { () throws(LoadingError) in try await other.loader.load(endpoint) }
        guard case .unacceptableStatus(200)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("finding FQ-24 client CD-03 an endpoint of a request sends that request, whole")
    func fromRequest() async throws {
        let rig = Rig { $0.languages = .fixed([]) }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request("/a?b=c")
        request.method = .post
        request.headers = ["A": "1", "User-Agent": "own"]
        request.body = .text("body")
        request.timeouts.whole = .seconds(7)
        request.cacheMode = .bypass
        request.priority = .high
        request.sourceIdentifier = "screen"

        _ = try await rig.loader.load(request)
        _ = try await rig.loader.load(Endpoint(request))

        let sent = rig.transport.received
        #expect(rig.transport.lines == ["POST /a?b=c", "POST /a?b=c"])
        #expect(sent.map(\.text) == ["body", "body"])
        for received in sent {
            #expect(received.request.headers == ["A": "1", "User-Agent": "own", "Cache-Control": "no-store"])
            #expect(received.request.timeouts == request.timeouts)
            #expect(received.request.cacheMode == .bypass)
            #expect(received.request.priority == .high)
            #expect(received.request.sourceIdentifier == "screen")
        }
    }

    @Test(
        "finding FQ-24 client CD-27 a refused status is one failure with its code and the body",
        arguments: [199, 300, 304, 404, 500]
    )
    func refusedByDefault(code: Int) async throws {
        let rig = Rig()
        let body = code == 304 ? "" : "why"
        rig.transport.onAnyRequest().respond(.status(Response.Status(code), headers: ["X-Why": "1"], body))
        let endings = Journal<LoadingError?>()
        let endpoint = try rig.endpoint()

        try await rig.time.runToTheEnd {
            _ = rig.loader.load(endpoint, on: .anywhere) { result in
                if case .failure(let error) = result { endings.add(error) } else { endings.add(nil) }
            }
        }

        #expect(endings.all.count == 1)
        let context = try #require(endings.all.first??.context)
        #expect(endings.all.first??.kind == .unacceptableStatus(Response.Status(code)))
        #expect(context.status?.code == code)
        #expect(context.headers["X-Why"] == "1")
        #expect(context.body.map { String(decoding: $0, as: UTF8.self) } ?? "" == body)
    }

    @Test(
        "finding FQ-24 client CD-43 client D-05 of two closures the one that is given is called, once, and only for its case",
        arguments: [
            (true, false, 200, ["success"]), (true, false, 500, []), (false, true, 200, []),
            (false, true, 500, ["failure"]), (true, true, 200, ["success"]), (true, true, 500, ["failure"]),
            (false, false, 200, []), (false, false, 500, []),
        ] as [(Bool, Bool, Int, [String])]
    )
    func oneClosure(hasSuccess: Bool, hasFailure: Bool, status: Int, expected: [String]) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(Response.Status(status)))
        let reported = Journal<String>()
        let endpoint = try rig.endpoint()
        let success: @Sendable (Request, Loader.Loaded<Data>) -> Void = { _, _ in reported.add("success") }
        let failure: @Sendable (Request, LoadingError) -> Void = { _, _ in reported.add("failure") }

        try await rig.time.runToTheEnd {
            _ = rig.loader.send(
                endpoint,
                on: .anywhere,
                success: hasSuccess ? success : nil,
                failure: hasFailure ? failure : nil
            )
        }

        #expect(reported.all == expected)
        #expect(rig.events.story.count { $0.hasPrefix("call f") } == 1)
    }

    @Test(
        "finding FQ-24 client D-04 a call is known before its exchange starts, also when the answer comes immediately"
    )
    func registeredFirst() async throws {
        let loader = Locked<Loader?>(nil)
        let known = Journal<[String]>()
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            known.add(loader.withLock { $0 }?.currentRequests.map(\.url.path) ?? [])
            return Response(status: 200, request: request)
        }
        let time = VirtualTime()
        var settings = Service.Settings()
        settings.time = time
        let own = Service(settings, transport: transport).anonymous.makeLoader()
        loader.withLock { $0 = own }
        let endings = Journal<String>()
        let request = try Request("https://svc.example.com/thing")

        try await time.runToTheEnd {
            let handle = own.load(request, on: .anywhere) { _ in
                endings.add("running \(own.currentRequests.count)")
            }
            #expect(own.currentRequests.map(\.url.path) == ["/thing"])
            #expect(handle.isRunning)
        }

        #expect(known.all == [["/thing"]])
        #expect(endings.all == ["running 0"])
        #expect(own.currentRequests.isEmpty)
        loader.withLock { $0 = nil }
    }
}
