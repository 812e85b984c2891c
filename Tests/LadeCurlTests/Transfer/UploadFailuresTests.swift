import Foundation
import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("Uploads whose source fails or grows", .timeLimit(.minutes(5)))
struct UploadFailuresTests {
    private struct WriterFailure: Error {}

    @Test("a call whose body cannot be written fails with the writer's error", arguments: [0, 3])
    func failsWithWriter(chunks: Int) async throws {
        let server = try LoopbackServer { .text($0.text) }
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)
        let body = Request.Body.writer { write in
            for _ in 0..<chunks { try await write(Data("some".utf8)) }
            throw WriterFailure()
        }

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(server.request(.post, "/", body: body), call: Call())
        }

        #expect(
            error.map {
                if case .requestBodyFailed = $0.kind, $0.underlyingError is WriterFailure { true } else { false }
            } == true
        )
        await transport.shutDown()
    }

    @Test("a file that has grown since the request was made is sent at its announced length")
    func grownFile() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt32.random(in: 0...(.max)))").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("announced".utf8).write(to: URL(fileURLWithPath: path))
        let server = try LoopbackServer { .text($0.text) }
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)
        let request = try server.request(.put, "/", body: .file(path))

        try Data("announced, and more".utf8).write(to: URL(fileURLWithPath: path))
        let response = try await transport.send(request, call: Call())

        #expect(try await String(decoding: response.body.collect(), as: UTF8.self) == "announced")
        await transport.shutDown()
    }
}
