import Foundation
import LadeTesting
import Testing

@testable import Lade
@testable import LadeCommand

/// What `lade get --retry` makes of responses that break in their body, on a server that breaks them.
@Suite("lade get, when a body breaks", .timeLimit(.minutes(5)))
struct GetResumeTests: GetResumeSuite {
    @Test(
        "resumes where the body was truncated, wherever and however that happens",
        arguments: [0, 1, 16_383, 16_384, 65_537, 150_000, 299_999],
        BodyBreak.allCases
    )
    func places(_ place: Int, _ end: BodyBreak) async throws {
        let server = try server { request, number in
            number == 0 ? Self.whole(upTo: place, end) : Self.rest(of: request)
        }

        // Only silence is waited for, so that nothing else can take too long.
        let patience = end == .silence ? "1s" : "60s"
        let outcome = try await run("--retry", "1", "--idle-timeout", patience, "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, Self.content))
        #expect(outcome.names == ["file"])
        #expect(server.requestCount == 2)
        let range = try #require(Self.ranges(server).last)
        if end == .reset {
            // What a reset leaves of the bytes before it is the system's to say.
            #expect((0...place).contains { range == ($0 == 0 ? nil : "bytes=\($0)-") })
        } else {
            #expect(range == (place == 0 ? nil : "bytes=\(place)-"))
        }
    }

    @Test("resumes as often as the body is truncated", arguments: [1, 50_000, 100_000])
    func many(_ piece: Int) async throws {
        let server = try server { request, number in
            Self.rest(of: request, upTo: number < 3 ? piece : nil)
        }

        let outcome = try await run("--retry", "3", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, Self.content))
        // The third piece of 100,000 is the last, so that nothing has broken.
        let pieces = piece == 100_000 ? [1, 2] : [1, 2, 3]
        #expect(Self.ranges(server) == [nil] + pieces.map { "bytes=\(piece * $0)-" })
    }

