import Foundation
import Lade
import LadeTesting
import LadeTraffic
import SharedDoubles
import Testing

/// The entries that a recorder gave.
private final class Entries: Sendable {
    private let list = Locked<[HAREntry]>([])

    var all: [HAREntry] { list.withLock(\.self) }

    func recorder(_ settings: TrafficRecorder.Settings = .init()) -> TrafficRecorder {
        TrafficRecorder(settings) { [self] entry in list.withLock { $0.append(entry) } }
    }
}

@Suite("recording traffic", .timeLimit(.minutes(5)))
struct TrafficRecorderTests {
    private let entries = Entries()

    private func rig(
        _ recording: TrafficRecorder.Settings = .init(),
        _ change: (inout Service.Settings) -> Void = { _ in }
    ) -> Rig {
        Rig { settings in
            change(&settings)
            entries.recorder(recording).attach(to: &settings)
        }
    }

    @Test("traffic HT-01 records an exchange with request, response and body")
    func exchange() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.json(#"{"a":1}"#))
        _ = try await rig.loader.load(try rig.request("/thing?size=2"))

        let entry = try #require(entries.all.first)
        #expect(entries.all.count == 1)
        #expect(entry.request.method == "GET")
        #expect(entry.request.url == "https://svc.example.com/thing?size=2")
        #expect(entry.response.status == 200)
        #expect(entry.response.version == "HTTP/1.1")
        #expect(entry.response.content.bytes == Data(#"{"a":1}"#.utf8))
        #expect(entry.response.content.type == "application/json")
        #expect(entry.facts.attempt == 1)
        #expect(entry.facts.fault == nil)
    }

    @Test("traffic HT-02 records each attempt with the rule and the delay that led to it")
    func retries() async throws {
        let rig = rig { $0.retries.limit = 1 }
        rig.transport.on(.get, "/thing").respond(.status(503)).then(.json("[]"))
        let (loader, request) = (rig.loader, try rig.request())
        let call = Task { try await loader.load(request) }
        try await rig.time.advanceToNextSleeper()
        _ = try await call.value

        let all = entries.all
        #expect(all.map(\.response.status) == [503, 200])
        #expect(all[0].facts.rule == nil)
        #expect(all[1].facts.rule != nil)
        #expect(all[1].facts.attempt == 2)
        let delay = try #require(all[1].facts.delay)
        #expect(delay > .zero)
        #expect(all[0].facts.call == all[1].facts.call)
    }

    @Test("traffic HT-03 counts the waits before an exchange as blocked, by reason, and starts the entry before them")
    func waits() async throws {
        let rig = rig { $0.retries.limit = 1 }
        rig.transport.on(.get, "/thing").respond(.status(503, headers: ["Retry-After": "3"])).then(.json("[]"))
        let (loader, request) = (rig.loader, try rig.request())
        let call = Task { try await loader.load(request) }
        try await rig.time.advanceToNextSleeper()
        _ = try await call.value

        let second = try #require(entries.all.last)
        let blocked = try #require(second.timings.blocked)
        #expect(blocked >= .seconds(3))
        #expect(!second.facts.waits.isEmpty)
        #expect(second.facts.waits.reduce(.zero) { $0 + $1.duration } == blocked)
        #expect(abs(second.started.timeIntervalSince(entries.all[0].started)) < 0.001)
    }

    @Test("traffic HT-04 records each hop of redirects, with the status that led to it")
    func redirects() async throws {
        let rig = rig()
        rig.transport.on(.get, "/old").respond(.status(302, headers: ["Location": "/new"]))
        rig.transport.on(.get, "/new").respond(.json("[]"))
        _ = try await rig.loader.load(try rig.request("/old"))

        #expect(entries.all.map(\.response.status) == [302, 200])
        #expect(entries.all[1].facts.rule == "redirect 302")
        #expect(entries.all[1].request.url == "https://svc.example.com/new")
    }

    @Test("traffic HT-05 adds up the phases to the time of the entry")
    func sums() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(
            .bytes(Data(count: 30)).after(.milliseconds(1_500)).inPieces(of: 10, every: .milliseconds(200))
        )
        let (loader, request) = (rig.loader, try rig.request())
        let call = Task { try await loader.load(request) }
        for _ in 0..<3 { try await rig.time.advanceToNextSleeper() }
        _ = try await call.value

