import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// The built program with files that are full, endless, special or badly named.
@Suite("lade, with files that cannot be used", .timeLimit(.minutes(5)))
struct LocalFailureTests: GetSuite {
    // MARK: - Output

    @Test("reports once that the events could not be written, after the answer and beside the error of a call")
    func eventsOnAFullDisk() async throws {
        let server = try server { $0.path == "/ok" ? .text("hello") : .status(404) }
        let line = "lade: The file /dev/full cannot be written: No space left on device."

        let answered = try await LadeProcess.run("get", server.address("/ok"), "--events", "/dev/full")
        let refused = try await LadeProcess.run("get", server.address("/no"), "--events", "/dev/full")
        let silent = try await LadeProcess.run("get", "-s", server.address("/no"), "--events", "/dev/full")
        let listed = try await LadeProcess.run("pages", server.address("/no"), "--retry", "0", "--events", "/dev/full")

        #expect(answered.status == 14)
        #expect(answered.output == "hello")
        #expect(answered.talkLines.count == 2)
        #expect(answered.talkLines.first == line)
        #expect(refused.status == 4)
        #expect(refused.talkLines.count == 4)
        #expect(refused.talkLines.first == line)
        #expect(silent.status == 4)
        #expect(silent.talk == "")
        #expect(listed.status == 4)
        #expect(listed.talkLines.first == line)
    }

    @Test("names the device or the pipe of --output that cannot be written")
    func fullDevice() async throws {
        let server = try server { _ in .text("hello") }

        let outcome = try await LadeProcess.run("get", server.address(), "-o", "/dev/full")

        #expect(outcome.status == 14)
        #expect(outcome.talkLines.first == "lade: The file /dev/full cannot be written: No space left on device.")
    }

    @Test("downloads to a name of any length that a file may have", arguments: [243, 244, 245, 250, 255])
    func longName(length: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in .text("hello", [ServerField("ETag", "\"1\"")]) }
        // The last character has two bytes, so that a shortened name must not end within it.
        let name = String(repeating: "n", count: length - 102) + String(repeating: "é", count: 51)

