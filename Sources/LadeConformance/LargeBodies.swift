#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeCore
import LadeTesting

// Bodies that must not be held in memory.
extension TransportConformance {
    static var bodies: [ConformanceCase] { [upload, download, expectation] }

    /// How much the process may grow beside the measured memory: allocator, stacks, the server's buffers.
    static let memoryAllowance = 48 << 20

    /// The size of a body that is large even where other runs are shortened: several times what may be kept of it.
    private static func largeSize(_ context: ConformanceContext) -> Int {
        max(context.scaled(256 << 20), 4 * memoryAllowance)
    }

    private static let upload = ConformanceCase(
        "TR-51",
        "uploads 256 MiB from a file and from a sequence with little memory",
        measuresProcess: true
    ) { context in
        var options = LoopbackServer.Options()
        options.keptBodyBytes = 0
        let server = try LoopbackServer(options) { _ in .status(204) }
        let transport = try context.transport()
        let block = pattern(251 << 10)
        let count = largeSize(context) / block.count
        var digest = ContentDigest()
        for _ in 0..<count { digest.update(block) }
        let file = FileManager.default.temporaryDirectory.appending(path: "lade-upload-\(context.token())").path
        try writeFile(file, block, count: count)
        // A file that remains is left to the system to clean up.
        defer { try? FileManager.default.removeItem(atPath: file) }
        // How far the sequence is ahead of the bytes that the server has received.
        let lead = Locked(Int64(0))
        let sequence = Request.Body.stream {
            let before = server.connections.map(\.bytesReceived).reduce(0, +)
            return BlockSequence(block: block, count: count) { number in
                let received = server.connections.map(\.bytesReceived).reduce(0, +) - before
                lead.withLock { $0 = max($0, Int64(number * block.count) - received) }
            }
        }
        for (index, (name, body)) in [("file", try .file(file)), ("sequence", sequence)].enumerated() {
            await context.part(name) { context in
                let request = try server.request(.put, "/", body: body)
                try await context.expectMemory(below: memoryAllowance) {
                    context.expect(try await context.exchange(transport, request), gives: 204)
                }
                let received = try await context.within("the request") { try await server.request(at: index) }
                context.expectEqual(received.digest, digest, "digest at the server")
                let length = name == "file" ? String(count * block.count) : nil
                context.expectEqual(received["Content-Length"], length, "Content-Length")
            }
        }
        // The system's socket buffers count here, which differ: 10 MiB to 32 MiB.
        let most = lead.withLock { $0 }
        context.expect(most < 64 << 20, "the sequence was read \(most) bytes ahead of the server")
    }

    private static func writeFile(_ path: String, _ block: Data, count: Int) throws {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        guard let stream = fopen(path, "w") else {
            throw ConformanceError.skipped("no temporary file could be written")
        }
        defer { fclose(stream) }
        for _ in 0..<count { _ = block.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, stream) } }
    }

    private struct BlockSequence: AsyncSequence {
        let block: Data
        let count: Int
        /// Called before each block with its number.
        let willMake: @Sendable (Int) -> Void

        struct Iterator: AsyncIteratorProtocol {
            let sequence: BlockSequence
            var number = 0

            mutating func next() async -> Data? {
                guard number < sequence.count else { return nil }
                sequence.willMake(number)
                number += 1
                return sequence.block
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }
    }

    private static let download = ConformanceCase(
        "TR-52",
        "applies backpressure while a body of 256 MiB is read slowly",
        measuresProcess: true
    ) { context in
        let block = pattern(1 << 20)
        let count = largeSize(context) / block.count
        var options = LoopbackServer.Options()
        options.sendBuffer = 64 << 10
        let server = try LoopbackServer(options) { request in
            guard request.path == "/large" else { return .text("ok") }
            let length = ServerField("Content-Length", String(count * block.count))
            return ServerResponse(
                fields: [length],
                body: .raw { connection in
                    for _ in 0..<count { try connection.send(block) }
                }
            )
        }
        let highWater = 1 << 20
        let transport = try context.transport { $0.limits.streamHighWater = highWater }
        // The system's socket buffers do not count: Linux uses at most 6 MiB by default.
        let held = Int64(highWater + 16 << 20)
        try await context.expectMemory(below: memoryAllowance + highWater) {
            try await context.within("the download") {
                let request = try server.request(.get, "/large", delivery: .streamed)
                let response = try await transport.send(request, call: Call())
                var chunks = response.body.makeAsyncIterator()
                var digest = ContentDigest()
                var most: Int64 = 0
                var turns = 0
                while let chunk = try await chunks.next() {
                    digest.update(chunk)
                    turns += 1
                    // Other calls run in between, so that the reader is slow.
                    if turns <= 200 || turns % 64 == 0 {
                        let other = await Exchange.perform(transport, try server.request())
                        context.expect(other, gives: 200, "ok")
                    }
                    most = max(most, (server.connections.first?.bytesSent ?? 0) - digest.count)
                }
                context.expect(most < held, "\(most) bytes were taken from the server before they were read")
                var expected = ContentDigest()
                for _ in 0..<count { expected.update(block) }
                context.expectEqual(digest, expected, "digest of the body")
            }
        }
    }

    private static let expectation = ConformanceCase("TR-53", "does not send a body whose expectation is refused") {
        context in
        let server = try LoopbackServer(
            onHead: { $0.path == "/refused" ? .status(417) : nil },
            handler: { .text("\($0.bodyLength)") }
        )
        let headers: Headers = ["Expect": "100-continue"]
        for (name, delivery) in deliveries {
            await context.part("refused, \(name)") { context in
                let wasAsked = Locked(false)
                let body = Request.Body.writer(length: 1 << 20) { write in
                    wasAsked.withLock { $0 = true }
                    try await write(Data(count: 1 << 20))
                }
                let first = server.acceptedCount
                let transport = try context.transport()
                let request = try server.request(.post, "/refused", headers: headers, body: body, delivery: delivery)
                context.expect(try await context.exchange(transport, request), gives: 417, "")
                let connection = server.connections[first]
                let head = server.requests.last?.head.count ?? 0
                context.expectEqual(connection.bytesReceived, Int64(head), "bytes at the server")
            }
        }
        await context.part("granted") { context in
            let body = Request.Body.bytes(Data(count: 1 << 20))
            let request = try server.request(.post, "/granted", headers: headers, body: body)
            context.expect(try await context.exchange(try context.transport(), request), gives: 200, "\(1 << 20)")
        }
    }
}

extension ConformanceContext {
    /// Records a deviation if the process grows by more than the limit while `body` runs.
    func expectMemory(below limit: Int, _ body: () async throws -> Void) async throws {
        ProcessProbe.resetPeak()
        let before = ProcessProbe.residentBytes
        try await body()
        guard checksMemory, let before, let peak = ProcessProbe.peakBytes else { return }
        expect(
            peak - before < limit,
            "the process grew by \((peak - before) >> 20) MiB, \(limit >> 20) MiB are allowed"
        )
    }
}
