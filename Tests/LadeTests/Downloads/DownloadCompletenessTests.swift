#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Downloads that are whole, and files that are trusted", .timeLimit(.minutes(5)))
struct DownloadCompletenessTests {
    private static let text = "hello world"
    private static let tag = ["ETag": "\"1\""] as Headers

    private func rig(retries: Int = 2, _ change: (inout Service.Settings) -> Void = { _ in }) -> Rig {
        Rig {
            $0.retries.limit = retries
            $0.retries.backoff = .none
            change(&$0)
        }
    }

    private func cut(_ text: String = text, _ tag: String = "\"1\"") -> ScriptedResponse {
        .text(text, headers: ["ETag": tag]).breaking(after: 5)
    }

    private func rest(_ status: Response.Status, _ headers: Headers = [:]) -> ScriptedResponse {
        var fields = ["Content-Range": "bytes 5-10/11"] as Headers
        for field in headers { fields.add(field.name, field.value) }
        return .text(" world", status: status, headers: fields)
    }

    private func download(
        _ rig: Rig,
        _ folder: TemporaryFolder,
        _ change: (inout Download.Options) -> Void = { _ in }
    ) async -> Result<Download, LoadingError> {
        var options = Download.Options()
        change(&options)
        do throws(LoadingError) {
            return .success(try await rig.loader.download(rig.request(), to: folder.path + "file", options: options))
        } catch {
            return .failure(error)
        }
    }

    private func status(_ result: Result<Download, LoadingError>) -> Response.Status? {
        if case .failure(let error) = result, case .unacceptableStatus(let status) = error.kind { status } else { nil }
    }

    private func reason(_ result: Result<Download, LoadingError>) -> String? {
        if case .failure(let error) = result, case .file(let fault) = error.kind { fault.reason } else { nil }
    }

    // MARK: - Completeness

    @Test(
        "finding CF-1 the rest with status 200 is not the whole, within a call and in the next one",
        arguments: [0, 2]
    )
    func restAsWhole(retries: Int) async throws {
        let (rig, folder) = (rig(retries: retries), try TemporaryFolder())
        rig.transport.onAnyRequest().respond(cut())
            .then(rest(200, Self.tag)).then(.text(Self.text, headers: Self.tag))

        var result = await download(rig, folder)
        if retries == 0 {
            #expect(folder.text(".file.lade-part") == "hello")
            result = await download(rig, folder)
        }

        #expect(try result.get().length == 11)
        #expect(folder.names == ["file"] && folder.text("file") == Self.text)
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", nil])
    }

    @Test(
        "finding CF-1 a 200 without a range whose length contradicts the known one is not the whole",
        arguments: [0, 2]
    )
    func wrongLength(retries: Int) async throws {
        let (rig, folder) = (rig(retries: retries), try TemporaryFolder())
        rig.transport.onAnyRequest().respond(cut())
            .then(.text(" world", headers: Self.tag)).then(.text(Self.text, headers: Self.tag))

        var result = await download(rig, folder)
        if retries == 0 { result = await download(rig, folder) }

        #expect(try result.get().length == 11)
        #expect(folder.text("file") == Self.text)
    }

    @Test(
        "finding LF-1 a status for ranges is no answer to a request without one, and the old file stays",
        arguments: [0, 2]
    )
    func unsatisfied(retries: Int) async throws {
        let (rig, folder) = (rig(retries: retries) { $0.acceptableStatuses = .all }, try TemporaryFolder())
        try folder.write("good", to: "file")
        rig.transport.onAnyRequest().respond(cut()).then(.status(416)).then(.status(416)).then(.status(416))

        var result = await download(rig, folder) { $0.mayOverwrite = true }
        if retries == 0 { result = await download(rig, folder) { $0.mayOverwrite = true } }

        #expect(status(result) == 416)
        #expect(folder.text("file") == "good")
    }

    @Test(
        "finding LF-1 no file is made of a part that was not asked for",
        arguments: [
            (206, "bytes 0-4/11"), (206, "bytes 5-10/11"), (206, "items 0-4/11"), (206, nil), (200, "bytes 5-10/11"),
        ] as [(Response.Status, String?)]
    )
    func unaskedPart(status: Response.Status, range: String?) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        var headers = Self.tag
        if let range { headers.add("Content-Range", range) }
        rig.transport.onAnyRequest().respond(.text("hello", status: status, headers: headers))

        let result = await download(rig, folder) { $0.acceptableStatuses = .all }

