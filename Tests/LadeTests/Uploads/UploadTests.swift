#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Uploads", .timeLimit(.minutes(5)))
struct UploadTests {
    private func post(_ body: Request.Body) async throws -> ScriptedTransport.Received {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.method = .post
        request.body = body
        _ = try await rig.loader.load(request)
        return try #require(rig.transport.received.first)
    }

    @Test("sends a form of fields, bytes and files, with its length known beforehand")
    func form() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "from the disk")
        var form = try MultipartForm(boundary: "B")
        form.addField("ti\"tle", "Tagesschau")
        try form.addData("data", Data([1, 2, 3]), fileName: "a.bin")
        try form.addFile("file", path: path, fileName: "b.txt", contentType: "text/plain")
        try form.addData("details", Data("{}".utf8), contentType: "application/json")

        let received = try await post(form.body)

        let expected =
            "--B\r\nContent-Disposition: form-data; name=\"ti%22tle\"\r\n\r\nTagesschau\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.bin\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n\u{1}\u{2}\u{3}\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\n"
            + "from the disk\r\n--B\r\nContent-Disposition: form-data; name=\"details\"\r\n"
            + "Content-Type: application/json\r\n\r\n{}\r\n--B--\r\n"
        #expect(received.text == expected)
        #expect(form.body.length == Int64(expected.utf8.count))
        #expect(form.body.isReplayable)
        #expect(form.body.contentType == "multipart/form-data; boundary=B")
    }

    @Test("has no length and cannot be sent again when a part is like that")
    func unknownLength() async throws {
        var form = try MultipartForm(boundary: "B")
        try form.addBody("pipe", .writer { try await $0(Data("made".utf8)) }, fileName: "p")
        #expect(form.body.length == nil)
        #expect(!form.body.isReplayable)
        #expect(try await post(form.body).text.contains("\r\n\r\nmade\r\n--B--\r\n"))
    }

    @Test("a form can be sent again only when each of its parts can", arguments: [true, false])
    func replays(isFirst: Bool) throws {
        var form = try MultipartForm(boundary: "B")
        if isFirst { try form.addData("data", Data([1]), fileName: "a") }
        try form.addBody("pipe", .writer { try await $0(Data("made".utf8)) }, fileName: "p")
        if !isFirst { try form.addData("data", Data([1]), fileName: "a") }

        #expect(!form.body.isReplayable)
    }

    @Test("a body that reports progress, and one that is opened again, keep their trailers")
    func trailers() {
        var body = Request.Body.text("hello")
        body.trailers = { ["X-Sum": "1"] }

        #expect(body.reportingProgress { _ in }.trailers?() == ["X-Sum": "1"])
        #expect(body.reopened { nil }.trailers?() == ["X-Sum": "1"])
    }

    @Test("a body that reports progress can be sent again only when the body itself can", arguments: [true, false])
    func replaysWithProgress(isReplayable: Bool) {
        let body = Request.Body.writer(length: 1, isReplayable: isReplayable) { try await $0(Data([1])) }

        #expect(body.reportingProgress { _ in }.isReplayable == isReplayable)
    }

    @Test("a part of a file begins at its offset, and ends where the file ended when its length was determined")
    func partOfFile() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "from the disk")
        let body = try Request.Body.file(path, offset: 5).reportingProgress { _ in }
        try Data("from the disk, and more since".utf8).write(to: URL(filePath: path))

        #expect(try await post(body).text == "the disk")
    }

    @Test("makes a boundary that cannot be predicted")
    func boundary() {
        #expect(MultipartForm().boundary != MultipartForm().boundary)
        #expect(
            MultipartForm(random: SeededRandom(seed: 1)).boundary
                == MultipartForm(random: SeededRandom(seed: 1)).boundary
        )
    }

    @Test("client D-19 reports how far the sending of a body is")
    func progress() async throws {
        let journal = Journal<Download.Progress>()
        let bytes = Data(repeating: 7, count: 150_000)
        let time = VirtualTime()

        let received = try await post(
            Request.Body.bytes(bytes).reportingProgress(time: time) {
                journal.add($0)
                time.advance(by: .milliseconds(100))
            }
        )

        #expect(received.body == bytes)
        #expect(journal.all.map(\.completed) == [65_536, 131_072, 150_000])
        #expect(journal.all.allSatisfy { $0.total == 150_000 })
        #expect(journal.all.last?.fraction == 1)
    }

    @Test("progress is reported at most ten times a second, and always at the end")
    func reportsSeldom() async throws {
        let journal = Journal<Download.Progress>()
        let body = Request.Body.bytes(Data(repeating: 7, count: 10 << 20))

        _ = try await post(body.reportingProgress(time: VirtualTime()) { journal.add($0) })

        #expect(journal.all.map(\.completed) == [65_536, 10 << 20])
    }

    @Test("finding LF-17 the end of an empty body is reported once, whatever it is made of", arguments: [true, false])
    func emptyProgress(isWriter: Bool) async throws {
        let journal = Journal<Download.Progress>()
        let body = isWriter ? Request.Body.writer(length: 0) { _ in } : .bytes(Data())

        _ = try await post(body.reportingProgress(time: VirtualTime()) { journal.add($0) })

        #expect(journal.all == [Download.Progress(completed: 0, total: 0)])
    }

    @Test("finding LF-17 the end of an empty download is reported once")
    func emptyDownload() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text(""))
        let journal = Journal<Download.Progress>()
        let file = FileManager.default.temporaryDirectory.appending(path: "lade-test-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: file) }

        _ = try await rig.loader.download(rig.request(), to: file) { journal.add($0) }

        #expect(journal.all == [Download.Progress(completed: 0, total: 0)])
    }

    @Test("a form, a body and a download take URLs of files, and refuse others")
    func fileURLs() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello"))
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let source = URL(filePath: folder.file("source"), directoryHint: .notDirectory)
        let target = URL(filePath: folder.file("target ä%"), directoryHint: .notDirectory)
        try Data("file".utf8).write(to: source)
        let remote = try #require(URL(string: "https://a.test/file"))

        #expect(try await post(.file(source)).text == "file")
        var form = try MultipartForm(boundary: "B")
        try form.addFile("a", source, fileName: "f")
        #expect(try await post(form.body).text.contains("\r\n\r\nfile\r\n"))
        let journal = Journal<Download.Progress>()
        let download = try await rig.loader.download(rig.request(), to: target) { journal.add($0) }
        #expect(try Data(contentsOf: target) == Data("hello".utf8))
        #expect(download.fileURL.path(percentEncoded: false) == target.path(percentEncoded: false))
        #expect(journal.all.last?.completed == 5)

        #expect(throws: LoadingError.self) { try Request.Body.file(remote) }
        #expect(throws: LoadingError.self) { try form.addFile("a", remote) }
        await #expect(throws: LoadingError.self) { try await rig.loader.download(rig.request(), into: remote) }
    }

    @Test("cannot add a file that is not there")
    func missing() {
        var form = MultipartForm()
        #expect(throws: LoadingError.self) { try form.addFile("a", path: "/no/such/file") }
    }

    @Test("finding FQ-21 escapes line breaks and quotes in the names of fields and files")
    func names() async throws {
        var form = try MultipartForm(boundary: "B")
        form.addField("a\r\nX: 1\"", "v")
        try form.addData("b\nc", Data("d".utf8), fileName: "e\r\nContent-Type: f\".txt")

        let received = try await post(form.body)

        let expected =
            "--B\r\nContent-Disposition: form-data; name=\"a%0D%0AX: 1%22\"\r\n\r\nv\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"b%0Ac\"; filename=\"e%0D%0AContent-Type: f%22.txt\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\nd\r\n--B--\r\n"
        #expect(received.text == expected)
    }

    @Test("finding FL-11 sends no form whose file has become shorter since its length was determined")
    func shrunkenFile() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "from the disk")
        var form = try MultipartForm(boundary: "B")
        try form.addFile("file", path: path)
        let body = form.body
        try Data("from".utf8).write(to: URL(filePath: path))

        let error = await #expect(throws: LoadingError.self) { try await post(body) }

        guard case .requestBodyFailed = error?.kind, let cause = error?.underlyingError as? LoadingError,
            case .file(let fault) = cause.kind
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == path)
    }

    @Test("finding FL-11 refuses content types and boundaries that would add lines to a form")
    func hostileTypes() throws {
        var form = MultipartForm()
        for type in ["text/plain\r\nX: 1", "a/b\n", "a/b\0"] {
            #expect(throws: LoadingError.self) {
                try form.addData("a", Data(), fileName: "b", contentType: type)
            }
            #expect(throws: LoadingError.self) {
                try form.addBody("a", .bytes(Data(), contentType: type), fileName: "b")
            }
        }
        for boundary in ["", "a\r\nb", "a b", "a\"b", "a;b", String(repeating: "a", count: 71)] {
            #expect(throws: LoadingError.self) { try MultipartForm(boundary: boundary) }
        }
        #expect(form.body.length == Int64("--\(form.boundary)--\r\n".utf8.count))
        // The longest boundary that RFC 2046 §5.1.1 allows.
        #expect(try MultipartForm(boundary: String(repeating: "a", count: 70)).boundary.count == 70)
    }
}
