#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange

@Suite("A request body between its writer and the loop", .timeLimit(.minutes(5)))
struct UploadPipeTests {
    private struct WriterFailure: Error {}

    private let resumes = Tally()
    private let executor = HeldExecutor()

    private func makePipe(declaredLength: Int64? = nil) -> UploadPipe {
        UploadPipe(declaredLength: declaredLength, context: LoadingError.Context()) { [resumes] in resumes.add() }
    }

    @discardableResult
    private func write(_ text: String, to pipe: UploadPipe) -> HeldTask<Void> {
        executor.start { try await pipe.write(Data(text.utf8)) }
    }

    /// What the loop reads next, and how it is notified.
    private func read(_ pipe: UploadPipe, _ count: Int = 100) -> (UploadPipe.Portion, String) {
        var buffer = [UInt8](repeating: 0, count: count)
        let portion = buffer.withUnsafeMutableBytes { pipe.read(into: $0) }
        guard case .bytes(let filled) = portion else { return (portion, "") }
        return (portion, String(decoding: buffer[..<filled], as: UTF8.self))
    }

    @Test("sends chunks in order, cut to the size of the buffers, and then the end")
    func sendsInOrder() {
        let pipe = makePipe()
        for chunk in ["abc", "", "defg", "h"] { write(chunk, to: pipe) }
        pipe.end(nil)

        #expect(read(pipe, 2) == (.bytes(2), "ab"))
        #expect(read(pipe, 4) == (.bytes(4), "cdef"))
        #expect(read(pipe, 4) == (.bytes(2), "gh"))
        #expect(read(pipe) == (.end, ""))
        #expect(read(pipe) == (.end, ""))
        #expect(pipe.failure == nil)
    }

    @Test("resumes the transfer, once, when something comes after it found nothing")
    func resumesTheStarved() {
        let pipe = makePipe()
        write("a", to: pipe)
        #expect(resumes.count == 0)
        #expect(read(pipe) == (.bytes(1), "a"))
        #expect(read(pipe) == (.nothingYet, ""))

        write("b", to: pipe)
        write("c", to: pipe)
        #expect(resumes.count == 1)
        #expect(read(pipe) == (.bytes(2), "bc"))
        #expect(read(pipe) == (.nothingYet, ""))
        pipe.end(nil)

        #expect(resumes.count == 2)
        #expect(read(pipe) == (.end, ""))
    }

    @Test("holds the writer at the high-water mark until less than half of it is left")
    func holdsTheWriter() {
        let pipe = makePipe()
        let quarter = String(repeating: "x", count: 128 << 10)
        for _ in 0..<3 { #expect(write(quarter, to: pipe).value != nil) }
        let writer = write(quarter, to: pipe)
        #expect(writer.result == nil)

        _ = read(pipe, 256 << 10)
        executor.run()
        #expect(writer.result == nil)
        #expect(read(pipe, 1).0 == .bytes(1))
        executor.run()

        #expect(writer.value != nil)
    }

    @Test("notifies the writer of the end of the exchange, immediately when it waits and at its next chunk otherwise")
    func endsWithTheExchange() {
        let pipe = makePipe()
        let writer = write(String(repeating: "x", count: 512 << 10), to: pipe)
        #expect(writer.result == nil)

        pipe.close()
        executor.run()

        #expect(writer.error?.isCancellation == true)
        #expect(write("more", to: pipe).error?.isCancellation == true)
        #expect(read(pipe) == (.nothingYet, ""))
    }

    @Test("lets a waiting writer go whose task is cancelled")
    func endsWithTheWriter() {
        let pipe = makePipe()
        let writer = write(String(repeating: "x", count: 512 << 10), to: pipe)

        writer.cancel()
        executor.run()

        #expect(writer.error?.isCancellation == true)
    }

    @Test("lets no writer wait whose task was cancelled before")
    func refusesCancelledWriter() {
        let pipe = makePipe()

        let writer = executor.start {
            withUnsafeCurrentTask { $0?.cancel() }
            try await pipe.write(Data(count: 512 << 10))
        }

        #expect(writer.error?.isCancellation == true)
    }

    @Test("fails when the writer does, before anything that is left to send")
    func failsWithTheWriter() {
        let pipe = makePipe()
        write("abc", to: pipe)
        #expect(read(pipe, 1) == (.bytes(1), "a"))

        pipe.end(WriterFailure())

        #expect(read(pipe) == (.failed, ""))
        guard case .requestBodyFailed = pipe.failure?.kind, pipe.failure?.underlyingError is WriterFailure else {
            return #expect(Bool(false), "it failed with \(String(describing: pipe.failure))")
        }
    }

    @Test("keeps an error that is one of ours as it is")
    func keepsOurErrors() {
        let pipe = makePipe()
        pipe.end(LoadingError(.cancelled))
        #expect(pipe.failure?.isCancellation == true)
    }

    @Test("refuses the chunk that makes a body longer than was said")
    func refusesTooMuch() throws {
        let pipe = makePipe(declaredLength: 4)
        #expect(write("abc", to: pipe).value != nil)

        let error = try #require(write("de", to: pipe).error)

        guard case .requestBodyFailed = error.kind, let mismatch = error.underlyingError as? BodyLengthMismatch else {
            return #expect(Bool(false), "it failed with \(error)")
        }
        #expect((mismatch.declared, mismatch.written) == (4, 5))
        #expect("\(mismatch)" == "5 bytes were written, 4 were declared")
        #expect(read(pipe) == (.bytes(3), "abc"))
    }

    @Test("fails at the end of a body that is shorter than was said, and takes one of that length", arguments: [3, 4])
    func wantsTheWholeLength(declared: Int64) {
        let pipe = makePipe(declaredLength: declared)
        write("abc", to: pipe)
        pipe.end(nil)

        #expect((pipe.failure == nil) == (declared == 3))
        #expect(read(pipe).0 == (declared == 3 ? .bytes(3) : .failed))
    }
}
