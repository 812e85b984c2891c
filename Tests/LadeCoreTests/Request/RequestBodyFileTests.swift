import Foundation
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RequestBodyFileTests {
    @Test("a file is a body of its length from the offset on, also where the whole of Foundation is loaded")
    func length() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("lade-body-\(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }

        #expect(try Request.Body.file(url.path).length == 10)
        #expect(try Request.Body.file(url.path, offset: 7).length == 3)
        #expect(try Request.Body.file(url.path, offset: 10).length == 0)
        #expect(throws: LoadingError.self) { try Request.Body.file(url.path, offset: 11) }
    }

    @Test("a path that is not a regular file is refused when the body is made")
    func noFile() {
        #expect(throws: LoadingError.self) { try Request.Body.file("/no/such/file") }
        #expect(throws: LoadingError.self) { try Request.Body.file(FileManager.default.temporaryDirectory.path) }
    }
}