        let entry = try #require(entries.all.first)
        #expect(entry.time == entry.timings.sum)
        #expect(entry.timings.wait == .milliseconds(1_500))
        #expect(entry.timings.receive == .milliseconds(400))
        #expect(HARCheck.faults(of: entry, number: 1) == [])
    }

    @Test("traffic HT-06 records an exchange that fails, with the kind of its error")
    func failures() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.timesOut(.connect))
        await #expect(throws: LoadingError.self) { try await rig.loader.load(try rig.request()) }

        let entry = try #require(entries.all.first)
        #expect(entry.response.status == 0)
        #expect(entry.facts.fault?.kind == "timedOut")
        #expect(entry.facts.fault?.detail == "connect")
    }

    @Test("traffic HT-07 records a body that fails in the middle with what arrived and the error")
    func brokenBody() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.bytes(Data("0123456789".utf8)).breaking(after: 4))
        let response = try await rig.loader.load(try rig.request().streamed)
        await #expect(throws: LoadingError.self) { try await response.body.collect() }

        let entry = try #require(entries.all.first)
        #expect(entry.response.status == 200)
        #expect(entry.response.content.bytes == Data("0123".utf8))
        #expect(entry.facts.fault?.kind == "incompleteBody")
    }

    @Test("traffic HT-08 records a streamed body that is released unread as cancelled")
    func released() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.text("hello"))
        _ = try await rig.loader.load(try rig.request().streamed)
        let entry = try #require(entries.all.first)
        #expect(entry.facts.fault?.kind == "cancelled")
    }

    @Test("traffic HT-09 redacts fields, queries, cookies and user names by the rules of logs")
    func redactsFields() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.json("[]", headers: ["Set-Cookie": "sid=topsecret-cookie; Path=/"]))
        var request = try rig.request("/thing?api_key=topsecret-query&size=2")
        request.headers.set("Authorization", "Bearer topsecret-token")
        request.headers.set("Cookie", "session=topsecret-session")
        _ = try await rig.loader.load(request)

        let entry = try #require(entries.all.first)
        let text = String(decoding: entry.json, as: UTF8.self)
        #expect(!text.contains("topsecret"))
        #expect(text.contains("api_key=<redacted>"))
        #expect(text.contains("size=2"))
        #expect(entry.facts.isRedacted)
    }

    @Test("traffic HT-10 redacts a secret of the request that a response repeats")
    func redactsEchoes() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing").respond(.text("you sent topsecret-token, did you not?"))
        var request = try rig.request()
        request.headers.set("Authorization", "Bearer topsecret-token")
        _ = try await rig.loader.load(request)
        let content = try #require(entries.all.first?.response.content.bytes)
        #expect(String(decoding: content, as: UTF8.self) == "you sent <redacted>, did you not?")
    }

    @Test("traffic HT-11 redacts bodies of token endpoints, forms and JSON, and keeps cursors of lists")
    func redactsBodies() async throws {
        let rig = rig()
        rig.transport.on(.post, "/oauth2/token").respond(
            .json(#"{"access_token": "topsecret-1", "expires_in": 30, "code":"topsecret-2"}"#)
        )
        rig.transport.on(.get, "/list").respond(.json(#"{"nextPageToken":"cursor-17","password":"topsecret-3","n":1}"#))
        _ = try await rig.loader.load(
            try Request(
                .post,
                "https://svc.example.com/oauth2/token",
                body: .text(
                    "grant_type=refresh_token&refresh_token=topsecret-4&client_id=app",
                    contentType: "application/x-www-form-urlencoded"
                )
            )
        )
        _ = try await rig.loader.load(try rig.request("/list"))

        let text = entries.all.map { String(decoding: $0.json, as: UTF8.self) }.joined()
        #expect(!text.contains("topsecret"))
        #expect(text.contains("cursor-17"))
        #expect(text.contains("client_id=app"))
        #expect(text.contains(#"\"expires_in\": 30"#))
    }

    @Test("traffic HT-12 records secrets where the settings ask for them")
    func showsSecrets() async throws {
        var recording = TrafficRecorder.Settings()
        recording.showsSecrets = true
        let rig = rig(recording)
        rig.transport.on(.get, "/thing").respond(.json("[]"))
        var request = try rig.request("/thing?token=shown-query")
        request.headers.set("Authorization", "Bearer shown-token")
        _ = try await rig.loader.load(request)
        let text = String(decoding: try #require(entries.all.first).json, as: UTF8.self)
        #expect(text.contains("shown-query"))
        #expect(text.contains("Bearer shown-token"))
    }

    @Test("traffic HT-13 records the beginning of a body beyond the limit, with its whole length")
    func limits() async throws {
        var recording = TrafficRecorder.Settings()
        recording.bodyLimit = 10
        let rig = rig(recording)
        rig.transport.on(.get, "/thing").respond(.text(String(repeating: "x", count: 20_000)))
        _ = try await rig.loader.load(try rig.request())
        let content = try #require(entries.all.first?.response.content)
        #expect(content.bytes?.count == 10)
        #expect(content.size == 20_000)
        #expect(content.isTruncated)
        #expect(String(decoding: entries.all[0].json, as: UTF8.self).contains("the first 10 of 20000 bytes"))
    }

    @Test("traffic HT-14 leaves no beginning of a secret at the limit of a body")
    func secretAtTheLimit() async throws {
        var recording = TrafficRecorder.Settings()
        recording.bodyLimit = 10
        let rig = rig(recording)
        rig.transport.on(.get, "/thing").respond(.text("12345678topsecret-token and more"))
        var request = try rig.request()
        request.headers.set("Authorization", "Bearer topsecret-token")
        _ = try await rig.loader.load(request)
        let bytes = try #require(entries.all.first?.response.content.bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "12345678<r")
    }

    @Test("traffic HT-15 records no bodies with a limit of 0, but their lengths")
    func noBodies() async throws {
        var recording = TrafficRecorder.Settings()
        recording.bodyLimit = 0
        let rig = rig(recording)
        rig.transport.on(.get, "/thing").respond(.text("hello"))
        _ = try await rig.loader.load(try rig.request())
        let content = try #require(entries.all.first?.response.content)
        #expect(content.bytes == nil)
        #expect(content.size == 5)
    }

    @Test(
        "traffic HT-16 records the body of a request from memory, a file or a stream",
        arguments: ["memory", "file", "stream"]
    )
    func requestBodies(_ kind: String) async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.on(.post, "/thing").respond(.status(201))
        let body: Request.Body
        switch kind {
        case "memory": body = .text("posted")
        case "file": body = try .file(try folder.file("body.txt", "posted"), contentType: "text/plain")
        default:
            body = .writer(contentType: "text/plain") { write in
                try await write(Data("pos".utf8))
                try await write(Data("ted".utf8))
            }
        }
        _ = try await rig.loader.load(try Request(.post, "https://svc.example.com/thing", body: body))
        #expect(rig.transport.received.first?.text == "posted")
        #expect(entries.all.first?.request.content?.bytes == Data("posted".utf8))
    }

    @Test("traffic HT-17 writes a body that is no text as base64")
    func binary() async throws {
        let rig = rig()
        let bytes = Data([0xFF, 0x00, 0xFE])
        rig.transport.on(.get, "/thing").respond(.bytes(bytes, type: "image/png"))
        _ = try await rig.loader.load(try rig.request())
        let entry = try #require(entries.all.first)
        let json = try JSONValue(parsing: entry.json)
        #expect(json["response"]?["content"]?["encoding"] == .string("base64"))
        #expect(try HAREntry(json).response.content.bytes == bytes)
    }

    @Test("traffic HT-18 records what a cache serves without the server, and what it validates")
    func cache() async throws {
        let rig = rig { $0.cache = ResponseCache.Settings() }
        rig.transport.on(.get, "/thing").respond(
            .json("[1]", headers: ["Cache-Control": "max-age=60", "ETag": #""a""#])
        )
        let request = try rig.request()
        _ = try await rig.loader.load(request)
        _ = try await rig.loader.load(request)

        let all = entries.all
        #expect(all.count == 2)
        #expect(all.first?.facts.cache?.hasPrefix("miss") == true)
        #expect(all.last?.facts.cache?.hasPrefix("served") == true)
        #expect(all.last?.response.content.bytes == Data("[1]".utf8))
    }

    @Test("traffic HT-19 adds nothing to the chain of a service without a recorder")
    func off() throws {
        let plain = Service(.still, transport: ScriptedTransport())
        var settings = Service.Settings.still
        Entries().recorder().attach(to: &settings)
        let recorded = Service(settings, transport: ScriptedTransport())
        #expect(!"\(plain.anonymous.chain)".contains("Tap"))
        #expect("\(recorded.anonymous.chain)".hasSuffix("ExchangeTap → ScriptedTransport"))
    }
}
