import Foundation
import Lade
import LadeTesting
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

@Suite("Descriptors that another process made non-blocking", .timeLimit(.minutes(5)))
struct DescriptorTests {
    private func pipe() throws -> (read: Descriptor, write: Descriptor) {
        var ends: [Int32] = [0, 0]
        #if canImport(Glibc)
            try #require(Glibc.pipe(&ends) == 0)
        #elseif canImport(Musl)
            try #require(Musl.pipe(&ends) == 0)
        #else
            try #require(Darwin.pipe(&ends) == 0)
        #endif
        for end in ends { try #require(fcntl(end, F_SETFL, O_NONBLOCK) == 0) }
        return (Descriptor(number: ends[0]), Descriptor(number: ends[1]))
    }

    @Test("writes and reads every byte, however much a pipe holds")
    func everyByte() async throws {
        signal(SIGPIPE, SIG_IGN)
        let (source, sink) = try pipe()
        // Far more than any pipe holds, so that the writer and the reader wait for each other.
        let bytes = Data((0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 % 251) })
        let received = Locked(Data())
        let failure = Locked(SystemError?.none)
        let end = Signal()
        Thread.detachNewThread {
            do throws(SystemError) {
                while true {
                    let chunk = try source.read(upTo: 64 << 10)
                    if chunk.isEmpty { break }
                    received.withLock { $0 += chunk }
                }
            } catch {
                failure.withLock { $0 = error }
            }
            // Writing fails from now on, which ends a writer that has bytes left.
            try? source.close()
            end.raise()
        }

        let result = Result { try sink.write(bytes) }
        try sink.close()
        try await end.wait()

        #expect(throws: Never.self) { try result.get() }
        #expect(failure.withLock(\.self) == nil)
        #expect(received.withLock { $0 == bytes })
    }
}
