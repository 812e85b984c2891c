import Foundation
import Lade
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct BodySinkTests {
    /// What chunks leave on a terminal, and what is said of them.
    private func shown(_ chunks: [[UInt8]], contentType: String?) async throws -> (output: String?, talk: String?) {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var console = Console()
        console.output = try Descriptor.open(folder.file("out", ""), O_WRONLY)
        console.talk = LineLog(try Descriptor.open(folder.file("talk", ""), O_WRONLY))
        console.usesColour = false
        var sink = TerminalSink(console, contentType: contentType)
        for chunk in chunks { try await sink.write(Data(chunk)) }
        try await sink.finish()
        console.talk.flush()
        return (folder.text("out"), folder.text("talk"))
    }

    private static let notice = "lade: The response is no text; -o FILE or a pipe takes it as it is.\n"

    @Test(
        "shows text with an end of its last line, and nothing of a body that begins with zero bytes",
        arguments: [
            ([Array("a".utf8), Array("b".utf8)], "text/plain", "ab\n", ""),
            ([[0x61], [0x62, 0x00]], "text/plain", "ab\\x00\n", ""),
            ([[0x61, 0x00, 0x62, 0x00]], "text/plain; charset=utf-16le", "ab\n", ""),
            ([[0x61, 0x00], [0x62]], "text/plain", "", notice),
        ] as [([[UInt8]], String, String, String)]
    )
    func text(chunks: [[UInt8]], contentType: String, output: String, talk: String) async throws {
        let shown = try await shown(chunks, contentType: contentType)
        #expect(shown.output == output)
        #expect(shown.talk == talk)
    }

    @Test("lets a body begin anew until a part of it has arrived, which need not be written yet")
    func anew() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var console = Console()
        console.output = try Descriptor.open(folder.file("out", ""), O_WRONLY)
        var pipe = PipeSink(console.output)
        var terminal = TerminalSink(console, contentType: nil)

        try await pipe.write(Data())
        #expect(pipe.canBeginAnew)
        #expect(terminal.canBeginAnew)
        try await pipe.write(Data("a".utf8))
        // The first byte of a character is kept until the second arrives.
        try await terminal.write(Data([0xC3]))

        #expect(folder.text("out") == "a")
        #expect(!pipe.canBeginAnew)
        #expect(!terminal.canBeginAnew)
        try await pipe.write(Data())
        #expect(!pipe.canBeginAnew)
    }

    @Test("reports what cannot be written, with the path that the user has named")
    func failure() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "")
        let readOnly = try Descriptor.open(path, O_RDONLY)
        for (name, part) in [(path, "The file \(path) cannot be written"), (nil, "The standard output")] {
            var sink = PipeSink(readOnly, path: name)
            let error = await #expect(throws: CommandError.self) { try await sink.write(Data("a".utf8)) }
            #expect(error?.code == .localFile, "\(error?.what ?? "")")
            #expect(error?.what.hasPrefix(part) == true, "\(error?.what ?? "")")
        }
    }
}