    @Test(
        "begins anew when there is no strong validator",
        arguments: [
            [], [ServerField("ETag", "W/\"1\"")], [ServerField("Last-Modified", "Fri, 31 Dec 1999 23:59:59 GMT")],
        ]
    )
    func noValidator(_ fields: [ServerField]) async throws {
        let server = try server { _, number in Self.whole(Self.content, fields, upTo: number == 0 ? 70_000 : nil) }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, Self.content))
        #expect(Self.ranges(server) == [nil, nil])
        #expect(server.requests.allSatisfy { $0["If-Range"] == nil })
    }

    @Test("resumes by a date that is old enough")
    func date() async throws {
        let changed = ServerField("Last-Modified", "Fri, 31 Dec 1999 23:59:59 GMT")
        let fields = [changed, ServerField("Date", "Sat, 01 Jan 2000 12:00:00 GMT")]
        let range = ServerField("Content-Range", "bytes 70000-299999/300000")
        let server = try server { _, number in
            number == 0
                ? Self.whole(Self.content, fields, upTo: 70_000)
                : Self.whole(Self.content[70_000...], fields + [range], status: 206)
        }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(Self.same(outcome.file, Self.content))
        #expect(server.requests.last?["If-Range"] == changed.value)
    }

    @Test("takes the whole that comes in place of the rest, of either version", arguments: ["\"1\"", "\"2\""])
    func wholeAgain(_ tag: String) async throws {
        // Another version may be shorter than what has arrived by then; the same version cannot (CF-1).
        let other = tag == "\"1\"" ? Self.content : Data(Self.content.reversed().prefix(200_000))
        let server = try server { _, number in
            number == 0 ? Self.whole(upTo: 250_000) : Self.whole(other, [ServerField("ETag", tag)])
        }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, other))
        #expect(Self.ranges(server) == [nil, "bytes=250000-"])
    }

    @Test("begins anew when what comes is not the rest", arguments: misfits.indices)
    func misfit(_ index: Int) async throws {
        let (status, fields) = Self.misfits[index]
        let server = try server { _, number in
            switch number {
            case 0: Self.whole(upTo: 70_000)
            case 1: Self.whole(Self.content[70_000...], fields, status: status)
            default: Self.whole()
            }
        }

        let outcome = try await run("--retry", "2", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, Self.content))
        #expect(Self.ranges(server) == [nil, "bytes=70000-", nil])
        // The story says what was wrong with the response.
        #expect(outcome.story.contains("* attempt 2: "))
        #expect(!outcome.story.contains("* attempt 2: the transfer failed"))
    }

    @Test("resumes from where a part of the rest ends")
    func shortRange() async throws {
        let range = ServerField("Content-Range", "bytes 70000-99999/300000")
        let server = try server { request, number in
            switch number {
            case 0: Self.whole(upTo: 70_000)
            case 1: Self.whole(Self.content[70_000..<100_000], [Self.tag, range], status: 206)
            default: Self.rest(of: request)
            }
        }

        let outcome = try await run("--retry", "2", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.file, Self.content))
        #expect(Self.ranges(server) == [nil, "bytes=70000-", "bytes=100000-"])
    }

    @Test("begins anew, undecoded bytes being counted by the server alone, when the answer came coded")
    func decoded() async throws {
        let coded = try #require(Data(base64Encoded: Self.gzip))
        let fields = [Self.tag, ServerField("Content-Encoding", "gzip")]
        let server = try server { _, number in Self.whole(coded, fields, upTo: number == 0 ? coded.count - 9 : nil) }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(outcome.code == .success)
        #expect(outcome.file == Data("hello hello hello hello".utf8))
        #expect(Self.ranges(server) == [nil, nil])
    }

    @Test("writes the head of the answer once, that of the last one that began")
    func head() async throws {
        for isResumed in [true, false] {
            let server = try server { request, number in
                let fields = isResumed ? [Self.tag] : []
                return number == 0 ? Self.whole(Self.content, fields, upTo: 5) : Self.rest(of: request)
            }

            let outcome = try await run("--retry", "1", "-i", "-o", "FILE", server.address())

            let head = try #require(outcome.file?.prefix { $0 != 0x0A })
            #expect(String(decoding: head, as: UTF8.self) == "HTTP/1.1 200 OK\r")
            #expect(Self.same(outcome.file?.suffix(Self.content.count), Self.content))
            #expect(outcome.file?.count ?? 0 < Self.content.count + 200)
        }
    }

    @Test("takes no page of an error for the file, and leaves nothing behind")
    func gone() async throws {
        let server = try server { _, number in
            number == 0 ? Self.whole(Self.content, [], upTo: 70_000) : .text("gone", status: 404)
        }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(outcome.code == .clientError)
        #expect(outcome.names == [])
    }

    @Test("counts the whole body for --max-size")
    func maximumSize() async throws {
        let server = try server { request, number in Self.rest(of: request, upTo: number == 0 ? 200_000 : nil) }
        let short = ServerField("Content-Range", "bytes 9-15/16")
        let growing = try self.server { _, number in
            guard number == 0 else { return Self.whole(Data("0123456".utf8), [Self.tag, short], status: 206) }
            let chunked = ServerField("Transfer-Encoding", "chunked")
            return ServerResponse(fields: [Self.tag, chunked], body: .raw { try $0.send("9\r\n123456789\r\n") })
        }
        let anew = try self.server { _, number in Self.whole(Self.content, [], upTo: number == 0 ? 200_000 : nil) }

        let exact = try await run("--retry", "1", "--max-size", "300000", "-o", "FILE", server.address())
        let larger = try await run("--retry", "1", "--max-size", "15", "-o", "FILE", growing.address())
        let twice = try await run("--retry", "1", "--max-size", "300000", "-o", "FILE", anew.address())

        #expect(exact.code == .success)
        #expect(twice.code == .success)
        #expect(larger.code == .decoding)
        #expect(larger.names == [])
    }

    // MARK: - Limits

    @Test("command CM-03 ends as without --retry when the attempts are used up, and leaves what can be resumed")
    func usedUp() async throws {
        let server = try server { request, _ in Self.rest(of: request, upTo: 10) }
        let plain = try self.server { _, _ in Self.whole(upTo: 30) }

        let outcome = try await run("--retry", "2", "-o", "FILE", server.address())
        let once = try await run("-o", "FILE", plain.address())

        #expect(outcome.code == .network)
        #expect(once.code == .network)
        #expect(outcome.lines == once.lines.replacing(plain.authority, with: server.authority))
        #expect(outcome.lines.contains("30 bytes of 300000"))
        #expect(server.requestCount == 3)
        #expect(plain.requestCount == 1)
        #expect(outcome.names == [".file.lade-note", ".file.lade-part"])
    }

    @Test("command CM-07 does not repeat what is no GET because its answer breaks")
    func unsafeMethods() async throws {
        let server = try server { _, _ in Self.whole(upTo: 30) }

        let outcome = try await run("--retry", "2", "--retry-unsafe", "-d", "x", "-o", "FILE", server.address())

        #expect(outcome.code == .network)
        #expect(server.requestCount == 1)
    }

    // MARK: - The story

    @Test("command CM-04 shows the events of a body that was truncated")
    func story() async throws {
        let server = try server { request, number in Self.rest(of: request, upTo: number == 0 ? 70_000 : nil) }

        let outcome = try await run("--retry", "1", "-o", "FILE", server.address())

        #expect(
            // The end of the call is reported on another thread than the events of its body.
            outcome.events.filter { $0 != "callFinished" && $0 != "bodyFinished" } == [
                "callStarted", "attemptStarted", "exchangeStarted", "headReceived", "exchangeFailed",
                "retryScheduled", "attemptStarted", "exchangeStarted", "headReceived", "exchangeFinished",
            ]
        )
        let lines = outcome.story.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("* failed: ") && $0.contains("70000 bytes of 300000") })
        #expect(lines.contains("* attempt 1: the transfer failed; next in 0 ms"))
        #expect(lines.contains("* attempt 2"))
        #expect(lines.contains("< Content-Range: bytes 70000-299999/300000"))
    }

    @Test("lade explain shows that a truncated body was resumed, or began anew", arguments: [true, false])
    func explain(_ hasTag: Bool) async throws {
        let server = try server { request, number in
            number == 0 ? Self.whole(Self.content, hasTag ? [Self.tag] : [], upTo: 70_000) : Self.rest(of: request)
        }

        let outcome = try await run("--retry", "1", server.address(), command: "explain")

        #expect(outcome.code == .success)
        let story = String(decoding: outcome.output, as: UTF8.self)
        #expect(story.contains("response \(hasTag ? 206 : 200), "))
        #expect(story.contains("attempt 2"))
        #expect(server.requestCount == 2)
    }

    /// “hello hello hello hello”.
    private static let gzip = "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="
}
