#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@Suite("Uploads", .timeLimit(.minutes(1)))
struct UploadTests {
    private func post(_ body: RequestBody) async throws -> ScriptedTransport.Received {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.method = .post
        request.body = body
        _ = try await rig.loader.load(request)
        return try #require(rig.transport.received.first)
    }

    @Test("sends a form of fields, bytes and files, with its length told beforehand")
    func form() async throws {
        let path = TemporaryFile.make("from the disk")
        defer { TemporaryFile.remove(path) }
        var form = MultipartForm(boundary: "B")
        form.addField("ti\"tle", "Tagesschau")
        form.addData("data", Data([1, 2, 3]), fileName: "a.bin")
        try form.addFile("file", path: path, fileName: "b.txt", contentType: "text/plain")

        let received = try await post(form.body)

        let expected =
            "--B\r\nContent-Disposition: form-data; name=\"ti%22tle\"\r\n\r\nTagesschau\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.bin\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n\u{1}\u{2}\u{3}\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\n"
            + "from the disk\r\n--B--\r\n"
        #expect(received.text == expected)
        #expect(form.body.length == Int64(expected.utf8.count))
        #expect(form.body.isReplayable)
        #expect(form.body.contentType == "multipart/form-data; boundary=B")
    }

    @Test("has no length and cannot be sent again when a part is like that")
    func unknownLength() async throws {
        var form = MultipartForm(boundary: "B")
        form.addBody("pipe", .writer { try await $0(Data("made".utf8)) }, fileName: "p")
        #expect(form.body.length == nil)
        #expect(!form.body.isReplayable)
        #expect(try await post(form.body).text.contains("\r\n\r\nmade\r\n--B--\r\n"))
    }

    @Test("makes a boundary that nobody can foresee")
    func boundary() {
        #expect(MultipartForm().boundary != MultipartForm().boundary)
        #expect(
            MultipartForm(random: SeededRandom(seed: 1)).boundary
                == MultipartForm(random: SeededRandom(seed: 1)).boundary
        )
    }

    @Test("client D-19 tells how far the sending of a body is")
    func progress() async throws {
        let journal = Journal<UploadProgress>()
        let bytes = Data(repeating: 7, count: 150_000)

        let received = try await post(RequestBody.bytes(bytes).reportingProgress { journal.add($0) })

        #expect(received.body == bytes)
        #expect(journal.all.map(\.sent) == [65_536, 131_072, 150_000])
        #expect(journal.all.allSatisfy { $0.total == 150_000 })
    }

    @Test("cannot add a file that is not there")
    func missing() {
        var form = MultipartForm()
        #expect(throws: LoadingError.self) { try form.addFile("a", path: TemporaryFile.path()) }
    }
}
