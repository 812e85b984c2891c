import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// What the command takes for whole, and what it replaces.
@Suite("lade get, whole files and other origins", .timeLimit(.minutes(5)))
struct GetCompletenessTests: GetResumeSuite {
    /// The rest of the content, with the status of the whole.
    private static func restAsWhole(of request: ServerRequest, saysRange: Bool) -> ServerResponse {
        guard let range = request["Range"], let first = Int(range.dropFirst("bytes=".count).dropLast()) else {
            return whole()
        }
        let field = ServerField("Content-Range", "bytes \(first)-\(content.count - 1)/\(content.count)")
        return .bytes(Data(content[first...]), status: 200, saysRange ? [tag, field] : [tag])
    }

    @Test("finding CF-1 the rest with status 200 never becomes the file", arguments: ["3", "0"], [true, false])
    func restAsWhole(retries: String, saysRange: Bool) async throws {
        let server = try server { request, number in
            number == 0 ? Self.whole(upTo: 100_000) : Self.restAsWhole(of: request, saysRange: saysRange)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let line = ["get", "--retry", retries, "-o", "file", server.address()]

        var outcome = try await LadeProcess(line, in: folder.path).outcome()
        if retries == "0" {
            #expect(outcome.status != 0)
            #expect(!folder.names.contains("file"))
            outcome = try await LadeProcess(line, in: folder.path).outcome()
        }

        #expect(outcome.status == 0)
        #expect(Self.same(FileManager.default.contents(atPath: folder.path + "file"), Self.content))
        #expect(folder.names == ["file"])
    }

    @Test("finding CF-1 -C in two commands takes no rest with status 200 for the whole")
    func continued() async throws {
        let server = try server { request, _ in Self.restAsWhole(of: request, saysRange: true) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "file"
        #expect(FileManager.default.createFile(atPath: path, contents: Self.content.prefix(70_000)))

        let outcome = try await LadeProcess.run("get", "-C", "-o", "file", server.address(), in: folder.path)

        #expect(outcome.status == 14)
        #expect(outcome.talk.contains("it responded with 200"))
        #expect(Self.same(FileManager.default.contents(atPath: path), Self.content.prefix(70_000)))
        #expect(folder.names == ["file"])
    }

    @Test(
        "finding CF-26 -C on a complete file succeeds, on another it says what the server responded",
        arguments: [true, false]
    )
    func complete(isComplete: Bool) async throws {
        let server = try server { request, _ in request["Range"] == nil ? .text("whole") : .status(416) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("file", isComplete ? "whole" : "who")

        let outcome = try await LadeProcess.run("get", "-C", "-o", "file", server.address(), in: folder.path)

        #expect(outcome.status == (isComplete ? 0 : 14))
        if !isComplete {
            #expect(outcome.talk.contains("it responded with 416"))
            #expect(outcome.talk.contains("--force"))
            #expect(!outcome.talk.contains("permissions"))
        }
        #expect(folder.text("file") == (isComplete ? "whole" : "who"))
    }

    @Test(
        "finding HF-17 a part that was not asked for is no success",
        arguments: [[], ["-o", "file"], ["-O"], ["-o", "/dev/null"]]
    )
    func unaskedPart(target: [String]) async throws {
        let server = try server { _, _ in
            .bytes(Data("hello".utf8), status: 206, [ServerField("Content-Range", "bytes 0-4/11")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }

        let outcome = try await LadeProcess(["get"] + target + [server.address("/file")], in: folder.path).outcome()

        #expect(outcome.status != 0)
        #expect(outcome.output == "")
        #expect(folder.names.isEmpty)
    }

    @Test("finding CF-21 --force keeps the permissions of a file, and follows a link")
    func replaced() async throws {
        let server = try server { _, _ in .text("new") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "old")
        #expect(chmod(path, 0o600) == 0)
        #expect(symlink("file", folder.path + "link") == 0)

        for name in ["file", "link"] {
            let outcome = try await LadeProcess.run("get", "--force", "-o", name, server.address(), in: folder.path)
            #expect(outcome.status == 0)
        }

        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(lstat(folder.path + "link", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFLNK)
        #expect(folder.text("file") == "new")
        #expect(folder.names == ["file", "link"])
    }

    @Test(
        "finding HF-5 a pipe is refused without --force, and read through with it",
        arguments: [["-o", "pipe"], ["-O"]]
    )
    func pipes(target: [String]) async throws {
        let server = try server { _, _ in .text("through") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        #expect(mkfifo(folder.path + "pipe", 0o600) == 0)
        let address = server.address("/pipe")

        let refused = try await LadeProcess(["get"] + target + [address], in: folder.path).outcome()
        let script = "lade get --force \(target.joined(separator: " ")) \(address) & cat pipe; wait $!"
        let read = try await LadeProcess.run("-c", script, program: "/bin/bash", in: folder.path)

        #expect(refused.status == 14)
        #expect(read.status == 0)
        #expect(read.output == "through")
        var status = stat()
        #expect(lstat(folder.path + "pipe", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("finding HF-5 an interrupt ends the wait for the reader of a pipe")
    func interrupted() async throws {
        let server = try server { _, _ in .text("through") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        #expect(mkfifo(folder.path + "pipe", 0o600) == 0)
        // A pipe too, so that the test is notified of its contents: it is read before the wait for the other pipe begins.
        #expect(mkfifo(folder.path + "first", 0o600) == 0)
        let process = try LadeProcess(["get", "--force", "-O", server.address("/{first,pipe}")], in: folder.path)
        let first = try await LadeProcess.run("first", program: "/bin/cat", in: folder.path)
        #expect(first.output == "through")

        process.send(SIGINT)

        #expect(try await process.outcome().status == 130)
        #expect(folder.names == ["first", "pipe"])
        #expect(server.requestCount == 1)
    }

    @Test("finding HF-7 -L takes only fields that describe the request to another origin, and no body")
    func otherOrigin() async throws {
        let other = try server { _, _ in .text("there") }
        let target = other.address("/to")
        let first = try server { request, _ in .status(307, [ServerField("Location", target)]) }
        let fields = ["X-Custom:cAnArY", "Accept-Language:de"]

        let followed = try await LadeProcess(["get", "-L", first.address()] + fields).outcome()
        let translated = try await LadeProcess.run(
            "get",
            "--from-curl",
            "curl -L -H 'X-Custom: cAnArY' \(first.address())"
        )
        let refused = try await LadeProcess.run("get", "-L", first.address(), "-d", "payload")
        let allowed = try await LadeProcess.run("get", "-L", first.address(), "-d", "payload", "--cross-origin-body")

        #expect(followed.output == "there")
        #expect(translated.output == "there")
        #expect(allowed.output == "there")
        #expect(refused.status != 0)
        #expect(refused.talk.contains("--cross-origin-body"))
        let received = other.requests
        #expect(received.count == 3)
        #expect(!received.contains { $0.fields.contains { $0.value.contains("cAnArY") } })
        #expect(received[0]["Accept-Language"] == "de" && received[2].text == "payload")
    }
}
