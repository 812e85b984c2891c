import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// What `lade get --retry` makes of responses that break while they are written to the standard output.
@Suite("lade get, when a body breaks on its way to the standard output", .timeLimit(.minutes(5)))
struct GetResumeOutputTests: GetResumeSuite {
    @Test("continues on the standard output, where nothing can be taken back", arguments: [1, 65_537, 299_999])
    func output(_ place: Int) async throws {
        let server = try server { request, number in Self.rest(of: request, upTo: number == 0 ? place : nil) }

        let outcome = try await run("--retry", "1", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.output, Self.content))
        #expect(Self.ranges(server) == [nil, "bytes=\(place)-"])
    }

    @Test("ends as without --retry when the output on the standard output cannot be continued")
    func outputWithoutValidator() async throws {
        let server = try server { _, _ in Self.whole(Self.content, [], upTo: 70_000) }

        let outcome = try await run("--retry", "3", server.address())

        #expect(outcome.code == .network)
        #expect(Self.same(outcome.output, Self.content.prefix(70_000)))
        #expect(server.requestCount == 1)
        #expect(outcome.story.contains("attempt 1: the server named no version to resume; not sent again"))
        let text = try self.server { _, _ in Self.whole(Data("a text".utf8), [], upTo: 4) }
        let laidOut = try await run("--retry", "3", "--color", "always", text.address())
        #expect(laidOut.code == .network)
        #expect(laidOut.output.starts(with: Data("a te".utf8)))
        #expect(text.requestCount == 1)
    }

    @Test("writes nothing but the rest to the standard output", arguments: -2..<misfits.count)
    func outputMisfit(_ index: Int) async throws {
        let server = try server { _, number in
            if number == 0 { return Self.whole(upTo: 70_000) }
            if index < 0 { return Self.whole(Self.content, [ServerField("ETag", "\"\(-index)\"")]) }
            let (status, fields) = Self.misfits[index]
            return Self.whole(Self.content[70_000...], fields, status: status)
        }

        let outcome = try await run("--retry", "3", server.address())

        #expect(outcome.code == .network)
        #expect(Self.same(outcome.output, Self.content.prefix(70_000)))
        #expect(outcome.lines.contains("70000 bytes of 300000"))
        #expect(server.requestCount == 2)
    }

    @Test("begins anew to the standard output as long as nothing was written to it")
    func outputNothingYet() async throws {
        let server = try server { _, number in Self.whole(Self.content, [], upTo: number == 0 ? 0 : nil) }

        let outcome = try await run("--retry", "1", server.address())
        let withHead = try await run("--retry", "1", "-i", server.address())

        #expect(outcome.code == .success)
        #expect(Self.same(outcome.output, Self.content))
        #expect(withHead.code == .success)
    }

    @Test("takes no page of an error for the answer that begins anew")
    func outputErrorPage() async throws {
        let server = try server { _, number in
            Self.whole(Self.content, [], status: number == 0 ? 200 : 404, upTo: number == 0 ? 0 : nil)
        }

        let outcome = try await run("--retry", "1", server.address())

        #expect(outcome.code == .clientError)
        #expect(outcome.output.isEmpty)
        #expect(server.requestCount == 2)
    }

    @Test("selects from the answer that came whole, whatever arrived before it")
    func selection() async throws {
        let json = Data(#"{"a":"text"}"#.utf8)
        let server = try server { _, number in Self.whole(json, [], upTo: number == 0 ? 5 : nil) }
        let failing = try self.server { _, number in
            Self.whole(json, [], status: number == 0 ? 200 : 404, upTo: number == 0 ? 5 : nil)
        }

        let selected = try await run("--retry", "1", "--select", "/a", server.address())
        let refused = try await run("--retry", "1", "--select", "/a", failing.address())
        let tooLarge = try await run("--max-size", "11", "--select", "/a", server.address())

        #expect(selected.code == .success)
        #expect(selected.output == Data("\"text\"\n".utf8))
        #expect(refused.code == .clientError)
        #expect(refused.output.isEmpty)
        #expect(tooLarge.code == .decoding)
        #expect(tooLarge.output.isEmpty)
    }

    @Test("writes the head to the standard output once, and continues behind it")
    func outputHead() async throws {
        for hasTag in [true, false] {
            let server = try server { request, number in
                number == 0 ? Self.whole(Self.content, hasTag ? [Self.tag] : [], upTo: 0) : Self.rest(of: request)
            }

            let outcome = try await run("--retry", "1", "-i", server.address())

            #expect(outcome.code == (hasTag ? .success : .network))
            #expect(Self.ranges(server) == (hasTag ? [nil, "bytes=0-"] : [nil]))
            let end = hasTag ? Self.content : Data("\r\n\r\n".utf8)
            #expect(Self.same(outcome.output.suffix(end.count), end))
        }
    }

    @Test("takes nothing back from a device or a pipe")
    func device() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("file", "text")

        guard case .special(let device) = try OutputFile("/dev/null", mayOverwrite: false) else {
            Issue.record("a device is taken for a file")
            return
        }
        try device.close()
        guard case .regular = try OutputFile(file, mayOverwrite: true) else {
            Issue.record("a file is taken for a device")
            return
        }
    }
}
