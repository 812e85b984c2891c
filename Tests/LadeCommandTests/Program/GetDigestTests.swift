import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// `lade get --sha256`: a file has its name only with the digest that it must have.
@Suite("lade get --sha256", .timeLimit(.minutes(5)))
struct GetDigestTests: GetSuite {
    private static let right = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
    private static let wrong = "a94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

    /// A server of “hello world”, whose first response is cut after five bytes if asked so.
    private func world(cutsFirst: Bool = false) throws -> LoopbackServer {
        let isFirst = Locked(cutsFirst)
        return try LoopbackServer { request in
            let tag = ServerField("ETag", "\"1\"")
            let isCut = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if request["Range"] == "bytes=5-" {
                return .text(" world", status: 206, [tag, ServerField("Content-Range", "bytes 5-10/11")])
            }
            guard isCut else {
                return .text("hello world", [tag, ServerField("Content-Disposition", "attachment; filename=given")])
            }
            return ServerResponse(
                status: 200,
                fields: [tag, ServerField("Content-Length", "11")],
                body: .raw { connection in
                    try connection.send(Data("hello".utf8))
                    try connection.close()
                }
            )
        }
    }

    @Test(
        "finding DC-3 the right digest gives the file its name, another one leaves nothing and has its own exit code",
        arguments: [["-o", "f"], ["-O"], ["-OJ"], ["--output-dir", "d", "--create-dirs", "-o", "f"]],
        [right, right.uppercased(), wrong]
    )
    func names(options: [String], digest: String) async throws {
        let (server, folder) = (try world(), try TemporaryFolder())
        defer { folder.remove() }
        let arguments = ["get", "--sha256", digest] + options + [server.address("/f")]
        let outcome = try await LadeProcess(arguments, in: folder.path).outcome()
        let name = options.contains("-OJ") ? "given" : options.contains("d") ? "d/f" : "f"
        if digest == Self.wrong {
            #expect(outcome.status == 16 && outcome.talkLines.count == 2, "\(outcome.talk)")
            #expect(
                outcome.talk.contains("the SHA-256 \(Self.right), and --sha256 says \(Self.wrong)."),
                "\(outcome.talk)"
            )
            #expect(folder.names.allSatisfy { $0 == "d" } && folder.text("d/f") == nil)
        } else {
            #expect(outcome.status == 0, "\(outcome.talk)")
            #expect(folder.text(name) == "hello world")
        }
    }

    @Test(
        "finding DC-3 a file that exists stays as it is when the new one has another digest",
        arguments: [right, wrong]
    )
    func existing(digest: String) async throws {
        let (server, folder) = (try world(), try TemporaryFolder())
        defer { folder.remove() }
        _ = try folder.file("f", "old")
        let outcome = try await LadeProcess.run(
            "get",
            "--force",
            "--sha256",
            digest,
            "-o",
            "f",
            server.address(),
            in: folder.path
        )
        #expect(outcome.status == (digest == Self.wrong ? 16 : 0), "\(outcome.talk)")
        #expect(folder.text("f") == (digest == Self.wrong ? "old" : "hello world") && folder.names == ["f"])
    }

    @Test(
        "finding DC-3 a download that is resumed is compared as a whole",
        arguments: [right, wrong],
        [false, true]
    )
    func resumed(digest: String, isBegunElsewhere: Bool) async throws {
        let (server, folder) = (try world(cutsFirst: !isBegunElsewhere), try TemporaryFolder())
        defer { folder.remove() }
        var arguments = ["get", "--sha256", digest, "-o", "f", server.address()]
        if isBegunElsewhere {
            _ = try folder.file("f", "hello")
            arguments.insert("-C", at: 1)
        } else {
            let cut = try await LadeProcess(arguments, in: folder.path).outcome()
            #expect(cut.status == 7 && folder.text("f") == nil, "\(cut.talk)")
        }
        let outcome = try await LadeProcess(arguments, in: folder.path).outcome()
        #expect(server.requests.last?["Range"] == "bytes=5-")
        #expect(outcome.status == (digest == Self.wrong ? 16 : 0), "\(outcome.talk)")
        if digest == Self.wrong {
            #expect(folder.names == (isBegunElsewhere ? ["f"] : []))
            #expect(folder.text("f") == (isBegunElsewhere ? "hello" : nil))
        } else {
            #expect(folder.text("f") == "hello world" && folder.names == ["f"])
        }
    }

    @Test(
        "finding DC-3 where nothing could be compared, --sha256 is refused before anything is sent",
        arguments: [
            "U/", "-o - U/", "-o /dev/null U/", "-O U/a U/b", "-o #1 U/[1-2]", "-i -o f U/", "-I -o f U/",
            "--etag-compare tag -o f U/", "-z 20010203 -o f U/", "-o f U/ If-None-Match:1", "--range 0-1 -o f U/",
            "-o f U/ Range:bytes=0-1", "--from-curl LINE",
        ]
    )
    func refused(options: String) async throws {
        let (server, folder) = (try world(), try TemporaryFolder())
        defer { folder.remove() }
        let line = "curl --skip-existing -o f \(server.address())"
        let words = options.split(separator: " ").map { word in
            word == "LINE" ? line : String(word).replacing("U/", with: server.address("/"))
        }
        let outcome = try await LadeProcess(["get", "--sha256", Self.right] + words, in: folder.path).outcome()
        #expect([1, 14].contains(outcome.status) && outcome.talk.contains("--sha256"), "\(outcome.talk)")
        #expect(server.requestCount == 0 && folder.names.isEmpty)
    }

    @Test(
        "finding DC-3 what is no SHA-256 is refused",
        arguments: [
            "", "abc", String(right.dropLast()), right + "0", right.replacing("b", with: "g"), right + "\u{301}",
        ]
    )
    func malformed(digest: String) {
        let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
        let error = #expect(throws: CommandError.self) {
            try parser.parse(["--sha256", digest, "-o", "f", "http://h/"])
        }
        #expect(error?.code == .usage && error?.what.contains("--sha256") == true)
    }

    @Test("finding DC-3 the digest of each operation is its own, and a status that is no success leaves no file")
    func operations() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { request in
            request.path == "/missing" ? .text("hello world", status: 404) : .text("hello world")
        }
        let outcome = try await LadeProcess.run(
            "get",
            "--sha256",
            Self.wrong,
            "-o",
            "a",
            server.address("/a"),
            "--next",
            "--sha256",
            Self.right,
            "-o",
            "b",
            server.address("/b"),
            in: folder.path
        )
        #expect(outcome.status == 16 && folder.names == ["b"], "\(outcome.talk)")
        for options in [[], ["-f", "--ignore-status"]] {
            let arguments = ["get", "--sha256", Self.right, "-o", "c"] + options + [server.address("/missing")]
            let missing = try await LadeProcess(arguments, in: folder.path).outcome()
            #expect(missing.status == 4 && folder.names == ["b"], "\(missing.talk)")
        }
    }
}
