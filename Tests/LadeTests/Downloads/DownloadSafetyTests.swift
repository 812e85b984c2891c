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

@Suite("Downloads that lose nothing", .timeLimit(.minutes(5)))
struct DownloadSafetyTests {
    /// A service that sends again without a delay.
    private func rig(retries: Int = 0) -> Rig {
        Rig {
            $0.retries.limit = retries
            $0.retries.backoff = .none
        }
    }

    private func half(_ text: String = "hello world", _ count: Int = 5, tag: String = "\"1\"") -> ScriptedResponse {
        .text(text, headers: ["ETag": tag]).breaking(after: count)
    }

    private func rest(_ text: String, _ range: String, tag: String = "\"1\"") -> ScriptedResponse {
        .bytes(Data(text.utf8), status: 206, headers: ["ETag": tag, "Content-Range": "bytes \(range)"])
    }

    @Test("finding FL-3 leaves the main actor free while bytes are hashed and written")
    @MainActor
    func mainActor() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        let turns = MainTurns()
        rig.transport.onAnyRequest().respond(.text("hello world").inPieces(of: 4))
        var options = Download.Options()
        options.onPiece = { _, _ in turns.takeOne() }

        _ = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)

        #expect(turns.taken == 3 && turns.missed == 0)
    }

    @Test("finding FL-6 keeps secrets out of the note, the note for its owner, and follows no symlink")
    func note() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        try folder.write("untouched", to: "victim")
        #expect(symlink(folder.path + "victim", folder.path + ".file.lade-note") == 0)
        var request = try Request("https://svc.example.com/thing?ticket=s3cret&a=b")
        request.secretQueryNames = ["ticket"]
        rig.transport.onAnyRequest().respond(half())

        _ = await failure { () throws(LoadingError) in
            try await rig.loader.download(request, to: folder.path + "file")
        }

        let note = try #require(folder.text(".file.lade-note"))
        #expect(note.contains("a=b") && !note.contains("s3cret"))
        #expect(try folder.mode(".file.lade-note") == 0o600)
        #expect(folder.text("victim") == "untouched")
    }

    @Test("finding FQ-12 refuses a planted symlink, and leaves its target untouched", arguments: ["victim", "absent"])
    func plantedSymlink(target: String) async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        try folder.write("untouched", to: "victim")
        #expect(symlink(folder.path + target, folder.path + ".file.lade-part") == 0)
        rig.transport.onAnyRequest().respond(.text("new"))

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        guard case .file(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.path + ".file.lade-part")
        #expect(rig.transport.requests.isEmpty)
        #expect(folder.text("victim") == "untouched")
        #expect(folder.text("absent") == nil && folder.text("file") == nil)
    }

    @Test("finding FL-8 sees before the body that a file of the server's name exists")
    func existingName() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        try folder.write("old", to: "named")
        let read = Locked(0)
        var options = Download.Options()
        options.onPiece = { _, _ in read.withLock { $0 += 1 } }
        rig.transport.onAnyRequest()
            .respond(.text("new").adding("Content-Disposition", "attachment; filename=named"))

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), into: folder.path, options: options)
        }

        guard case .file(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.path + "named")
        #expect(read.withLock { $0 } == 0)
        #expect(folder.names == ["named"] && folder.text("named") == "old")
    }

    @Test("finding FL-8 recognises a part that is complete", arguments: ["bytes */11", "bytes */12"])
    func completePart(range: String) async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        // All the bytes arrived, and then the connection was lost: without a length that looked like a truncated body.
        rig.transport.onAnyRequest()
            .respond(
                .steps(
                    [
                        .bytes(Data("hello world".utf8)),
                        .fail(LoadingError(.connectionLost(.body(received: 11), isSafeToRepeat: false))),
                    ],
                    headers: ["ETag": "\"1\""]
                )
            )
            .then(.status(416, headers: ["Content-Range": range, "ETag": "\"1\""]))
            .then(.text("HELLO WORLDS", headers: ["ETag": "\"1\""]))
        _ = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file")

        let isComplete = range == "bytes */11"
        #expect(folder.text("file") == (isComplete ? "hello world" : "HELLO WORLDS"))
        #expect(download.resumedLength == (isComplete ? 11 : 0))
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=11-"] + (isComplete ? [] : [nil]))
        #expect(folder.names == ["file"])
    }

    @Test("finding FL-8 sends again as often as the policy of the service says, and no POST")
    func policy() async throws {
        let rig = rig(retries: 1)
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(half())
            .then(rest(" world", "5-10/11").breaking(after: 2))
            .then(rest("orld", "7-10/11"))
        let first = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }
        #expect(first?.context.attempts == 2)
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-"])

        let other = self.rig(retries: 3)
        var post = try other.request()
        post.method = .post
        other.transport.onAnyRequest().respond(half())
        _ = await failure { () throws(LoadingError) in
            try await other.loader.download(post, to: folder.path + "other")
        }
        #expect(other.transport.requests.count == 1)
    }

    @Test("finding FL-8 waits as the policy says, and sends nothing when the retry budget is empty")
    func delayAndBudget() async throws {
        var limits = RetryBudget.Settings()
        limits.capacity = 0
        let rig = Rig {
            $0.retries.limit = 3
            $0.retryBudget = RetryBudget(limits)
        }
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(half())

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        guard case .incompleteBody = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.count == 1)
    }

    @Test("finding FQ-10 starts again where the part is of another address with the same entity tag")
    func otherAddress() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(half()).then(.text("HELLO WORLD", headers: ["ETag": "\"1\""]))
        _ = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request("/one"), to: folder.path + "file")
        }
        #expect(folder.text(".file.lade-part") == "hello")

        let download = try await rig.loader.download(rig.request("/two"), to: folder.path + "file")

        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, nil])
        #expect(folder.text("file") == "HELLO WORLD")
        #expect(download.resumedLength == 0)
    }

    @Test("finding FQ-11 overwrites no file that appears while it downloads")
    func appearsMeanwhile() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello world").inPieces(of: 4))
        var options = Download.Options()
        options.onPiece = { received, _ in
            if received == 8 { try? folder.write("appeared", to: "file") }
        }

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        }

        guard case .file(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.path + "file")
        #expect(folder.text("file") == "appeared")
        options.mayOverwrite = true
        _ = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        #expect(folder.text("file") == "hello world")
    }

    @Test("checks the digest of the body alone when a download with a prologue is resumed by another")
    func resumedPrologue() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        let hash = Data(SHA256.hash("hello world".utf8)).base64EncodedString()
        rig.transport.onAnyRequest().respond(half())
            .then(rest(" world", "5-10/11").adding("Repr-Digest", "sha-256=:\(hash):"))
        var options = Download.Options()
        options.prologue = { _ in Data("head\n".utf8) }
        _ = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        }
        #expect(folder.text(".file.lade-part") == "head\nhello")

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)

        #expect(folder.text("file") == "head\nhello world")
        #expect(download.length == 11 && download.resumedLength == 5 && download.checkedDigest == "Repr-Digest")
    }

    @Test("the length of a download, and its limit, do not count its prologue")
    func lengthWithPrologue() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello"))
        let pieces = Journal<Int64>()
        var options = Download.Options()
        options.prologue = { _ in Data("head\n".utf8) }
        options.lengthLimit = 5
        options.onPiece = { received, _ in pieces.add(received) }

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)

        #expect(download.length == 5 && pieces.all == [5])
        #expect(folder.text("file") == "head\nhello")
    }

    @Test("keeps the prologue when it drops the bytes of an answer that is longer than its range")
    func overlongRangeWithPrologue() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(half())
            .then(
                .chunks(
                    ["WOR", "LD!", " of wrong bytes"],
                    status: 206,
                    headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"]
                )
            )
        var options = Download.Options()
        options.prologue = { _ in Data("head\n".utf8) }

        for _ in 0..<2 {
            _ = await failure { () throws(LoadingError) in
                try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
            }
        }

        #expect(folder.text(".file.lade-part") == "head\nhello")
    }

    @Test("checks the digest of a large body without its prologue when another download resumes it")
    func resumedLargePrologue() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        // More than is read back at a time.
        let body = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let hash = Data(SHA256.hash(body)).base64EncodedString()
        let headers = ["ETag": "\"1\""] as Headers
        rig.transport.onAnyRequest()
            .respond(.bytes(body, headers: headers).breaking(after: 500_000))
            .then(
                .bytes(
                    body[500_000...],
                    status: 206,
                    headers: ["ETag": "\"1\"", "Content-Range": "bytes 500000-599999/600000"]
                ).adding("Repr-Digest", "sha-256=:\(hash):")
            )
        var options = Download.Options()
        options.prologue = { _ in Data("head\n".utf8) }
        _ = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        }

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)

        #expect(download.resumedLength == 500_000 && download.checkedDigest == "Repr-Digest")
    }

    @Test("finding FL-4 a part that got its final name before it was locked is not written to")
    func renamedMeanwhile() throws {
        let folder = try TemporaryFolder()
        var first = try PartFile(for: "file", in: folder.path)
        try first.begin(nil, Data())
        try first.append(Data("whole".utf8))
        var turns = 0

        var second = try PartFile(for: "file", in: folder.path) { [first] in
            turns += 1
            guard turns == 1 else { return }
            var first = first
            #expect(throws: Never.self) { try first.finish(as: folder.path + "file", mayOverwrite: false) }
            first.release()
        }
        try second.begin(nil, Data())
        try second.append(Data("other".utf8))

        #expect(turns == 2)
        #expect(folder.text("file") == "whole")
        #expect(folder.text(".file.lade-part") == "other")
        second.release()
    }

    @Test("finding FL-4 the note and the bytes of a part are read after it was locked")
    func lockFirst() throws {
        let folder = try TemporaryFolder()
        let origin = PartFile.Origin(url: "https://svc.example.com/thing", validator: "\"2\"")
        let first = Locked(try PartFile(for: "file", in: folder.path))

        let second = try PartFile(for: "file", in: folder.path) {
            #expect(throws: Never.self) {
                try first.withLock { part in
                    try part.begin(origin, Data())
                    try part.append(Data("hello".utf8))
                    part.release()
                }
            }
        }

        #expect(second.origin == origin)
        #expect(second.resumePoint == ResumePoint(validator: "\"2\"", offset: 5))
        second.release()
    }

    @Test("finding FL-4 of two downloads of one file at a time the second is refused, and the first is whole")
    func twoAtATime() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        let signal = Signal()
        rig.transport.onAnyRequest()
            .respond(.steps([.bytes(Data("one".utf8)), .signal(signal), .bytes(Data("two".utf8))]))
            .then(.text("second"))
        let begun = Journal<Int64>()
        var options = Download.Options()
        options.onPiece = { received, _ in begun.add(received) }
        async let first = rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        _ = try await begun.next()

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }
        signal.raise()

        guard case .file(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.path + ".file.lade-part" && fault.reason.contains("another download"))
        #expect(try await first.length == 6)
        #expect(rig.transport.requests.count == 1)
        #expect(folder.names == ["file"] && folder.text("file") == "onetwo")
    }

    @Test("keeps no byte of an answer that is longer than its range, and every byte before it")
    func overlongRange() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(half())
            .then(
                .chunks(
                    ["WOR", "LD!", " of wrong bytes"],
                    status: 206,
                    headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"]
                )
            )
            .then(rest(" world", "5-10/11"))
        let kept = Journal<Int64>()
        var options = Download.Options()
        options.kept = { kept.add($0) }
        var errors: [LoadingError?] = []

        for _ in 0..<2 {
            errors.append(
                await failure { () throws(LoadingError) in
                    try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
                }
            )
        }
        #expect(folder.text(".file.lade-part") == "hello")
        let download = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)

        guard case .malformedResponse(let fault) = errors[1]?.kind else {
            Issue.record("\(errors)")
            return
        }
        #expect(fault.rule == .contentLength)
        #expect(kept.all == [5, 5])
        #expect(download.resumedLength == 5)
        #expect(folder.names == ["file"] && folder.text("file") == "hello world")
    }

    @Test("keeps no byte of a malformed response that replaces the bytes before it")
    func malformedReplacement() async throws {
        let rig = rig(retries: 2)
        let folder = try TemporaryFolder()
        let fault = LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk)))
        rig.transport.onAnyRequest()
            .respond(half())
            .then(rest(" world", "5-10/11").breaking(after: 2))
            .then(.text("HELLO WORLD", headers: ["ETag": "\"2\""]).breaking(after: 9, with: fault))

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", "bytes=7-"])
        guard case .malformedResponse = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.names.isEmpty)
    }

    @Test("keeps the bytes of an answer that came after a malformed one")
    func soundAfterMalformed() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
            $0.retries.hook = RetryPolicy.Hook { _, _ in true }
        }
        let folder = try TemporaryFolder()
        let fault = LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk)))
        rig.transport.onAnyRequest()
            .respond(.text("HELLO WORLD", headers: ["ETag": "\"1\""]).breaking(after: 9, with: fault))
            .then(half())
            .then(rest(" world", "5-10/11"))

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }
        #expect(error != nil && folder.text(".file.lade-part") == "hello")
        let download = try await rig.loader.download(rig.request(), to: folder.path + "file")

        #expect(download.resumedLength == 5 && folder.text("file") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, nil, "bytes=5-"])
    }

    @Test("the retries of the answer with the rest count as those of the download")
    func retriesOfTheRest() async throws {
        let (rig, again) = (rig(), rig(retries: 2))
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(half())
        again.transport.onAnyRequest()
            .respond(.status(503))
            .then(rest(" world", "5-10/11").breaking(after: 2))
            .then(rest("orld", "7-10/11").breaking(after: 2))
            .then(rest("ld", "9-10/11"))

        for rig in [rig, again] {
            let error = await failure { () throws(LoadingError) in
                try await rig.loader.download(rig.request(), to: folder.path + "file")
            }
            #expect(error != nil)
        }

        #expect(again.transport.requests.map { $0.headers["Range"] } == ["bytes=5-", "bytes=5-", "bytes=7-"])
        #expect(folder.text(".file.lade-part") == "hello wor")
    }

    @Test("keeps no byte of a malformed response")
    func malformedBody() async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        let fault = LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk)))
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5, with: fault))

        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }

        guard case .malformedResponse = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.names.isEmpty)
    }

    @Test(
        "gives no name to a part that another program has changed, and begins again",
        arguments: ["truncated", "grown", "replaced", "removed"]
    )
    func changedMeanwhile(how: String) async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        let part = folder.path + ".file.lade-part"
        let signal = Signal()
        rig.transport.onAnyRequest()
            .respond(
                .steps(
                    [.bytes(Data("hello".utf8)), .signal(signal), .bytes(Data(" world".utf8))],
                    headers: ["ETag": "\"1\""]
                )
            )
            .then(.text("hello world", headers: ["ETag": "\"1\""]))
        let begun = Journal<Int64>()
        var options = Download.Options()
        options.onPiece = { received, _ in begun.add(received) }
        async let download = rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        _ = try await begun.next()

        switch how {
        case "truncated": #expect(truncate(part, 0) == 0)
        case "grown": #expect(truncate(part, 100) == 0)
        case "replaced": try folder.write("hello world", to: ".file.lade-part")
        default: #expect(unlink(part) == 0)
        }
        signal.raise()

        do {
            _ = try await download
            Issue.record("It has the name")
        } catch let error as LoadingError {
            let reason = "another program has changed it meanwhile"
            #expect(error.kind == .file(LoadingError.FileCause(path: part, operation: .write, reason: reason)))
        }
        #expect(folder.names == [])
        let again = try await rig.loader.download(rig.request(), to: folder.path + "file")
        #expect(again.resumedLength == 0 && folder.text("file") == "hello world")
    }

    @Test(
        "refuses a path that names no file, before anything is sent",
        arguments: ["", ".", "..", "folder", "folder/"]
    )
    func noFile(name: String) async throws {
        let rig = rig()
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "folder", withIntermediateDirectories: false)
        rig.transport.onAnyRequest().respond(.text("hello"))

        for mayOverwrite in [false, true] {
            var options = Download.Options()
            options.mayOverwrite = mayOverwrite
            let error = await failure { () throws(LoadingError) in
                try await rig.loader.download(rig.request(), to: folder.path + name, options: options)
            }

            guard case .file(let fault) = error?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(fault.path == folder.path + name && fault.operation == .write)
            let isNone = name.isEmpty || name.hasSuffix("/")
            #expect(fault.reason == (isNone ? "it names no file" : "it is no regular file"))
        }
        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: "")
        }
        guard case .file(LoadingError.FileCause(path: "", operation: .write, reason: "it names no file")) = error?.kind
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.isEmpty)
        #expect(folder.names == ["folder"])
    }

    #if os(Linux)
        @Test("finding FH-3 a truncated coded file does not get its final name", arguments: [0, 1, 8, 20])
        func truncatedCoding(missing: Int) async throws {
            // “hello world, ” forty times, as gzip.
            let whole = try #require(
                Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJVyjPL8pJ0VHIGOWMVA4A84kQPAgCAAA=")
            )
            let server = try LoopbackServer { _ in
                .bytes(whole.dropLast(missing), [ServerField("Content-Encoding", "gzip")])
            }
            let folder = try TemporaryFolder()
            var settings = Service.Settings()
            settings.retries.limit = 0
            let service = try Service(settings)
            let loader = service.anonymous.makeLoader()

            let error = await failure { () throws(LoadingError) in
                try await loader.download(Request(server.address()), to: folder.path + "file")
            }

            if missing == 0 {
                #expect(error == nil)
                #expect(folder.text("file") == String(repeating: "hello world, ", count: 40))
            } else {
                guard case .incompleteBody = error?.kind else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(folder.names.isEmpty)
            }
            await service.shutDown()
        }
    #endif
}
