#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange

@Suite("A streamed body between the loop and its reader", .timeLimit(.minutes(5)))
struct BodyStreamTests {
    private let pool = BufferPool()
    private let cancels = Tally()
    private let resumes = Tally()
    private let executor = HeldExecutor()

    private func makeStream(highWater: Int = 1 << 20) -> BodyStream {
        BodyStream(
            highWater: highWater,
            pool: pool,
            cancellation: LoadingError(.cancelled),
            cancel: { [cancels] in cancels.add() },
            resume: { [resumes] in resumes.add() }
        )
    }

    @discardableResult
    private func append(_ text: String, to stream: BodyStream) -> Bool {
        Data(text.utf8).withUnsafeBytes { stream.append($0) }
    }

    private func read(_ stream: BodyStream) -> HeldTask<String?> {
        executor.start { try await stream.next().map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test("shows what arrived in a turn as one chunk, in order, and then that there is no more")
    func handsOverInOrder() {
        let stream = makeStream()
        append("ab", to: stream)
        append("cd", to: stream)
        #expect(stream.publish() == nil)
        append("ef", to: stream)
        #expect(stream.finish(nil, trailers: ["X-Sum": "6"], metrics: Response.Metrics()) == nil)

        #expect(read(stream).value == "abcd")
        #expect(read(stream).value == "ef")
        #expect(read(stream).value == .some(nil))
        #expect(stream.trailers["X-Sum"] == "6")
    }

    @Test("reports the bytes that the reader has taken, once for each share of them")
    func reportsWhatIsTaken() {
        let stream = BodyStream(
            highWater: 1 << 20,
            reportSize: 4,
            pool: pool,
            cancellation: LoadingError(.cancelled),
            cancel: {},
            resume: { [resumes] in resumes.add() }
        )
        for text in ["abc", "d", "efgh", "ij"] {
            append(text, to: stream)
            _ = stream.publish()
        }

        #expect(read(stream).value == "abc")
        #expect(resumes.count == 0)
        #expect(read(stream).value == "d")
        #expect(resumes.count == 1)
        #expect(read(stream).value == "efgh")
        #expect(resumes.count == 1, "reported before the loop has noted the first share")
        #expect(stream.takeReport() == 8)
        #expect(stream.takeReport() == 0)
        #expect(read(stream).value == "ij")
        #expect(resumes.count == 1)
        #expect(stream.takeReport() == 2)
    }

    @Test("wakes a waiting reader when something is published, and not before")
    func wakesTheReader() throws {
        let stream = makeStream()
        let reader = read(stream)
        append("late", to: stream)
        executor.run()
        #expect(reader.result == nil)

        try #require(stream.publish()).resume()
        executor.run()

        #expect(reader.value == "late")
        #expect(stream.publish() == nil)
    }

    @Test("wakes a waiting reader at the end, with and without an error")
    func wakesTheReaderAtTheEnd() throws {
        let whole = makeStream()
        let wholeReader = read(whole)
        try #require(whole.finish(nil, trailers: [:], metrics: Response.Metrics())).resume()
        let broken = makeStream()
        let brokenReader = read(broken)
        let error = LoadingError(.incompleteBody(received: 0, expected: 9))
        try #require(broken.finish(error, trailers: [:], metrics: Response.Metrics())).resume()
        executor.run()

        #expect(wholeReader.value == .some(nil))
        guard case .incompleteBody(received: 0, expected: 9) = brokenReader.error?.kind else {
            return #expect(Bool(false), "it ended with \(String(describing: brokenReader.result))")
        }
    }

    @Test(
        "finding LX-1 a read that brings nothing publishes nothing, and the error or the end follows",
        arguments: [true, false]
    )
    func publishesNothingEmpty(fails: Bool) throws {
        for content in ["", "half"] {
            let stream = makeStream()
            append(content, to: stream)
            _ = stream.publish()
            #expect(stream.append { _ in 0 } == 0)
            _ = stream.publish()
            let error = LoadingError(.incompleteBody(received: 4, expected: 9))
            _ = stream.finish(fails ? error : nil, trailers: [:], metrics: Response.Metrics())

            if !content.isEmpty { #expect(read(stream).value == content) }
            let last = read(stream)
            #expect(fails ? last.error?.kind == error.kind : last.value == .some(nil))
        }
    }

    @Test("delivers an error after everything that had arrived")
    func tellsErrorsLast() {
        let stream = makeStream()
        append("half", to: stream)
        let error = LoadingError(.connectionLost(.body(received: 4), isSafeToRepeat: false))
        #expect(stream.finish(error, trailers: [:], metrics: Response.Metrics()) == nil)

        #expect(read(stream).value == "half")
        guard case .connectionLost = read(stream).error?.kind else { return #expect(Bool(false), "no error") }
    }

    @Test("refuses bytes at the high-water mark, and asks for more once half of it is read")
    func pausesAndResumes() {
        let stream = makeStream(highWater: 8)
        for _ in 0..<3 {
            #expect(append("abcd", to: stream) == (stream.isPaused == false))
            _ = stream.publish()
        }
        // Two pieces are the mark; the third was refused.
        #expect(stream.isPaused)

        #expect(read(stream).value == "abcd")
        #expect(resumes.count == 1)
        #expect(!stream.isPaused)
        #expect(read(stream).value == "abcd")
        #expect(resumes.count == 1)
    }

    @Test("does not ask for more while more than half of the mark is left")
    func staysPaused() {
        let stream = makeStream(highWater: 8)
        for piece in ["abcde", "fg", "h"] {
            append(piece, to: stream)
            _ = stream.publish()
        }
        #expect(!append("i", to: stream))

        #expect(read(stream).value == "abcde")
        #expect(resumes.count == 1)
        let other = makeStream(highWater: 8)
        for piece in ["ab", "cdefgh"] {
            append(piece, to: other)
            _ = other.publish()
        }
        #expect(!append("i", to: other))
        #expect(read(other).value == "ab")
        #expect(resumes.count == 1)
        #expect(other.isPaused)
        #expect(read(other).value == "cdefgh")
        #expect(resumes.count == 2)
    }

    @Test("drops what arrived when it is cancelled, and cancels the transfer once")
    func endsWhenCancelled() {
        let stream = makeStream()
        append("rest", to: stream)
        _ = stream.publish()

        stream.cancel()
        stream.cancel()

        #expect(cancels.count == 1)
        #expect(read(stream).error?.isCancellation == true)
        // What the transfer says afterwards changes nothing but the figures.
        var metrics = Response.Metrics()
        metrics.decodedBodyBytes = 4
        #expect(stream.finish(nil, trailers: ["X-Late": "1"], metrics: metrics) == nil)
        #expect(read(stream).error?.isCancellation == true)
        #expect(stream.trailers.isEmpty)
        #expect(stream.metrics.decodedBodyBytes == 4)
    }

    @Test("ends the wait of a reader whose task is cancelled")
    func cancelsWithItsReader() {
        let stream = makeStream()
        let reader = read(stream)

        reader.cancel()
        executor.run()

        #expect(reader.error?.isCancellation == true)
        #expect(cancels.count == 1)
    }

    @Test("does not cancel a transfer that has ended")
    func leavesTheEndedAlone() {
        let stream = makeStream()
        _ = stream.finish(nil, trailers: [:], metrics: Response.Metrics())

        stream.cancel()

        #expect(cancels.count == 0)
        #expect(read(stream).value == .some(nil))
    }

    @Test("starts another chunk when a slab of 64 KiB cannot take a piece whole")
    func changesSlabs() {
        let stream = makeStream()
        let pieces = ["a", "b", "c"].map { String(repeating: $0, count: 30_000) }
        for piece in pieces { append(piece, to: stream) }
        // One that no slab of the usual size could take.
        let large = String(repeating: "d", count: 100_000)
        append(large, to: stream)
        _ = stream.publish()

        #expect(read(stream).value == pieces[0] + pieces[1])
        #expect(read(stream).value == pieces[2])
        #expect(read(stream).value == large)
    }

    @Test("returns its slab when it is released with unread bytes")
    func givesItsSlabBack() {
        let buffer = pool.take(64 << 10)
        pool.give(buffer)
        var stream: BodyStream? = makeStream()
        stream.map { _ = append("unseen", to: $0) }
        #expect(pool.keptBytes == 0)

        stream = nil

        #expect(pool.keptBytes == 64 << 10)
    }

    @Test("finding FT-10 takes into a stream no more than the high-water mark")
    func slab() {
        let stream = BodyStream(
            highWater: 512 << 10,
            pool: BufferPool(),
            cancellation: LoadingError(.cancelled),
            cancel: {},
            resume: {}
        )
        var taken = 0
        while let count = stream.append({ $0.count }) { taken += count }
        #expect(stream.isPaused)
        #expect(taken == 512 << 10)
        #expect(stream.append { _ in 0 } == nil)
    }

    @Test("finding FT-10 writes behind what is in the slab already, and no further than its end")
    func slabRoom() throws {
        let stream = BodyStream(
            highWater: 1 << 20,
            pool: BufferPool(),
            cancellation: LoadingError(.cancelled),
            cancel: {},
            resume: {}
        )
        var rooms: [Int] = []
        for count in [10, 65_526, 1] {
            _ = stream.append { room in
                rooms.append(room.count)
                return count
            }
        }
        // A slab that was filled makes the next one larger.
        #expect(rooms == [65_536, 65_526, 131_072])
    }

    @Test("wire WR-5 writes no more than it is asked to")
    func mostBytes() throws {
        let stream = BodyStream(
            highWater: 12_000,
            pool: BufferPool(),
            cancellation: LoadingError(.cancelled),
            cancel: {},
            resume: {}
        )
        var rooms: [Int] = []
        for most in [6_000, 5_000, 6_000, 6_000] {
            _ = stream.append(atMost: most) { room in
                rooms.append(room.count)
                return room.count
            }
        }
        // What is asked for, and what is left up to the mark, or a small piece.
        #expect(rooms == [6_000, 5_000, 4_096])
    }

    // MARK: - When bytes are published

    private func receive(_ count: Int, into stream: BodyStream) {
        _ = stream.append(atMost: count) { $0.prefix(count).count }
    }

    @Test("keeps the bytes of a large body that arrive soon after others, until their time or half a slab")
    func keepsBytes() throws {
        let stream = makeStream()
        receive(16 << 10, into: stream)
        #expect(stream.dueTime(now: 1_000) == nil, "the first bytes of a body")
        _ = stream.publish(now: 1_000)

        receive(16 << 10, into: stream)
        let due = try #require(stream.dueTime(now: 2_000))
        #expect(due == 251_000)
        #expect(stream.dueTime(now: due - 1) == due)
        #expect(stream.dueTime(now: due) == nil)
        receive(17 << 10, into: stream)
        #expect(stream.dueTime(now: 3_000) == nil, "more than half of 64 KiB")
    }

    @Test("keeps no short message, and nothing from a reader who is to make room")
    func keepsNothingBack() {
        let talk = makeStream()
        let full = makeStream(highWater: 32 << 10)
        let last = makeStream()
        for stream in [talk, full, last] {
            receive(16 << 10, into: stream)
            _ = stream.publish(now: 0)
        }

        receive(8 << 10, into: talk)
        #expect(talk.dueTime(now: 1) == nil)
        receive(9 << 10, into: full)
        #expect(full.dueTime(now: 1) != nil)
        receive(7 << 10, into: full)
        #expect(full.dueTime(now: 1) != nil, "half of the mark")
        receive(1, into: full)
        #expect(full.dueTime(now: 1) == nil)
        receive(9 << 10, into: last)
        #expect(last.finish(nil, trailers: [:], metrics: Response.Metrics()) == nil)
        #expect(last.dueTime(now: 1) == nil)
    }
}
