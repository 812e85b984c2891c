import Foundation
import Lade
import LadeTesting
import LadeTraffic
import Testing

@Suite("serving a recording", .timeLimit(.minutes(5)))
struct ReplayServerTests {
    private func entry(_ url: String, _ text: String, status: Int = 200) -> HAREntry {
        var response = HAREntry.Response(status: status)
        response.content = .init(Data(text.utf8), type: "text/plain")
        response.headers = [
            .init("Content-Type", "text/plain"), .init("Content-Encoding", "gzip"), .init("X-Bad", "a\r\nb"),
        ]
        return HAREntry(
            started: Date(timeIntervalSince1970: 0),
            request: .init(method: "GET", url: url),
            response: response
        )
    }

    private func load(_ address: String, host: String? = nil) async throws -> (Int, String) {
        var request = try Request(address)
        if let host { request.headers.set("Host", host) }
        request.deliversEveryStatus = true
        var settings = Service.Settings()
        settings.transport.proxy = .direct
        settings.retries.limit = 0
        let response = try await Service(settings).anonymous.makeLoader().load(request)
        return (response.status.code, String(decoding: response.body.bytes ?? Data(), as: UTF8.self))
    }

    @Test("traffic HT-53 serves the responses of a recording, with the origin by path, by Host, or any")
    func origins() async throws {
        let server = try ReplayServer([
            entry("https://one.example/a", "one"), entry("https://two.example/a", "two"),
        ])
        #expect(try await load(server.address("/https/two.example/a")) == (200, "two"))
        #expect(try await load(server.address("/https/one.example/a")) == (200, "one"))
        #expect(server.unused == [])
        #expect(try await load(server.address("/a")).1 == "two")
        #expect(try await load(server.address("/a"), host: "one.example").1 == "one")
    }

    @Test("traffic HT-54 closes the connection where the recording has no response, and says what no entry matches")
    func failures() async throws {
        var cut = entry("https://one.example/cut", "0123")
        cut.response.content.size = 9
        var reset = entry("https://one.example/reset", "0123")
        reset.facts.fault = .init(kind: "connectionLost", sentence: "It was lost.")
        let server = try ReplayServer([entry("https://one.example/lost", "", status: 0), cut, reset])
        await #expect(throws: LoadingError.self) { try await load(server.address("/lost")) }
        let error = await #expect(throws: LoadingError.self) { try await load(server.address("/cut")) }
        #expect(error?.kind == .incompleteBody(received: 4, expected: 9))
        let lost = await #expect(throws: LoadingError.self) { try await load(server.address("/reset")) }
        #expect(lost?.kind == .incompleteBody(received: 4, expected: 5))
        let (status, text) = try await load(server.address("/other"))
        #expect(status == 404)
        #expect(text.contains("of the nearest, entry"))
    }

    @Test("traffic HT-58 takes as long as the recording where the test asks for it, and ends a wait when it stops")
    func times() async throws {
        var slow = entry("https://one.example/a", "data: 1\n\ndata: 2\n\n")
        slow.response.headers = [.init("Content-Type", "text/event-stream")]
        slow.timings.wait = .seconds(2)
        slow.timings.receive = .seconds(3)
        let time = VirtualTime()
        let server = try ReplayServer([slow], keepsTimes: true, time: time)
        let call = Task { try await load(server.address("/a")) }
        #expect(try await time.nextSleeper().remaining == .seconds(2))
        try await time.advanceToNextSleeper()
        #expect(try await time.nextSleeper().remaining == .seconds(3))
        try await time.advanceToNextSleeper()
        #expect(try await call.value == (200, "data: 1\n\ndata: 2\n\n"))
        let stopped = Task { try await load(server.address("/a")) }
        #expect(try await time.nextSleeper().remaining == .seconds(2))
        server.stop()
        await #expect(throws: LoadingError.self) { try await stopped.value }
    }
}
