import Foundation
import Lade
import LadeTesting
import LadeTraffic
import SharedDoubles
import Testing

@Suite("replaying traffic", .timeLimit(.minutes(5)))
struct ReplayTransportTests {
    private func entry(
        _ method: String = "GET",
        _ target: String,
        _ text: String = "[]",
        status: Int = 200,
        at second: Double = 0
    ) -> HAREntry {
        var response = HAREntry.Response(status: status)
        response.content = .init(Data(text.utf8), type: "application/json")
        response.headers = [.init("Content-Type", "application/json")]
        return HAREntry(
            started: Date(timeIntervalSince1970: 1_767_225_600 + second),
            request: .init(method: method, url: "https://svc.example.com" + target),
            response: response
        )
    }

    private func text(_ transport: ReplayTransport, _ target: String) async throws -> String {
        try await text(transport, Request("https://svc.example.com" + target))
    }

    private func text(_ transport: ReplayTransport, _ request: Request) async throws -> String {
        let response = try await transport.makeLoader().load(request)
        return String(decoding: try await response.body.collect(), as: UTF8.self)
    }

    private func message(_ transport: ReplayTransport, _ request: Request) async -> String {
        do throws(LoadingError) {
            _ = try await transport.makeLoader().load(request)
        } catch {
            if case .transport(_, let message) = error.kind { return message }
        }
        return ""
    }

    @Test("traffic HT-40 gives the responses of the recording by method and address, in order, and the last again")
    func inOrder() async throws {
        let transport = ReplayTransport([
            entry("/a", "second", at: 2), entry("/a", "first", at: 1), entry("/b?x=1", "other"),
        ])
        #expect(try await text(transport, "/a") == "first")
        #expect(try await text(transport, "/b?x=1") == "other")
        #expect(try await text(transport, "/a") == "second")
        #expect(try await text(transport, "/a") == "second")
    }

    private func entry(_ target: String, _ text: String, at second: Double = 0) -> HAREntry {
        entry("GET", target, text, at: second)
    }

