#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Downloads", .timeLimit(.minutes(5)))
struct DownloadTests {
    private func hash(_ text: String) -> String { Data(SHA256.hash(text.utf8)).base64EncodedString() }

    /// A download of “onetwo”, inspected after its first half and after its end.
    private func download(
        _ meanwhile: (Rig, TemporaryFolder) -> Void = { _, _ in },
        _ afterwards: (Rig, TemporaryFolder, Download) -> Void = { _, _, _ in }
    ) async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        let signal = Signal()
        rig.transport.onAnyRequest()
            .respond(
                .steps(
                    [.bytes(Data("one".utf8)), .signal(signal), .bytes(Data("two".utf8))],
                    headers: ["ETag": "\"1\""]
                )
            )
        let progress = Journal<Int64>()
        var options = Download.Options()
        options.onPiece = { received, _ in progress.add(received) }
        async let downloading = rig.loader.download(rig.request(), to: folder.path + "file.txt", options: options)
        _ = try await progress.next()
        meanwhile(rig, folder)
        signal.raise()
        let download = try await downloading
        #expect(progress.all == [3, 6])
        afterwards(rig, folder, download)
    }

    @Test("service SV-12 requests a download as a stream from the start")
    func streams() async throws {
        try await download { rig, _ in
            #expect(rig.transport.requests.map(\.delivery) == [.streamed])
            #expect(rig.transport.requests.map { $0.headers["Accept-Encoding"] } == ["identity"])
        }
    }

    @Test("service SV-13 writes the body to a file once its head is there, under another name until it is whole")
    func writes() async throws {
        try await download { _, folder in
            #expect(folder.text(".file.txt.lade-part") == "one")
            #expect(folder.text("file.txt") == nil)
        }
    }

    @Test("service SV-16 makes no file of a download that was forgotten when its head arrives")
    func forgotten() async throws {
        let begun = Signal()
        let signal = Signal()
        // It is not notified of the cancellation, like a server.
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            begun.raise()
            let deaf = Task { try await signal.wait() }
            _ = await deaf.result
            return Response(status: 200, body: Response.Body(Data("late".utf8)), request: request)
        }
        let folder = try TemporaryFolder()
        let loader = transport.makeLoader()
        let downloading = Task {
            await failure { () throws(LoadingError) in
                try await loader.download(Request("https://svc.example.com/thing"), to: folder.path + "file.txt")
            }
        }
        try await begun.wait()

        loader.cancelAllLoads()
        signal.raise()

        #expect(await downloading.value?.isCancellation == true)
        #expect(folder.names.isEmpty)
        #expect(loader.currentRequests.isEmpty)
    }

    @Test("service SV-19 reports one success of a download, whose file was moved to its name")
    func whole() async throws {
        try await download { _, _ in
        } _: { rig, folder, download in
            #expect(
                rig.events.story.filter { $0.hasPrefix("call ") && !$0.hasPrefix("call started") } == [
                    "call finished 200"
                ]
            )
            #expect(download.length == 6)
            #expect(download.resumedLength == 0)
            #expect(folder.names == ["file.txt"])
            #expect(folder.text("file.txt") == "onetwo")
        }
    }

    @Test("service AT-17 decides by the head of each attempt whether its body becomes the file")
    func attempts() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.status(503, "the page of an error")).then(.text("thing"))

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file.txt")

        #expect(rig.transport.received.count == 2)
        #expect(folder.text("file.txt") == "thing")
        #expect(download.length == 5)
    }

    @Test("service D-31 does not store an error page as the file")
    func refused() async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.status(404, "gone"))

        await #expect(throws: LoadingError.self) {
            try await rig.loader.download(rig.request(), to: folder.path + "file.txt")
        }

        #expect(folder.names.isEmpty)
    }

    @Test("resumes where the body failed, with the same version only")
    func resumesWithin() async throws {
        let rig = Rig.sendingAgain
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(
                .bytes(Data(" world".utf8), status: 206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"])
            )

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file.txt")

        #expect(folder.text("file.txt") == "hello world")
        #expect(download.length == 11)
        #expect(rig.transport.requests[0].headers["Range"] == nil)
        #expect(rig.transport.requests[1].headers["Range"] == "bytes=5-")
        #expect(rig.transport.requests[1].headers["If-Range"] == "\"1\"")
        #expect(rig.transport.requests.allSatisfy { $0.headers["Accept-Encoding"] == "identity" })
    }

    @Test(
        "resumes an earlier download, and starts again when the server has another version",
        arguments: [true, false]
    )
    func resumesLater(_ isSame: Bool) async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(
                isSame
                    ? .bytes(
                        Data(" world".utf8),
                        status: 206,
                        headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"]
                    )
                    : .text("HELLO WORLD", headers: ["ETag": "\"2\""])
            )
        await #expect(throws: LoadingError.self) {
            try await rig.loader.download(rig.request(), to: folder.path + "file.txt")
        }
        #expect(folder.names.count == 2)

        let download = try await rig.loader.download(rig.request(), to: folder.path + "file.txt")

        #expect(folder.text("file.txt") == (isSame ? "hello world" : "HELLO WORLD"))
        #expect(download.resumedLength == (isSame ? 5 : 0))
        #expect(folder.names == ["file.txt"])
    }

    @Test("starts again when the server sends another range than requested, or none")
    func wrongRange() async throws {
        let rig = Rig.sendingAgain
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(.bytes(Data("rld".utf8), status: 206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 8-10/11"]))
            .then(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(.status(416))
            .then(.text("hello world", headers: ["ETag": "\"1\""]))

        _ = try await rig.loader.download(rig.request(), to: folder.path + "file.txt")

        #expect(folder.text("file.txt") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", nil, "bytes=5-", nil])
    }

    @Test("requests more when less than the rest arrived, and keeps no byte too many")
    func partOfTheRest() async throws {
        let rig = Rig.sendingAgain
        let folder = try TemporaryFolder()
        let range = { (text: String, range: String) in
            let headers = ["Content-Range": "bytes \(range)/11"] as Headers
            return ScriptedResponse.steps([.bytes(Data(text.utf8))], status: 206, headers: headers)
        }
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(range(" wo", "5-7"))
            .then(range("rld", "8-10"))
            .then(.text("hello world", headers: ["ETag": "\"1\""]).breaking(after: 5))
            .then(range(" worlds", "5-10"))

        let whole = try await rig.loader.download(rig.request(), to: folder.path + "file.txt")
        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "other.txt")
        }

        #expect(whole.length == 11)
        #expect(folder.text("file.txt") == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", "bytes=8-", nil, "bytes=5-"])
        guard case .malformedResponse = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text(".other.txt.lade-part") == "hello")
    }

    @Test(
        "keeps nothing of a truncated download that could not be resumed",
        arguments: [["ETag": "W/\"1\""], ["Last-Modified": "Fri, 31 Dec 1999 23:59:59 GMT"]] as [Headers]
    )
    func noValidator(_ headers: Headers) async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: headers).breaking(after: 5))
        await #expect(throws: LoadingError.self) {
            try await rig.loader.download(rig.request(), to: folder.path + "file.txt")
        }
        #expect(folder.names.isEmpty)
        #expect(rig.transport.received.count == 1)
    }

    @Test(
        "checks the digest that the server names, and removes what does not match",
        arguments: [
            "Repr-Digest", "Content-Digest", "Digest",
        ]
    )
    func digest(_ field: String) async throws {
        let value = { (hash: String) in field == "Digest" ? "SHA-256=\(hash)" : "sha-256=:\(hash):" }
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(.text("hello", headers: [field: value(hash("hello")), "ETag": "\"1\""]))
            .then(.text("hellO", headers: [field: value(hash("hello")), "ETag": "\"1\""]))

        let good = try await rig.loader.download(rig.request(), to: folder.path + "good")
        let error = await failure { () throws(LoadingError) in
            try await rig.loader.download(rig.request(), to: folder.path + "bad")
        }

        #expect(good.checkedDigest == field)
        guard case .decoding = error?.kind,
            case .digest(let checked, _, _)? = error?.underlyingError as? ProcessingError
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(checked == field)
        #expect(folder.names == ["good"])
    }

    @Test("overwrites only when it may")
    func overwriting() async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest().respond(.text("new"))
        try Data("old".utf8).write(to: URL(filePath: folder.path + "file"))

        await #expect(throws: LoadingError.self) {
            try await rig.loader.download(rig.request(), to: folder.path + "file")
        }
        #expect(rig.transport.requests.isEmpty)
        #expect(folder.text("file") == "old")
        var options = Download.Options()
        options.mayOverwrite = true
        _ = try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        #expect(folder.text("file") == "new")
    }

    @Test(
        "uses the server's name for the file, made harmless, or the last part of the address",
        arguments: [
            ("attachment; filename=\"../../etc/passwd\"", "passwd"), (nil, "thing"),
        ] as [(String?, String)]
    )
    func names(_ disposition: String?, _ name: String) async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        var answer = ScriptedResponse.text("x")
        if let disposition { answer = answer.adding("Content-Disposition", disposition) }
        rig.transport.onAnyRequest().respond(answer)

        let download = try await rig.loader.download(rig.request(), into: folder.path)

        #expect(download.path == folder.path + name)
        #expect(folder.names == [name])
    }

    @Test(
        "the part of a transfer that is done is from 0 to 1, and the whole of one without bytes",
        arguments: [(0, 0, 1), (0, 10, 0), (5, 10, 0.5), (12, 10, 1), (-1, 10, 0)] as [(Int64, Int64, Double)]
    )
    func fractions(completed: Int64, total: Int64, fraction: Double) {
        #expect(Download.Progress(completed: completed, total: total).fraction == fraction)
        #expect(Download.Progress(completed: completed).fraction == nil)
    }

    @Test("reports at the end only what was held back since the last report, once")
    func heldBack() {
        let time = VirtualTime()
        let journal = Journal<Int64>()
        var throttle = ProgressThrottle(time) { journal.add($0.completed) }
        for completed in 1...3 as ClosedRange<Int64> {
            throttle.take(Download.Progress(completed: completed))
            time.advance(by: .milliseconds(50))
        }

        throttle.finish()
        #expect(journal.all == [1, 3])
        throttle.take(Download.Progress(completed: 4))
        for _ in 0..<2 { throttle.finish() }

        #expect(journal.all == [1, 3, 4])
    }

    @Test("keeps what can be resumed when it is cancelled")
    func cancelled() async throws {
        let rig = Rig()
        let folder = try TemporaryFolder()
        rig.transport.onAnyRequest()
            .respond(
                .text(
                    "hello world",
                    headers: [
                        "Last-Modified": "Fri, 31 Dec 1999 23:59:59 GMT", "Date": "Sat, 01 Jan 2000 00:01:00 GMT",
                    ]
                )
                .stalling(after: 5)
            )
        let progress = Journal<Int64>()
        var options = Download.Options()
        options.onPiece = { received, _ in progress.add(received) }
        let task = Task { [options] in
            try await rig.loader.download(rig.request(), to: folder.path + "file", options: options)
        }
        _ = try await progress.next()
        task.cancel()

        #expect(await task.result.isCancelled)
        #expect(folder.text(".file.lade-part") == "hello")
    }
}

extension Rig {
    /// A service that sends again without a delay.
    fileprivate static var sendingAgain: Rig {
        Rig {
            $0.retries.limit = 9
            $0.retries.backoff = .none
        }
    }
}
