import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("The end of a body as an event", .timeLimit(.minutes(5)))
struct BodyEventTests {
    private func records(_ rig: Rig) -> [CallEvent.Body] {
        rig.events.events.compactMap { if case .bodyFinished(let record) = $0 { record } else { nil } }
    }

    private func lines(_ rig: Rig) -> [String] {
        rig.events.story.filter { $0.hasPrefix("body ") || $0.hasPrefix("call f") }
    }

    private func streamed(_ answer: ScriptedAnswer) async throws -> (Rig, Response) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        return (rig, try await rig.loader.load(rig.request().streamed))
    }

    @Test("finding UF-4 a buffered call ends with its body: bytes, duration and attempts")
    func buffered() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503).after(.milliseconds(40)))
            .then(.text("hello").after(.milliseconds(80)))
        let (loader, request) = (rig.loader, try rig.request())

        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in try await loader.load(request) }

        let record = try #require(records(rig).first)
        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(record.bytes == 5 && record.duration == .milliseconds(120) && record.attempts == 2)
        #expect(rig.events.story.last == "body whole")
    }

    @Test("finding UF-4 a streamed body ends once, after it was read to its end")
    func whole() async throws {
        let (rig, response) = try await streamed(.text("hello"))
        #expect(lines(rig) == ["call finished 200"])

        #expect(try await response.body.collect() == Data("hello".utf8))

        response.body.cancel()
        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(records(rig).map(\.bytes) == [5] && records(rig).map(\.attempts) == [1])
    }

    @Test("finding UF-4 a streamed body that fails says so once, with the bytes that were read")
    func fails() async throws {
        let (rig, response) = try await streamed(
            .text("hello").breaking(
                after: 2,
                with: LoadingError(.connectionLost(.body(received: 2), isSafeToRepeat: false))
            )
        )

        await #expect(throws: LoadingError.self) { try await response.body.collect() }

        #expect(lines(rig) == ["call finished 200", "body failed: connectionLost"])
        #expect(records(rig).map(\.bytes) == [2])
    }

    @Test("finding UF-4 a body that its reader cancels is cancelled, and one that is released is abandoned")
    func endings() async throws {
        let (rig, response) = try await streamed(.text("hello").stalling(after: 2))
        response.body.cancel()
        response.body.cancel()
        #expect(lines(rig) == ["call finished 200", "body cancelled"])

        let unread = try await { try await streamed(.text("hello")).0 }()
        #expect(lines(unread) == ["call finished 200", "body abandoned"])

        let begun = try await {
            let (rig, response) = try await streamed(.text("hello").stalling(after: 2))
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
            return rig
        }()
        #expect(lines(begun) == ["call finished 200", "body abandoned"])
        #expect(records(begun).map(\.bytes) == [2])
    }

    @Test("finding UF-4 a call that fails has no body", arguments: [false, true])
    func failed(isStreamed: Bool) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(404))
        let request = try rig.request()

        await #expect(throws: LoadingError.self) { try await rig.loader.load(isStreamed ? request.streamed : request) }

        #expect(lines(rig) == ["call failed: unacceptableStatus(404)"])
    }

    @Test("finding UF-4 a body that is resumed ends once")
    func resumed() async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        let tagged: Headers = ["ETag": "\"1\""]
        rig.transport.onAnyRequest().respond(.text("hello world", headers: tagged).breaking(after: 5))
            .then(
                .text(" world", status: 206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"])
            )
        var load = ResumableLoad(try rig.request(), by: rig.loader)
        _ = try await load.head()
        while case .bytes? = try await load.next(mayBeginAnew: false) {}

        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(records(rig).map(\.bytes) == [11] && records(rig).map(\.attempts) == [2])
    }

    @Test("finding UF-4 a line of the log is written at the end of a streamed body")
    func line() async throws {
        let log = Journal<String>()
        let rig = Rig { $0.observers.append(LoggingObserver { log.add($0) }) }
        rig.transport.onAnyRequest().respond(.text("hello"))
        let response = try await rig.loader.load(rig.request().streamed)
        #expect(log.all.isEmpty)
        rig.time.advance(by: .seconds(3))

        _ = try await response.body.collect()

        #expect(log.all.count == 1)
        #expect(log.all.first?.hasSuffix(" bytes, 3.0 s, 1 attempt") == true, "\(log.all)")
    }
}