    @Test("traffic HT-41 begins again, or refuses a further request, where the rules say so")
    func orders() async throws {
        var rules = ReplayBook.Rules()
        rules.order = .repeatingAll
        let all = ReplayTransport([entry("/a", "1", at: 1), entry("/a", "2", at: 2)], rules: rules)
        for expected in ["1", "2", "1", "2"] { #expect(try await text(all, "/a") == expected) }
        rules.order = .once
        let once = ReplayTransport([entry("/a", "1")], rules: rules)
        #expect(try await text(once, "/a") == "1")
        let message = await message(once, try Request("https://svc.example.com/a"))
        #expect(message.contains("entry 1 is used"))
    }

    @Test("traffic HT-42 names the nearest entry and what differs for a request without one")
    func unmatched() async throws {
        let transport = ReplayTransport([entry("/shows?size=2", ""), entry("/medias", "")])
        let query = await message(transport, try Request("https://svc.example.com/shows?size=3"))
        #expect(query.contains("entry 1 (GET https://svc.example.com/shows?size=2), the query differs"))
        let method = await message(transport, try Request(.put, "https://svc.example.com/medias"))
        #expect(method.contains("entry 2") && method.contains("the method differs"))
        let address = await message(transport, try Request("https://other.example.com/medias"))
        #expect(address.contains("the address differs"))
    }

    @Test("traffic HT-43 compares bodies, and fields that the rules name")
    func bodiesAndFields() async throws {
        var posted = entry("POST", "/a", "yes")
        posted.request.content = .init(Data("one".utf8), type: "text/plain")
        posted.request.headers = [.init("Accept-Language", "de")]
        var rules = ReplayBook.Rules()
        rules.fields = ["Accept-Language"]
        let transport = ReplayTransport([posted], rules: rules)
        func request(_ body: String, _ language: String) throws -> Request {
            try Request(
                .post,
                "https://svc.example.com/a",
                headers: ["Accept-Language": language],
                body: .text(body)
            )
        }
        #expect(try await text(transport, try request("one", "de")) == "yes")
        let wrong = await message(transport, try request("two", "fr"))
        #expect(wrong.contains("the field Accept-Language and the body differs"))
    }

    @Test("traffic HT-44 matches a request whose secrets the recording has redacted")
    func redacted() async throws {
        var posted = entry("POST", "/token?key=%3Credacted%3E", "yes")
        posted.request.url = "https://svc.example.com/token?key=<redacted>"
        posted.request.content = .init(Data("grant_type=x&code=<redacted>&b=2".utf8), type: "text/plain")
        let transport = ReplayTransport([posted])
        let request = try Request(
            .post,
            "https://svc.example.com/token?key=abc",
            body: .text("grant_type=x&code=12345&b=2")
        )
        #expect(try await text(transport, request) == "yes")
        let other = try Request(.post, "https://svc.example.com/token?key=abc", body: .text("grant_type=y&code=1&b=2"))
        #expect(await message(transport, other).contains("the body differs"))
    }

    @Test("traffic HT-45 takes as long as the recording, in the call's time")
    func times() async throws {
        var slow = entry("/a", "slow")
        slow.timings.blocked = .seconds(100)
        slow.timings.wait = .seconds(2)
        slow.timings.receive = .seconds(3)
        let time = VirtualTime()
        let loader = ReplayTransport([slow]).makeLoader(.still(in: time))
        let request = try Request("https://svc.example.com/a")
        let call = Task { try await loader.load(request) }
        #expect(try await time.nextSleeper().remaining == .seconds(2))
        try await time.advanceToNextSleeper()
        #expect(try await time.nextSleeper().remaining == .seconds(3))
        try await time.advanceToNextSleeper()
        #expect(try await call.value.body.bytes == Data("slow".utf8))
    }

    @Test(
        "traffic HT-46 fails as the exchange of the recording failed",
        arguments: [
            ("timedOut", "connect", LoadingError.Kind.timedOut(.connect)),
            ("connectionLost", "safe", .connectionLost(.nothing, isSafeToRepeat: true)),
            ("nameNotResolved", "x.example", .nameNotResolved(host: "x.example")),
            ("transport", "", .transport(code: 0, message: "It failed.")),
            ("proxy", "403 p.example:80", .proxy(.refused(proxy: "p.example:80", status: 403))),
            ("proxy", "refused p.example:80", .proxy(.refused(proxy: "p.example:80", status: nil))),
            ("proxy", "authenticationRequired p.example:80", .proxy(.authenticationRequired(proxy: "p.example:80"))),
        ]
    )
    func faults(_ name: String, _ detail: String, _ kind: LoadingError.Kind) async throws {
        var failed = entry("GET", "/a", "", status: 0)
        failed.facts.fault = .init(kind: name, detail: detail, sentence: "It failed.")
        let loader = ReplayTransport([failed]).makeLoader()
        let error = await #expect(throws: LoadingError.self) {
            try await loader.load(Request("https://svc.example.com/a"))
        }
        #expect(error?.kind == kind)
    }

