import Foundation
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LocalTransportTests {
    @Test(
        "finding FP-21 a data address without a type is text with the parameters that it gives (RFC 2397)",
        arguments: [
            ("data:,x", "text/plain;charset=US-ASCII"), ("data:;charset=utf-8,x", "text/plain;charset=utf-8"),
            ("data:;base64,eA==", "text/plain;charset=US-ASCII"),
            ("data:;charset=utf-8;base64,eA==", "text/plain;charset=utf-8"),
            ("data:text/html,x", "text/html"), ("data:text/html;charset=%22utf-8%22,x", "text/html;charset=\"utf-8\""),
        ]
    )
    func types(address: String, type: String) async throws {
        let response = try await LocalTransport().send(Request(address), call: Call())

        #expect(response.headers["Content-Type"] == type)
        #expect(response.body.bytes == Data("x".utf8))
    }

    @Test("a file address with an encoded NUL does not name the file before the NUL")
    func embeddedNUL() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lade-\(UUID().uuidString)")
        try Data("secret".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let request = try Request("file://\(file.path)%00.png")

        let error = await #expect(throws: LoadingError.self) {
            _ = try await LocalTransport().send(request, call: Call())
        }

        guard case .invalidRequest(.url)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