        let outcome = try await LadeProcess.run("get", server.address(), "-o", name, in: folder.path)

        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(folder.names == [name])
        #expect(folder.text(name) == "hello")
    }

    @Test("refuses a name or a path that no file may have, and sends and leaves nothing", arguments: [256, 5_000])
    func tooLongName(length: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in .text("hello") }
        let name = String(repeating: "n", count: length)

        let outcome = try await LadeProcess.run("get", server.address(), "-o", name, in: folder.path)

        #expect(outcome.status == 14)
        // A long message is shortened.
        #expect(outcome.talkLines.first?.hasPrefix("lade: The file nnn") == true, "\(outcome.talk)")
        #expect(length > 2_000 || outcome.talkLines.first?.hasSuffix("File name too long.") == true)
        #expect(folder.names == [])
        #expect(server.requests.isEmpty)
    }

    @Test("leaves no empty output where the name of the journal is too long")
    func longJournalName() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in .json("[1]") }
        let name = String(repeating: "n", count: 250)

        let outcome = try await LadeProcess.run("pages", server.address(), "-o", name, in: folder.path)
        let anew = try await LadeProcess.run("pages", server.address(), "-o", name, "--restart", in: folder.path)
        #expect(anew.status == 14)
        #expect(folder.names == [])
        let other = try await LadeProcess.run("pages", server.address(), "-o", name, "--state", "s", in: folder.path)

        #expect(outcome.status == 14)
        #expect(outcome.talk.contains("\(name).journal"))
        #expect(outcome.talkLines.first?.hasSuffix("File name too long.") == true, "\(outcome.talk)")
        #expect(other.status == 0)
        #expect(folder.names == [name, "s"])
    }

    // MARK: - Descriptors

    #if os(Linux)
        @Test("names the lack of descriptors, whatever needs one", arguments: ["http://127.0.0.1", "http://localhost"])
        func lackOfDescriptors(origin: String) async throws {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let server = try server { _ in .text("hello") }
            let address = "\(origin):\(server.port)/"
            let secure = address.replacing("http:", with: "https:")
            var errors: Set<String> = []
            // With fewer, the system's libraries fail.
            for limit in 8...15 {
                // The server speaks no TLS: a handshake that begins ends with the time-out.
                for arguments in [address, "-o file --force \(address)", "\(secure) --connect-timeout 200ms"] {
                    let line = "ulimit -n \(limit); exec '\(LadeProcess.path)' get \(arguments)"
                    let outcome = try await LadeProcess.run("-c", line, program: "/bin/sh", in: folder.path)
                    guard let error = outcome.talkLines.first, !error.contains("timeouts.connect") else { continue }
                    #expect(error.contains("Too many open files"), "\(limit) \(arguments): \(outcome.talk)")
                    errors.insert(String(error.drop { $0 != "N" }))
                }
            }
            #expect(errors.contains("No connection to \(origin.dropFirst(7)): Too many open files."), "\(errors)")
        }
    #endif

    // MARK: - Input

    #if os(Linux)
        @Test(
            "sends a file that has content but no size",
            arguments: [
                ["-T", "/proc/version"], ["--data-binary", "@/proc/version"], ["--form-part", "f=@/proc/version"],
            ]
        )
        func fileWithoutSize(arguments: [String]) async throws {
            let server = try server { _ in .text("taken") }
            let content = try String(contentsOfFile: "/proc/version", encoding: .utf8)

            let outcome = try await LadeProcess(["get", server.address("/x")] + arguments).outcome()

            #expect(outcome.status == 0, "\(outcome.talk)")
            let request = try #require(server.requests.first)
            #expect(request.text.contains(content))
            #expect(!content.isEmpty)
        }
    #endif

    @Test("sends an empty file with its length")
    func emptyFile() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in .text("taken") }

        let outcome = try await LadeProcess.run("get", server.address("/x"), "-T", try folder.file("empty", ""))

        #expect(outcome.status == 0)
        #expect(server.requests.first?["Content-Length"] == "0")
    }

    /// Arguments with an endless or a special file, the exit code, and the error.
    static let rows: [([String], Int32, String)] = [
        (
            ["-b", "/dev/zero"], 14, "lade: The file /dev/zero is larger than 16 MB, so it is no list of cookies."
        ),
        (["-b", "/tmp"], 14, "lade: The file /tmp cannot be read: Is a directory."),
        (["--netrc-file", "/dev/zero"], 14, "lade: The netrc file /dev/zero is no regular file."),
        (["--session", "/dev/zero"], 14, "lade: The session file /dev/zero is no regular file."),
        (["-d", "@/dev/zero"], 14, "lade: The file /dev/zero is larger than 256 MB, which are read into memory."),
        (
            ["--data-urlencode", "a@/dev/zero"], 14,
            "lade: The file /dev/zero is larger than 256 MB, which are read into memory."
        ),
        (["a=@/dev/zero"], 1, "lade: the item “a” names a file that is larger than 64 MB"),
        (
            ["--cacert", "/dev/zero"], 1,
            "lade: The setting authority cannot be used: the file /dev/zero cannot be read: it is not a regular file."
        ),
        (
            ["--cacert", "/tmp"], 1,
            "lade: The setting authority cannot be used: the file /tmp cannot be read: it is not a regular file."
        ),
        (
            ["--cert", "/dev/zero"], 1,
            "lade: The setting client certificate cannot be used: the file /dev/zero cannot be read: "
                + "it is not a regular file."
        ),
    ]

    @Test("refuses an endless or a special file by name, and sends nothing", arguments: rows)
    func endless(arguments: [String], status: Int32, line: String) async throws {
        let server = try server()

        let outcome = try await LadeProcess(["get", server.address("/")] + arguments).outcome()

        #expect(outcome.status == status)
        #expect(outcome.talkLines.first == line)
        #expect(server.requests.isEmpty)
    }

    @Test("does not wait for a pipe without a writer where a file is expected")
    func pipes() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let pipe = folder.path + "pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let server = try server()

        for option in ["--cacert", "--cert", "--netrc-file", "--session"] {
            let outcome = try await LadeProcess.run("get", server.address("/"), option, pipe)
            #expect(outcome.status == (option.hasPrefix("--c") ? 1 : 14))
            #expect(outcome.talkLines.first?.contains(pipe) == true, "\(outcome.talk)")
        }
        #expect(server.requests.isEmpty)
    }
}