    @Test("traffic HT-47 ends a body where that of the recording ended, by a failure or by the limit of the recorder")
    func truncated() async throws {
        var broken = entry("/a", "0123")
        broken.facts.fault = .init(kind: "incompleteBody", sentence: "It ended.")
        broken.response.headers.append(.init("Content-Length", "10"))
        var cut = entry("/b", "0123")
        cut.response.content.size = 9
        let loader = ReplayTransport([broken, cut]).makeLoader()
        for (target, expected) in [("/a", Int64(10)), ("/b", 9)] {
            let error = await #expect(throws: LoadingError.self) {
                try await loader.load(Request("https://svc.example.com" + target))
            }
            #expect(error?.kind == .incompleteBody(received: 4, expected: expected))
        }
    }

    @Test("traffic HT-48 leaves out fields of the wire, and knows the versions as browsers write them")
    func wireFields() async throws {
        var coded = entry("/a", "text")
        coded.response.version = "h2"
        coded.response.headers += [
            .init("content-encoding", "br"), .init("content-length", "3"), .init(":status", "200"),
        ]
        let response = try await ReplayTransport([coded]).makeLoader().load(Request("https://svc.example.com/a"))
        #expect(response.version == .http2)
        #expect(response.headers["Content-Encoding"] == nil)
        #expect(response.headers["Content-Length"] == "4")
        #expect(response.body.bytes == Data("text".utf8))
    }

    @Test("traffic HT-49 names the first entry that no request has used")
    func unused() async throws {
        let transport = ReplayTransport([entry("/a", ""), entry("/b", ""), entry("/c", "")])
        _ = try await text(transport, "/a")
        #expect(transport.unused == [2, 3])
        let fault = #expect(throws: HARFault.self) { try transport.checkUnused() }
        #expect(fault?.entry == 2)
        #expect(fault?.reason.contains("and 1 more") == true)
    }

    @Test("traffic HT-50 records once over another transport, and replays from then on")
    func recordsOnce() async throws {
        let folder = try TemporaryFolder()
        let real = ScriptedTransport()
        real.on(.get, "/a").respond(.text("real"))
        let first = try ReplayTransport(folder.file("a.har"), recordingWith: real)
        #expect(try await text(first, "/a") == "real")
        try first.checkUnused()
        let second = try ReplayTransport(folder.file("a.har"), recordingWith: real)
        #expect(try await text(second, "/a") == "real")
        #expect(real.received.count == 1)
        let again = try ReplayTransport(folder.file("a.har"), recordingWith: real, isRecording: true)
        #expect(try await text(again, "/a") == "real")
        #expect(real.received.count == 2)
    }

    @Test("traffic HT-51 replays what the recorder recorded: retries, redirects and pages of a list")
    func wholeFlow() async throws {
        let folder = try TemporaryFolder()
        func settings(_ time: VirtualTime) -> Service.Settings {
            var settings = Service.Settings.still(in: time)
            settings.retries.limit = 1
            return settings
        }
        let real = ScriptedTransport()
        real.on(.get, "/old").respond(.status(302, headers: ["Location": "/a"]))
        real.on(.get, "/a").respond(.status(503, headers: ["Retry-After": "2"])).then(.text("found"))
        let time = VirtualTime()
        var recorded = settings(time)
        let recorder = try TrafficRecorder(writingTo: folder.file("a.har"))
        recorder.attach(to: &recorded)
        let loader = Service(recorded, transport: real).anonymous.makeLoader()
        let request = try Request("https://svc.example.com/old")
        let call = Task { try await loader.load(request) }
        try await time.advanceToNextSleeper()
        #expect(try await call.value.body.bytes == Data("found".utf8))
        try recorder.flush()

        let replay = try ReplayTransport(folder.file("a.har"))
        let again = VirtualTime()
        let replaying = replay.makeLoader(settings(again))
        let second = Task { try await replaying.load(request) }
        try await again.advanceToNextSleeper()
        #expect(try await second.value.body.bytes == Data("found".utf8))
        try replay.checkUnused()
    }

    @Test("traffic HT-52 lets a rule of the test decide, and ignores query items that it names")
    func rules() async throws {
        var rules = ReplayBook.Rules()
        rules.ignoredQueryItems = ["time"]
        rules.accepts = { asked, entry in entry.response.status == 200 || asked.headers.isEmpty }
        let transport = ReplayTransport(
            [entry("GET", "/a?time=1", "no", status: 404, at: 0), entry("/a?time=2", "yes", at: 1)],
            rules: rules
        )
        let request = try Request("https://svc.example.com/a?time=99", headers: ["X": "1"])
        #expect(try await text(transport, request) == "yes")
    }

    @Test("traffic HT-55 gives a part only for the request for this part, and the whole for any other")
    func ranges() async throws {
        func part(_ range: String, _ text: String) -> HAREntry {
            var part = entry("GET", "/a", text, status: 206)
            part.request.headers = [.init("range", range)]
            let places = ["bytes=5-": "5-9", "bytes=3-9": "3-9"]
            part.response.headers.append(.init("Content-Range", "bytes \(places[range] ?? "0-1")/10"))
            return part
        }
        let request = { (range: String) in
            try Request("https://svc.example.com/a", headers: ["Range": range])
        }
        let transport = ReplayTransport([entry("/a", "0123456789"), part("bytes=0-1", "01"), part("bytes=5-", "56789")])
        #expect(try await text(transport, try request("bytes=5-")) == "56789")
        #expect(try await text(transport, try request("bytes=0-1")) == "01")
        #expect(try await text(transport, "/a") == "0123456789")
        #expect(try await text(transport, try request("bytes=7-8")) == "0123456789")
        for same in ["bytes=5-9", "bytes=-5", "bytes=5-99"] {
            #expect(try await text(transport, try request(same)) == "56789", "\(same)")
        }
        let parts = ReplayTransport([part("bytes=0-1", "01"), part("bytes=3-9", "3456789")])
        #expect(try await text(parts, try request("bytes=3-")) == "3456789")
        let whole = await message(parts, try Request("https://svc.example.com/a"))
        #expect(whole.contains("the field Range differs"))
        #expect(await message(parts, try request("bytes=1-2")).contains("the field Range differs"))
    }

    @Test("traffic HT-56 spreads the events of a stream over the time in which it was received")
    func events() async throws {
        var stream = entry("/events", "data: 1\n\ndata: 2\r\n\r\ndata: 3\n\n")
        stream.response.headers = [.init("Content-Type", "text/event-stream")]
        stream.timings.receive = .seconds(4)
        let time = VirtualTime()
        let loader = ReplayTransport([stream]).makeLoader(.still(in: time))
        let response = try await loader.load(Request("https://svc.example.com/events").streamed)
        let chunks = Journal<String>()
        let reading = Task {
            for try await chunk in response.body { chunks.add(String(decoding: chunk, as: UTF8.self)) }
        }
        #expect(try await time.nextSleeper().remaining == .seconds(2))
        #expect(chunks.all == ["data: 1\n\n"])
        try await time.advanceToNextSleeper()
        #expect(try await time.nextSleeper().remaining == .seconds(2))
        #expect(chunks.all == ["data: 1\n\n", "data: 2\r\n\r\n"])
        try await time.advanceToNextSleeper()
        try await reading.value
        #expect(chunks.all.last == "data: 3\n\n")
    }

    @Test("traffic HT-57 replays what a browser and a proxy of others recorded", arguments: ["Browser", "Proxy"])
    func recordingsOfOthers(_ name: String) async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Recordings/\(name).har")
        let transport = try ReplayTransport(path.path, keepsTimes: false)
        func load(_ target: String, _ change: (inout Request) -> Void = { _ in }) async throws -> Data {
            var request = try Request("https://site.example" + target)
            change(&request)
            return try await transport.makeLoader().load(request).body.collect()
        }
        #expect(try await load("/redirect?n=2") == Data(#"{"here":true}"#.utf8))
        for target in ["/gzip", "/br", "/deflate"] {
            #expect(try await load(target).starts(with: Data(#"{"n": 42,"#.utf8)), "\(target)")
        }
        let whole = Data((0..<600).map { UInt8(truncatingIfNeeded: $0 * 7) })
        #expect(try await load("/bin") == whole)
        #expect(try await load("/bin") { $0.headers.set("Range", "bytes=550-") } == whole[550...])
        #expect(try await load("/bin") { $0.headers.set("Range", "bytes=100-149") } == whole[100..<150])
        let json = Data(#"{"a":"é😀"}"#.utf8)
        #expect(
            try await load("/echo") { ($0.method, $0.body) = (.post, .bytes(json, contentType: "application/json")) }
                == json
        )
        let octets = Data([0, 255, 128, 10])
        #expect(try await load("/len") { ($0.method, $0.body) = (.post, .bytes(octets)) } == Data("4".utf8))
        for number in 0..<3 {
            let first = name == "Browser" ? 4 : 1
            #expect(try await load("/poll") == Data("poll \(first + number)".utf8))
        }
        #expect(try await load("/empty").isEmpty)
        let cut = await #expect(throws: LoadingError.self) { try await load("/cut") }
        let expected: LoadingError.Kind =
            name == "Browser"
            ? .connectionLost(.head, isSafeToRepeat: false) : .incompleteBody(received: 0, expected: 100)
        #expect(cut?.kind == expected)
        #expect(try await load("/latin") == Data([0x67, 0x72, 0xFC, 0x65, 0x7A, 0x69]))
        if name == "Proxy" {
            #expect(try await load("/events").starts(with: Data("id: 0\ndata: one\n\n".utf8)))
        }
    }
}
