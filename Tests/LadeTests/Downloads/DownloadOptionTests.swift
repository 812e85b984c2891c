#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks
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

@Suite("Options of downloads", .timeLimit(.minutes(5)))
struct DownloadOptionTests {
    private let rig = Rig()

    /// A service that sends again without a delay.
    private func sendingAgain() -> Rig {
        Rig {
            $0.retries.limit = 9
            $0.retries.backoff = .none
        }
    }

    /// Downloads to `file` in the folder; the error when that fails.
    private func download(
        _ options: Download.Options,
        in folder: TemporaryFolder,
        _ request: Request? = nil
    ) async throws -> Result<Download, LoadingError> {
        let request = try request ?? rig.request()
        do throws(LoadingError) {
            return .success(try await rig.loader.download(request, to: folder.path + "file", options: options))
        } catch {
            return .failure(error)
        }
    }

    private func rest(_ text: String, _ range: String, _ headers: Headers = [:]) -> ScriptedResponse {
        var fields = headers
        fields.set("ETag", "\"1\"")
        fields.set("Content-Range", "bytes \(range)")
        return .bytes(Data(text.utf8), status: 206, headers: fields)
    }

    @Test(
        "accepts a body of exactly the limit, and keeps no byte of a larger one",
        arguments: [(5, true), (4, true), (5, false), (4, false)]
    )
    func limits(limit: Int64, isAnnounced: Bool) async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(isAnnounced ? .text("hello") : .steps([.bytes(Data("hel".utf8)), .bytes(Data("lo".utf8))]))
        var options = Download.Options()
        options.lengthLimit = limit

        let result = try await download(options, in: folder)

