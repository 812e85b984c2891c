#if OpenAPI && os(Linux)
    import Foundation
    import HTTPTypes
    import Lade
    import LadeOpenAPI
    import LadeTesting
    import OpenAPIRuntime
    import SharedDoubles
    import Testing

    @Suite("The memory of the transport of swift-openapi-runtime", .timeLimit(.minutes(5)))
    struct TransportMemoryTests {
        /// 64 MiB, and up to 1 GiB in a soak.
        private static var blocks: Int { Soak.current.rounds(of: 4_096, few: 256) }
        private static let block = Data(repeating: 7, count: 256 << 10)

        /// A number of kilobytes in the system's report about this process, in bytes.
        private static func bytes(_ name: String) throws -> Int {
            let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
            let line = try #require(lines.first { $0.hasPrefix(name) })
            return try #require(line.split(separator: "\t").last?.split(separator: " ").first.flatMap { Int($0) }) << 10
        }

        /// The blocks of a body, made when they are asked for.
        private struct Blocks: AsyncSequence, Sendable {
            let count: Int

            struct Iterator: AsyncIteratorProtocol {
                var left: Int
                mutating func next() async throws -> ArraySlice<UInt8>? {
                    guard left > 0 else { return nil }
                    left -= 1
                    return [UInt8](repeating: 7, count: TransportMemoryTests.block.count)[...]
                }
            }

            func makeAsyncIterator() -> Iterator { Iterator(left: count) }
        }

        /// Sends some blocks, and reads as many.
        private static func exchange(_ count: Int, _ server: LoopbackServer, _ transport: LadeTransport) async throws {
            let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/\(count)")
            let sent = HTTPBody(Blocks(count: count), length: .unknown, iterationBehavior: .single)
            let (response, body) = try await transport.send(
                request,
                body: sent,
                baseURL: try server.request(.get, "").url,
                operationID: "echo"
            )
            #expect(response.status.code == 200)
            var received = 0
            for try await chunk in try #require(body) { received += chunk.count }
            #expect(received == count * block.count)
        }

        @Test(
            "bridges BR-59 a body takes at most 8 MiB of memory, however long it is, in both directions",
            .disabled(
                if: ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil,
                "a sanitizer has memory of its own"
            )
        )
        func memory() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                var options = LoopbackServer.Options()
                options.keptBodyBytes = 0
                let server = try LoopbackServer(options) { request in
                    let count = Int(request.path.dropFirst()) ?? 0
                    return .stream { connection in
                        for _ in 0..<count { try connection.sendChunk(TransportMemoryTests.block) }
                    }
                }
                let transport = LadeTransport(try Loader())
                // Idle is after a first exchange, with its connection open.
                try await TransportMemoryTests.exchange(1, server, transport)
                let idle = try TransportMemoryTests.bytes("VmRSS")
                // The peak is reset.
                try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)

                try await TransportMemoryTests.exchange(TransportMemoryTests.blocks, server, transport)

                let most = try TransportMemoryTests.bytes("VmHWM") - idle
                print(
                    "a body of \(TransportMemoryTests.blocks / 4) MiB in both directions: \(most >> 10) KiB above idle"
                )
                #expect(most <= 8 << 20)
            }
            print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
        }
    }
#endif
