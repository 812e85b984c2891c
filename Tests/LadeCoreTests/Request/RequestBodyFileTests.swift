// The whole of Foundation on purpose: it changes what FileManager gives.
import Foundation
import LadeCore
import Testing

struct RequestBodyFileTests {
    @Test("knows the length of a file's body, also in a program that uses Foundation")
    func length() throws {
        let path = NSTemporaryDirectory() + UUID().uuidString
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }

        #expect(try RequestBody.file(path).length == 5)
        #expect(try RequestBody.file(path, offset: 2).length == 3)
        #expect(try RequestBody.file(path, offset: 5).length == 0)
        #expect(throws: LoadingError.self) { try RequestBody.file(path, offset: 6) }
        #expect(throws: LoadingError.self) { try RequestBody.file(path, offset: -1) }
    }

    @Test("refuses a folder and a file that is not there", arguments: ["/", "/nowhere/x"])
    func refuses(path: String) {
        #expect(throws: LoadingError.self) { try RequestBody.file(path) }
    }
}