        #expect(self.status(result) == status)
        #expect(folder.names.isEmpty)
    }

    @Test(
        "finding LF-20 a download accepts 200 and 206 alone, unless told",
        arguments: [404, 201, 204] as [Response.Status]
    )
    func acceptedStatuses(status: Response.Status) async throws {
        let (rig, folder) = (rig { $0.acceptableStatuses = .all }, try TemporaryFolder())
        rig.transport.onAnyRequest().respond(.status(status, "page"))

        #expect(self.status(await download(rig, folder)) == status)
        #expect(folder.names.isEmpty)
        let told = await download(rig, folder) { $0.acceptableStatuses = .codes(200..<500) }
        #expect(try told.get().response.status == status)
    }

    @Test(
        "finding CF-26 a complete file needs no rest, though 416 does not say how long it is",
        arguments: [true, false]
    )
    func completeFile(isComplete: Bool) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        try folder.write(isComplete ? Self.text : "hello", to: "file")
        rig.transport.onAnyRequest().respond(.status(416)).then(.text(Self.text, headers: Self.tag))

        let result = await download(rig, folder) { $0.continuesFile = true }

        if isComplete {
            #expect(try result.get().resumedLength == 11)
            #expect(folder.names == ["file"] && folder.text("file") == Self.text)
        } else {
            #expect(reason(result)?.hasSuffix("it responded with 416") == true)
            #expect(folder.text("file") == "hello")
        }
    }

    @Test(
        "finding HF-17 a stream refuses a part that was not asked for",
        arguments: ["bytes 0-4/11", nil, "items 0-1/9"]
    )
    func streamedPart(range: String?) async throws {
        let rig = rig()
        let headers: Headers = range.map { ["Content-Range": $0] } ?? [:]
        rig.transport.onAnyRequest().respond(.text("hello", status: 206, headers: headers))
        var load = ResumableLoad(try rig.request(), by: rig.loader)

        let error = await failure { () throws(LoadingError) in try await load.head() }

        #expect((error == nil) == (range == "items 0-1/9"))
    }

    // MARK: - Versions

    @Test("finding HF-16 the rest of another address is of another version, whatever its tag", arguments: [0, 2])
    func otherAddress(retries: Int) async throws {
        let (rig, folder) = (rig(retries: retries), try TemporaryFolder())
        rig.transport.on(.get, "/thing")
            .respond(.status(302, headers: ["Location": "/a"])).then(.status(302, headers: ["Location": "/b"]))
        rig.transport.on(.get, "/a").respond(cut())
        rig.transport.on(.get, "/b").respond(rest(206, Self.tag)).then(.text("HELLO WORLD", headers: Self.tag))

        var result = await download(rig, folder)
        if retries == 0 { result = await download(rig, folder) }

        #expect(try result.get().length == 11)
        #expect(folder.text("file") == "HELLO WORLD")
    }

    @Test("finding HF-16 a range with two tags is of no version")
    func twoTags() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        var headers = Self.tag
        headers.add("ETag", "\"2\"")
        rig.transport.onAnyRequest().respond(cut()).then(rest(206, headers)).then(.text("HELLO WORLD"))

        #expect(try await download(rig, folder).get().length == 11)
        #expect(folder.text("file") == "HELLO WORLD")
    }

    // MARK: - Files

    private func plant(_ folder: TemporaryFolder, mode: mode_t = 0o600, owner: uid_t? = nil) throws {
        try folder.write("evil!", to: ".file.lade-part")
        try folder.write("https://svc.example.com/thing\n\"1\"\n0\n", to: ".file.lade-note")
        for name in [".file.lade-part", ".file.lade-note"] {
            #expect(chmod(folder.path + name, mode) == 0)
            if let owner { #expect(chown(folder.path + name, owner, owner) == 0) }
        }
    }

    @Test(
        "finding HF-12 a part that others can change, or that has a second name, is begun anew",
        arguments: [0o666, 0o622, 0]
    )
    func plantedPart(mode: mode_t) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        try plant(folder, mode: mode == 0 ? 0o600 : mode)
        if mode == 0 { #expect(link(folder.path + ".file.lade-part", folder.path + "other") == 0) }
        rig.transport.onAnyRequest().respond(.text(Self.text, headers: Self.tag))

        let download = try await download(rig, folder).get()

        #expect(download.resumedLength == 0 && folder.text("file") == Self.text)
        #expect(try folder.mode("file").map { $0 & 0o022 } == 0)
        #expect(folder.names == (mode == 0 ? ["file", "other"] : ["file"]))
        if mode == 0 { #expect(folder.text("other") == "evil!") }
    }

    @Test(
        "finding HF-12 a part of another user is begun anew",
        .enabled(if: geteuid() == 0, "only root gives files away")
    )
    func foreignPart() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        try plant(folder, owner: 65_534)
        rig.transport.onAnyRequest().respond(.text(Self.text, headers: Self.tag))

        #expect(try await download(rig, folder).get().resumedLength == 0)
        var status = stat()
        #expect(lstat(folder.path + "file", &status) == 0 && status.st_uid == geteuid())
        #expect(folder.names == ["file"] && folder.text("file") == Self.text)
    }

    @Test("finding HF-12 the user's own part is continued")
    func ownPart() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        try plant(folder)
        rig.transport.onAnyRequest().respond(rest(206, Self.tag))

        #expect(try await download(rig, folder).get().resumedLength == 5)
        #expect(folder.text("file") == "evil! world")
    }

    @Test("finding CF-21 a replaced file keeps its permissions", arguments: [0o600, 0o640, 0o755] as [mode_t])
    func keptMode(mode: mode_t) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        try folder.write("old", to: "file")
        #expect(chmod(folder.path + "file", mode) == 0)
        rig.transport.onAnyRequest().respond(.text(Self.text))

        _ = try await download(rig, folder) { $0.mayOverwrite = true }.get()

        #expect(try folder.mode("file") == Int(mode) && folder.text("file") == Self.text)
    }

    @Test("finding CF-21 the file that a link leads to is replaced in its folder", arguments: [true, false])
    func followedLink(exists: Bool) async throws {
        let (rig, folder, other) = (rig(), try TemporaryFolder(), try TemporaryFolder())
        if exists { try other.write("old", to: "target") }
        #expect(symlink(other.path + "target", folder.path + "file") == 0)
        rig.transport.onAnyRequest().respond(cut()).then(rest(206, Self.tag))

        _ = try await download(rig, folder) { $0.mayOverwrite = true }.get()

        #expect(folder.names == ["file"] && other.names == ["target"])
        #expect(other.text("target") == Self.text)
        var status = stat()
        #expect(lstat(folder.path + "file", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test("finding CF-21 a link is not followed without permission to replace")
    func refusedLink() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        #expect(symlink(folder.path + "absent", folder.path + "file") == 0)
        rig.transport.onAnyRequest().respond(.text(Self.text))

        #expect(reason(await download(rig, folder)) == "it exists already")
        #expect(folder.names == ["file"])
    }

    @Test("finding HF-5 a pipe is written to where it may be, and never replaced", arguments: [true, false])
    func pipe(mayOverwrite: Bool) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        let path = folder.path + "file"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        rig.transport.onAnyRequest().respond(.text(Self.text))

        let result = await download(rig, folder) { $0.mayOverwrite = mayOverwrite }

        if mayOverwrite {
            var bytes = [UInt8](repeating: 0, count: 32)
            #expect(read(reader, &bytes, 32) == 11 && String(decoding: bytes[..<11], as: UTF8.self) == Self.text)
            #expect(try result.get().length == 11)
        } else {
            #expect(reason(result) == "it exists already")
        }
        var status = stat()
        #expect(folder.names == ["file"])
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("finding HF-5 a pipe of the server's name is written to as well")
    func namedPipe() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        let path = folder.path + "thing"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        rig.transport.onAnyRequest().respond(.text(Self.text))
        var options = Download.Options()
        options.mayOverwrite = true

        #expect(try await rig.loader.download(rig.request(), into: folder.path, options: options).length == 11)
        #expect(folder.names == ["thing"])
    }

    @Test(
        "finding HF-5 the wait for the reader of a pipe ends with the task and with the loader's work",
        arguments: [true, false]
    )
    func waitingPipe(cancelsTask: Bool) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        #expect(mkfifo(folder.path + "file", 0o600) == 0)
        rig.transport.onAnyRequest().respond(.text(Self.text))
        let task = Task { await download(rig, folder) { $0.mayOverwrite = true } }
        _ = try await rig.time.nextSleeper()

        if cancelsTask { task.cancel() } else { rig.loader.cancelAllLoads() }

        guard case .failure(let error) = await task.value, case .cancelled = error.kind else {
            Issue.record("not cancelled")
            return
        }
        #expect(folder.names == ["file"])
    }

    // MARK: - Digests

    @Test("finding UF-2 a digest that only the last answer announces is that of all bytes", arguments: [true, false])
    func lateDigest(isRight: Bool) async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        let hash = Data(SHA256.hash((isRight ? Self.text : " world").utf8)).base64EncodedString()
        rig.transport.onAnyRequest().respond(cut())
            .then(rest(206, ["ETag": "\"1\"", "Repr-Digest": "sha-256=:\(hash):"]))

        let result = await download(rig, folder)

        if isRight {
            #expect(try result.get().checkedDigest == "Repr-Digest")
        } else {
            guard case .failure(let error) = result, case .decoding = error.kind else {
                Issue.record("\(result)")
                return
            }
            #expect(folder.names.isEmpty)
        }
    }

    @Test("finding UF-2 nothing is hashed where no digest is announced")
    func noDigest() async throws {
        let (rig, folder) = (rig(), try TemporaryFolder())
        rig.transport.onAnyRequest().respond(.text(Self.text))
        let hashed = Locked(0)

        _ = try await download(rig, folder) { $0.hashed = { hashed.withLock { $0 += 1 } } }.get()

        #expect(hashed.withLock(\.self) == 0)
    }

    @Test(
        "finding UF-2 the hash does not depend on the pieces (FIPS 180-4)",
        arguments: [1, 7, 63, 64, 65, 128, 1_000]
    )
    func pieces(size: Int) {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var hash = SHA256()
        for start in stride(from: 0, to: bytes.count, by: size) { hash.update(bytes[start...].prefix(size)) }

        #expect(hash.finish() == SHA256.hash(bytes))
        #expect(SHA256.hash(AnySequence(bytes)) == SHA256.hash(bytes))
        #expect(SHA256.hash("abc".utf8).hexadecimalText.hasPrefix("ba7816bf8f01cfea"))
    }
}
