import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeCurl

#if canImport(Glibc)
    import Glibc
#endif

@Suite("The life of the loop", .timeLimit(.minutes(5)))
struct LoopLifetimeTests {
    private func settings() -> TransportSettings {
        var settings = TransportSettings()
        settings.proxy = .direct
        return settings
    }

    @Test("finding FQ-23 releasing the last reference to a transport ends its calls and its thread")
    func release() async throws {
        let server = try LoopbackServer(
            script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .stall]
        )
        var transport: CurlTransport? = try CurlTransport(settings: settings())
        let inbox = try #require(transport?.loop.inbox)
        let response = try #require(
            try await transport?.send(server.request(.get, "/", delivery: .streamed), call: Call())
        )
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next()?.count == 4)

        transport = nil

        let error = await #expect(throws: LoadingError.self) { try await chunks.next() }
        #expect(error?.isCancellation == true)
        await inbox.ended()
        try await server.open(atMost: 0)
    }

    #if os(Linux)
        @Test("finding FT-15 a loop for which no thread can be made leaves nothing open")
        func noThread() async {
            await #expect(processExitsWith: .success) {
                // The first transport opens what the process keeps.
                try await CurlTransport().shutDown()
                let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
                for _ in 0..<10 {
                    let loop = try CurlLoop(HandleSettings(TransportSettings()))
                    #expect(throws: LoadingError.self) { try loop.start { _ in EAGAIN } }
                    await loop.inbox.ended()
                }
                let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
                // The runtime may open one of its own meanwhile; the ten loops would leave ten.
                #expect(after - before < 10)
            }
        }
    #endif
}