        switch result {
        case .success: #expect(limit == 5 && folder.text("file") == "hello")
        case .failure(let error):
            #expect(error.kind == .bodyTooLarge(limit: 4, announced: isAnnounced ? 5 : nil) && limit == 4)
            #expect(folder.names.isEmpty)
        }
    }

    @Test("the limit counts the bytes of an earlier download too", arguments: [11, 10] as [Int64])
    func limitsTheWhole(limit: Int64) async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(rest(" world", "5-10/11"))
        let kept = Locked<[Int64]>([])
        var options = Download.Options()
        options.kept = { count in kept.withLock { $0.append(count) } }
        _ = try await download(options, in: folder)
        #expect(kept.withLock(\.self) == [5])
        options.lengthLimit = limit

        let result = try await download(options, in: folder)

        switch result {
        case .success(let download): #expect(limit == 11 && download.length == 11 && download.resumedLength == 5)
        case .failure(let error): #expect(error.kind == .bodyTooLarge(limit: 10, announced: 11) && limit == 10)
        }
        #expect(folder.names == (limit == 11 ? ["file"] : []))
        #expect(kept.withLock(\.self) == [5])
    }

    @Test("does not resume an earlier download when it may not")
    func doesNotResume() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(.text("hello world", headers: ["ETag": "\"1\""]))
        var options = Download.Options()
        options.resumes = false
        _ = try await download(options, in: folder)

        let result = try await download(options, in: folder).get()

        #expect(result.resumedLength == 0 && result.length == 11)
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, nil])
        #expect(folder.text("file") == "hello world")
    }

    @Test("asks for a digest in the words of the request, where it has some")
    func digestPreference() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("x"))
        var request = try rig.request()
        request.headers.set("Want-Repr-Digest", "sha-256=1")

        _ = try await download(.init(), in: folder, request).get()

        #expect(rig.transport.requests[0].headers.all("Want-Repr-Digest") == ["sha-256=1"])
    }

    @Test("asks for a SHA-256 and no coding, except where the request sets them or cannot be resumed")
    func askedFields() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("x"))
        var options = Download.Options()
        options.mayOverwrite = true
        var coded = try rig.request()
        coded.headers.set("Accept-Encoding", "gzip")
        var posted = try rig.request()
        posted.method = .post

        for request in [try rig.request(), coded, posted] { _ = try await download(options, in: folder, request).get() }

        let received = rig.transport.requests.map(\.headers)
        #expect(received.map { $0["Accept-Encoding"] } == ["identity", "gzip", nil])
        #expect(received.allSatisfy { $0["Want-Repr-Digest"] == "sha-256=10" })
    }

    @Test(
        "resumes no request but a GET of the whole without a body",
        arguments: [Change.method, .body, .range],
        [true, false]
    )
    func notResumable(change: Change, continues: Bool) async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(.text("whole"))
        _ = try await download(.init(), in: folder)
        var options = Download.Options()
        options.mayOverwrite = true
        if continues {
            options.continuesFile = true
            try Data("hell".utf8).write(to: URL(filePath: folder.path + "file"))
        }
        var request = try rig.request()
        switch change {
        case .method: request.method = .post
        case .body: request.body = .bytes(Data("q".utf8))
        case .range: request.headers.set("Range", "bytes=2-")
        }

        _ = try await download(options, in: folder, request)

        let second = try #require(rig.transport.requests.last)
        #expect(rig.transport.requests.count == 2)
        #expect(second.headers["Range"] == (change == .range ? "bytes=2-" : nil))
        #expect(second.headers["If-Range"] == nil)
    }

    enum Change: Sendable { case method, body, range }

    @Test("keeps nothing of a truncated answer to a request that is not resumed")
    func truncatedAnswerToPost() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
        var request = try rig.request()
        request.method = .post

        _ = try await download(.init(), in: folder, request)

        #expect(folder.names.isEmpty)
    }

    @Test("downloads the part that a request asks for as a file")
    func requestedPart() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(rest("world", "6-10/11"))
        var request = try rig.request()
        request.headers.set("Range", "bytes=6-")

        _ = try await download(.init(), in: folder, request).get()

        #expect(folder.text("file") == "world")
    }

    @Test("reports the announced length with its progress")
    func totalOfProgress() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello"))
        let totals = Journal<Int64?>()

        _ = try await rig.loader.download(rig.request(), to: folder.path + "file") { totals.add($0.total) }

        #expect(totals.all == [5])
    }

    @Test("names a file without a name of the server's by the last address, or “download”")
    func names() async throws {
        let folder = try TemporaryFolder()
        rig.transport.on(.get, "/old").respond(.status(302, headers: ["Location": "/new.txt"]))
        rig.transport.on(.get, "/new.txt").respond(.text("new"))
        rig.transport.on(.get, "/").respond(.text("root"))

        _ = try await rig.loader.download(rig.request("/old"), into: folder.path)
        _ = try await rig.loader.download(rig.request("/"), into: folder.path)

        #expect(folder.names == ["download", "new.txt"])
    }

    @Test("refuses a name that is too long before it sends a request")
    func tooLongName() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("x"))
        let path = folder.path + String(repeating: "a", count: 300)

        let error = await failure { () throws(LoadingError) in try await rig.loader.download(rig.request(), to: path) }

        guard case .file = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.isEmpty && folder.names.isEmpty)
    }

    @Test("the names of a part and its note fit into the file system, and differ for different files")
    func hiddenNames() {
        let suffix = ".lade-part".utf8.count
        for count in [243, 244, 245, 246, 255] {
            let names = ["a", "b"].map { String(repeating: "n", count: count - 1) + $0 }.map(PartFile.hiddenName)
            #expect(names.allSatisfy { $0.utf8.count + suffix <= 255 })
            #expect(names[0] != names[1])
        }
        #expect(PartFile.hiddenName(for: String(repeating: "n", count: 244)).utf8.count == 245)
    }

    @Test(
        "RFC 9530 §2: a Content-Digest of the rest is not one of the file, a Repr-Digest is",
        arguments: [true, false]
    )
    func digestOfTheRest(isOfTheFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let wrong = "sha-256=:\(Data(SHA256.hash(" world".utf8)).base64EncodedString()):"
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(rest(" world", "5-10/11", [isOfTheFile ? "Repr-Digest" : "Content-Digest": wrong]))
        _ = try await download(.init(), in: folder)

        let result = try await download(.init(), in: folder)

        #expect((try? result.get())?.checkedDigest == nil)
        #expect(folder.names == (isOfTheFile ? [] : ["file"]))
    }

    @Test("RFC 9110 §15.3.4: only the body of a 200 is of the version that its validator names", arguments: [200, 203])
    func validatorOfTransformed(status: Int) async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(
                .bytes(Data("hello world".utf8), status: Response.Status(status), headers: ["ETag": "\"1\""]).breaking(
                    after: 5
                )
            )

        let result = try await download(.init(), in: folder)

        #expect((try? result.get()) == nil)
        #expect(folder.names.isEmpty == (status == 203))
    }

    @Test("a partial answer to a request for the whole is not a file")
    func unaskedPart() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(rest("hello", "0-4/11"))
        var options = Download.Options()
        options.refused = { response, _ in Issue.record("a part is no message: \(response.status)") }

        let result = try await download(options, in: folder)

        guard case .failure(let error) = result, case .unacceptableStatus(206) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(folder.names.isEmpty)
    }

    @Test("keeps nothing of a truncated body in a coding that the request chose")
    func codedPart() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\"", "Content-Encoding": "gzip"]).breaking(after: 5))
        var request = try rig.request()
        request.headers.set("Accept-Encoding", "gzip")

        let result = try await download(.init(), in: folder, request)

        #expect((try? result.get()) == nil)
        #expect(folder.names.isEmpty)
        #expect(rig.transport.requests.count == 1)
    }

    @Test("a coding that the request excluded is requested then, and the first exchange is ended")
    func unwantedCoding() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("coded", headers: ["ETag": "\"1\"", "Content-Encoding": "gzip"]).stalling(after: 1))
            .then(.computed { [rig] _, _ in .text("\(rig.transport.cancellations) ended") })

        _ = try await download(.init(), in: folder).get()

        #expect(folder.text("file") == "1 ended")
        #expect(rig.transport.requests.map { $0.headers["Accept-Encoding"] } == ["identity", nil])
    }

    @Test("the digest of a download that starts again is that of the new bytes, and none of them counts as resumed")
    func digestAfterRestart() async throws {
        let folder = try TemporaryFolder()
        let again = sendingAgain()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
        let digest = "sha-256=:\(Data(SHA256.hash("HELLO WORLD".utf8)).base64EncodedString()):"
        again.transport.onAnyRequest()
            .respond(rest(" world", "5-10/11").breaking(after: 2))
            .then(.text("HELLO WORLD", headers: ["ETag": "\"2\"", "Repr-Digest": digest]))
        _ = try await download(.init(), in: folder)

        let result = try await again.loader.download(again.request(), to: folder.path + "file")

        #expect(again.transport.requests.map { $0.headers["Range"] } == ["bytes=5-", "bytes=7-"])
        #expect(result.resumedLength == 0 && result.length == 11 && result.checkedDigest == "Repr-Digest")
        #expect(folder.text("file") == "HELLO WORLD")
    }

    @Test("a rest that does not fit costs an attempt, and its exchange is ended before the next")
    func misfits() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(rest("hello", "0-4/11").stalling(after: 1))
            .then(.computed { [rig] _, _ in .text("\(rig.transport.cancellations) ended") })
        _ = try await download(.init(), in: folder)

        _ = try await download(.init(), in: folder).get()

        #expect(folder.text("file") == "1 ended")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", nil])
        #expect(rig.transport.received.map(\.call.attempt) == [1, 1, 2])
    }

    @Test("hands over at most 4 KiB of the message with a refused status")
    func message() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.status(200, String(repeating: "x", count: 10_000)))
        let lengths = Locked<[Int]>([])
        var options = Download.Options()
        options.acceptableStatuses = 201
        options.refused = { _, bytes in lengths.withLock { $0.append(bytes.count) } }

        let result = try await download(options, in: folder)

        guard case .failure(let error) = result, case .unacceptableStatus(200) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(lengths.withLock(\.self) == [4_096])
        #expect(folder.names.isEmpty)
    }

    @Test("reports progress at most ten times a second, the last report too")
    func throttles() async throws {
        let folder = try TemporaryFolder()
        let chunks = (0..<5).flatMap { number -> [ScriptedResponse.Step] in
            [.bytes(Data("\(number)".utf8)), .wait(.milliseconds(number == 3 ? 49 : 50))]
        }
        rig.transport.onAnyRequest().respond(.steps(chunks))
        let reports = Locked<[Int64]>([])

        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
            try await rig.loader.download(Request("https://svc.example.com/thing"), to: folder.path + "file") {
                progress in
                reports.withLock { $0.append(progress.completed) }
            }
        }

        // At 0 and 100 ms; the bytes between come with the next report, and those of the last 99 ms with the end.
        #expect(reports.withLock(\.self) == [1, 3, 5])
    }

    // MARK: - Files that another program began

    private var continuing: Download.Options {
        var options = Download.Options()
        options.continuesFile = true
        return options
    }

    @Test("completes a file of unknown version, from then on as the version that the server named")
    func completes() async throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: "file")
        rig.transport.onAnyRequest()
            .respond(rest(" wo", "5-7/11").breaking(after: 2))
            .then(rest("orld", "7-10/11"))

        #expect((try? await download(continuing, in: folder).get()) == nil)
        #expect(folder.text("file") == "hello")
        let result = try await download(continuing, in: folder).get()

        #expect(result.length == 11 && result.resumedLength == 7)
        #expect(folder.names == ["file"] && folder.text("file") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == ["bytes=5-", "bytes=7-"])
        #expect(rig.transport.requests.map { $0.headers["If-Range"] } == [nil, "\"1\""])
    }

    @Test(
        "leaves a file alone whose rest the server does not send, unless it may be overwritten",
        arguments: [true, false]
    )
    func wholeInsteadOfRest(mayOverwrite: Bool) async throws {
        let folder = try TemporaryFolder()
        try folder.write("mine", to: "file")
        rig.transport.onAnyRequest().respond(.text("hello world"))
        var options = continuing
        options.mayOverwrite = mayOverwrite

        let result = try await download(options, in: folder)

        #expect(folder.names == ["file"])
        #expect(folder.text("file") == (mayOverwrite ? "hello world" : "mine"))
        guard !mayOverwrite else { return }
        guard case .failure(let error) = result, case .file(let fault) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(fault.reason == "the server does not send the rest of the file")
    }

    @Test("downloads the whole where there is no file to continue")
    func nothingToContinue() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello world"))

        let result = try await download(continuing, in: folder).get()

        #expect(result.resumedLength == 0 && folder.text("file") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil])
    }

    @Test("continues no file that cannot be read, and sends nothing")
    func unreadableFile() async throws {
        let folder = try TemporaryFolder()
        #expect(symlink("file", folder.path + "file") == 0)

        let result = try await download(continuing, in: folder)

        guard case .failure(let error) = result, case .file(let fault) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(fault.operation == .read && fault.path == folder.path + "file")
        #expect(rig.transport.requests.isEmpty && folder.names == ["file"])
    }

    @Test("a part that is complete is not above the limit", arguments: [11, 10] as [Int64])
    func limitOfCompletePart(limit: Int64) async throws {
        let folder = try TemporaryFolder()
        try folder.write("hello world", to: ".file.lade-part")
        try folder.write("\(rig.request().url)\n\"1\"\n0\n", to: ".file.lade-note")
        rig.transport.onAnyRequest().respond(.status(416, headers: ["Content-Range": "bytes */11"]))
        var options = Download.Options()
        options.lengthLimit = limit

        let result = try await download(options, in: folder)

        switch result {
        case .success(let download): #expect(limit == 11 && download.resumedLength == 11)
        case .failure(let error): #expect(error.kind == .bodyTooLarge(limit: 10, announced: 11) && limit == 10)
        }
        #expect(folder.text("file") == (limit == 11 ? "hello world" : nil))
    }

    @Test("a body that is cut off twice keeps its prologue apart from its bytes")
    func prologueOfSecondRest() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(rest(" world", "5-10/11").breaking(after: 3)).then(rest("rld", "8-10/11"))
        var options = Download.Options()
        options.prologue = { _ in Data("head:".utf8) }
        for _ in 0..<2 { #expect((try? await download(options, in: folder).get()) == nil) }

        let result = try await download(options, in: folder).get()

        #expect(result.length == 11 && result.resumedLength == 8)
        #expect(folder.text("file") == "head:hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", "bytes=8-"])
    }

    @Test("an error of a rest gives the lengths of the whole")
    func lengthsOfRest() async throws {
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(rest(" world", "5-10/11").breaking(after: 3))
        _ = try await download(.init(), in: folder)

        let result = try await download(.init(), in: folder)

        guard case .failure(let error) = result, case .incompleteBody(received: 8, expected: 11) = error.kind else {
            Issue.record("\(result)")
            return
        }
    }

    @Test("replaces an empty file, which any version continues")
    func emptyFile() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "file")
        rig.transport.onAnyRequest().respond(.text("hello"))

        _ = try await download(continuing, in: folder).get()

        #expect(folder.names == ["file"] && folder.text("file") == "hello")
    }

    @Test("resumes the version that the server named for a file of unknown version within the call too")
    func resumesUnknownVersion() async throws {
        let folder = try TemporaryFolder()
        let again = sendingAgain()
        try folder.write("hello", to: "file")
        again.transport.onAnyRequest()
            .respond(rest(" world", "5-10/11").breaking(after: 2)).then(rest("orld", "7-10/11"))

        let result = try await again.loader.download(again.request(), to: folder.path + "file", options: continuing)

        #expect(result.length == 11 && folder.text("file") == "hello world")
        #expect(again.transport.requests.map { $0.headers["If-Range"] } == [nil, "\"1\""])
    }

    @Test("may replace the file that it continues, and none of another name that appears meanwhile")
    func otherName() async throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: "thing")
        rig.transport.onAnyRequest()
            .respond(rest(" world", "5-10/11", ["Content-Disposition": "attachment; filename=\"other\""]))
        var options = continuing
        options.onPiece = { _, _ in try? folder.write("mine", to: "other") }

        await #expect(throws: LoadingError.self) {
            try await rig.loader.download(rig.request("/thing"), into: folder.path, options: options)
        }

        #expect(folder.text("other") == "mine" && folder.text("thing") == "hello")
    }

    @Test("the note of an empty part says nothing about the file that is continued")
    func noteWithoutBytes() async throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: "file")
        try folder.write("", to: ".file.lade-part")
        try folder.write("\(rig.request().url)\n\"1\"\n0\n", to: ".file.lade-note")
        rig.transport.onAnyRequest().respond(rest(" world", "5-10/11"))

        let result = try await download(continuing, in: folder).get()

        #expect(result.resumedLength == 5)
        #expect(folder.names == ["file"] && folder.text("file") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == ["bytes=5-"])
        #expect(rig.transport.requests.map { $0.headers["If-Range"] } == [nil])
    }

    @Test("replaces a note that cannot be read", arguments: ["damaged", "pipe"], [true, false])
    func unreadableNote(kind: String, continuesFile: Bool) async throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: "file")
        let note = folder.path + ".file.lade-note"
        if kind == "pipe" {
            #expect(mkfifo(note, 0o600) == 0)
        } else {
            try folder.write("damaged", to: ".file.lade-note")
        }
        rig.transport.onAnyRequest().respond(continuesFile ? rest(" world", "5-10/11") : .text("hello world"))
        var options = continuing
        options.continuesFile = continuesFile
        options.mayOverwrite = !continuesFile

        let result = try await download(options, in: folder).get()

        #expect(result.resumedLength == (continuesFile ? 5 : 0))
        #expect(folder.names == ["file"] && folder.text("file") == "hello world")
    }

    @Test("a part that starts again no longer continues the file that it had adopted")
    func adoptedAndRestarted() throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: "file")
        var part = try PartFile(for: "file", in: folder.path)
        defer { part.release() }

        try part.adopt(folder.path + "file")
        let adopted = part.resumePoint
        try part.restart()
        try part.append(Data("HELLO".utf8))

        #expect(adopted == ResumePoint(validator: "", offset: 5))
        #expect(part.resumePoint == nil)
    }

    @Test("continues nothing but a regular file")
    func folderAsFile() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "file", withIntermediateDirectories: false)

        let result = try await download(continuing, in: folder)

        guard case .failure(let error) = result, case .file(let fault) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(fault.reason == "it is no regular file")
        #expect(rig.transport.requests.isEmpty && folder.names == ["file"])
    }

    // MARK: - Notes

    @Test(
        "trusts no note that is incomplete or behind a link",
        arguments: [
            "", "url", "url\n\"1\"", "url\n\"1\"\n", "url\n\"1\"\n2", "url\n\"1\"\n-2\n", "url\n\"1\"\n2\n\n",
            "url\n\"1\"\n2\nx",
        ]
    )
    func brokenNotes(note: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("hello", to: ".file.lade-part")
        try folder.write(note, to: ".file.lade-note")

        let part = try PartFile(for: "file", in: folder.path)
        defer { part.release() }

        #expect(part.origin == nil && part.length == 0 && part.resumePoint == nil)
        #expect(folder.text(".file.lade-part") == "")
    }

    @Test("a part that is shorter than its prologue has no bytes of the body")
    func shortPart() throws {
        let folder = try TemporaryFolder()
        try folder.write("ab", to: ".file.lade-part")
        try folder.write("url\n\"1\"\n5\n", to: ".file.lade-note")

        let part = try PartFile(for: "file", in: folder.path)
        defer { part.release() }

        #expect(part.bodyLength == 0 && part.resumePoint == nil)
    }

    @Test("trusts a whole note, and none behind a link", arguments: [false, true])
    func linkedNote(isLink: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.write("a hello", to: ".file.lade-part")
        try folder.write("url\n\"1\"\n2\n", to: isLink ? "planted" : ".file.lade-note")
        if isLink {
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + ".file.lade-note",
                withDestinationPath: folder.path + "planted"
            )
        }

        let part = try PartFile(for: "file", in: folder.path)
        defer { part.release() }

        let origin = PartFile.Origin(url: "url", validator: "\"1\"", prologueLength: 2)
        #expect(part.origin == (isLink ? nil : origin))
        #expect(part.resumePoint == (isLink ? nil : ResumePoint(validator: "\"1\"", offset: 5)))
    }

    /// The SHA-256 of `hello`.
    private static let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

    @Test(
        "finding DC-3 a file has its name only if its SHA-256 is the expected one",
        arguments: [("hello", true), ("hellO", false), ("", false), ("hello ", false)],
        [nil, "hel"]
    )
    func expectedDigest(body: (text: String, isRight: Bool), beginning: String?) async throws {
        let folder = try TemporaryFolder()
        let whole = ScriptedResponse.text(body.text, headers: ["ETag": "\"2\""])
        if let beginning {
            let cut = ScriptedResponse.text(body.text, headers: ["ETag": "\"1\""]).breaking(
                after: min(beginning.utf8.count, body.text.utf8.count),
                with: LoadingError(.connectionLost(.body(received: 3), isSafeToRepeat: false))
            )
            rig.transport.onAnyRequest().respond(cut).then(whole)
            var request = try rig.request()
            request.retryLimit = 0
            _ = try await download(Download.Options(), in: folder, request)
            try? FileManager.default.removeItem(atPath: folder.file("file"))
        } else {
            rig.transport.onAnyRequest().respond(whole)
        }
        var options = Download.Options()
        options.expectedDigest = try Download.Digest(Self.hello)

        let result = try await download(options, in: folder)

        switch result {
        case .success: #expect(body.isRight && folder.text("file") == "hello")
        case .failure(let error):
            #expect(!body.isRight && error.kind == .decoding)
            // As `sha256sum` prints it, to be compared by eye.
            #expect(error.description.contains("expectedDigest says \(Self.hello)"))
            #expect(folder.names == [])
        }
    }

    @Test("finding DC-3 a digest is 64 hexadecimal digits, and anything else is refused")
    func digestTexts() throws {
        let digest = try Download.Digest(Self.hello)

        let others = [try Download.Digest(Self.hello.uppercased()), try Download.Digest(digest.bytes)]
        #expect(digest.description == Self.hello && others == [digest, digest])
        for text in ["", "2cf2", Self.hello + "0", String(Self.hello.dropLast()) + "g", Self.hello + "\n"] {
            #expect(throws: LoadingError.self) { try Download.Digest(text) }
        }
        #expect(throws: LoadingError.self) { try Download.Digest(Data(count: 31)) }
    }

    @Test("finding DC-3 a pipe is refused where a digest is expected", .timeLimit(.minutes(1)))
    func digestOfAPipe() async throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.file("file"), 0o600) == 0)
        rig.transport.onAnyRequest().respond(.text("hello"))
        var options = Download.Options()
        options.mayOverwrite = true
        options.expectedDigest = try Download.Digest(Self.hello)

        let result = try await download(options, in: folder)

        guard case .failure(let error) = result, case .file = error.kind else {
            Issue.record("\(result)")
            return
        }
    }
}
