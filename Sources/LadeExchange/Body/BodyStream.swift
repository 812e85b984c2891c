#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// The bridge between the loop, which receives a streamed body, and the task that reads it.
///
/// The loop appends to its own slab and publishes it once per turn, or a little later while a large body arrives
/// (``dueTime(now:)``). The reader takes the published bytes. Above the high-water mark the loop pauses the transfer, and below
/// half of it the reader requests more. Where windows hold the sender back, the reader reports the bytes that it has taken.
package final class BodyStream: Response.Body.Source {
    /// The size of the smallest slab.
    private static let slab = 64 << 10
    /// With little room up to the mark, this much is written nevertheless: bodies do not move byte by byte.
    private static let smallestPiece = 4 << 10
    /// The largest slab: reads of this size double the rate of a large body.
    private static let largestSlab = 512 << 10
    /// Fewer bytes are published in their turn in any case, because the sender of a short message may wait for the reader.
    private static let smallestKept = 8 << 10
    /// The least time between two publications of bytes, in nanoseconds.
    ///
    /// To wake the reader for each 16 KiB of a large body costs more than to receive them.
    private static let interval: Int64 = 250_000

    private enum End {
        case open
        case finished
        case failed(LoadingError)
        /// Bytes that were received and not read are dropped.
        case cancelled
    }

    // Guarded by the lock. Sendable: chunks are values, and the waiter is resumed once.
    private struct State {
        var ready = WaitingLine<Data>()
        /// The number of published bytes and of bytes in the loop's slab.
        var bytes = 0
        var end = End.open
        var isPaused = false
        /// The number of bytes that the reader has taken, and the loop has not noted.
        var taken = 0
        var isReportPending = false
        var waiter: LoopWaiter?
        var trailers = Headers()
        var metrics = Response.Metrics()

        mutating func takeWaiter() -> LoopWaiter? {
            defer { waiter = nil }
            return waiter
        }

        mutating func popFirst() -> Data? {
            guard let chunk = ready.popFirst() else { return nil }
            bytes -= chunk.count
            taken += chunk.count
            return chunk
        }
    }

    private enum Step {
        case chunk(Data, resumes: Bool)
        case wait
        case end
        case fail(LoadingError)
    }

    private let state = Locked(State())
    private let highWater: Int
    private let reportSize: Int
    private let pool: BufferPool
    private let cancelTransfer: @Sendable () -> Void
    private let resumeTransfer: @Sendable () -> Void
    private let cancellation: LoadingError
    // Owned by the loop, and accessed by one function at a time.
    @exclusivity(unchecked) private nonisolated(unsafe) var slab: PooledBytes?
    @exclusivity(unchecked) private nonisolated(unsafe) var unpublished: [Data] = []
    /// The size of the next slab that is written directly: it follows the bytes that arrive between two publications.
    @exclusivity(unchecked) private nonisolated(unsafe) var directSlab = BodyStream.slab
    @exclusivity(unchecked) private nonisolated(unsafe) var lastPublished = Int64.min
    /// Whether the loop has the stream in its list of those to publish.
    @exclusivity(unchecked) package nonisolated(unsafe) var isMarked = false

    /// Makes an open body.
    ///
    /// - Parameters:
    ///   - highWater: The number of unread bytes from which on the loop appends no more.
    ///   - reportSize: After how many bytes that the reader has taken `resume` is called in any case.
    ///   - pool: Gives the memory.
    ///   - cancellation: The error of a reader that continues after it has cancelled.
    ///   - cancel: Called once when the reader ends the body before its end.
    ///   - resume: Called when the loop can append more, or has bytes to note (``takeReport()``).
    package init(
        highWater: Int,
        reportSize: Int = .max,
        pool: BufferPool,
        cancellation: LoadingError,
        cancel: @escaping @Sendable () -> Void,
        resume: @escaping @Sendable () -> Void
    ) {
        self.highWater = highWater
        self.reportSize = reportSize
        self.pool = pool
        self.cancellation = cancellation
        cancelTransfer = cancel
        resumeTransfer = resume
    }

    deinit {
        slab?.discard()
    }

    // MARK: - The reader's side

    package func next() async throws(LoadingError) -> Data? {
        // A wait notices the cancellation itself, but a reader that is slower than the server never waits.
        if Task.isCancelled { cancel() }
        while true {
            switch state.withLock({ step(&$0) }) {
            case .chunk(let data, let resumes):
                if resumes { resumeTransfer() }
                return data
            case .end: return nil
            case .fail(let error): throw error
            case .wait: await waitForMore()
            }
        }
    }

    private func step(_ state: inout State) -> Step {
        if let chunk = state.popFirst() {
            let resumes = state.isPaused && state.bytes <= highWater / 2
            if resumes { state.isPaused = false }
            let reports = state.taken >= reportSize && !state.isReportPending
            if reports { state.isReportPending = true }
            return .chunk(chunk, resumes: resumes || reports)
        }
        switch state.end {
        case .finished: return .end
        case .failed(let error): return .fail(error)
        case .cancelled: return .fail(cancellation)
        case .open: return .wait
        }
    }

    private func waitForMore() async {
        await withTaskCancellationHandler {
            await withResumption { continuation in
                let isReady = state.withLock { state -> Bool in
                    if !state.ready.isEmpty { return true }
                    guard case .open = state.end else { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            cancel()
        }
    }

    package func cancel() {
        let (wasOpen, dropped, waiter) = state.withLock { state -> (Bool, WaitingLine<Data>, LoopWaiter?) in
            let wasOpen = if case .open = state.end { true } else { false }
            // A body that was received and not read to its end has not ended for its reader.
            guard wasOpen || !state.ready.isEmpty else { return (false, WaitingLine(), nil) }
            state.end = .cancelled
            defer { state.ready = WaitingLine() }
            return (wasOpen, state.ready, state.takeWaiter())
        }
        // Released outside the lock.
        withExtendedLifetime(dropped) {}
        waiter?.resume()
        if wasOpen { cancelTransfer() }
    }

    package var trailers: Headers { state.withLock { $0.trailers } }

    package var metrics: Response.Metrics { state.withLock { $0.metrics } }

    // MARK: - The loop's side

    /// Appends received bytes.
    ///
    /// Returns false when the reader is too far behind and the transfer must pause.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard room(for: bytes.count) != nil else { return false }
        if let full = slab, full.count + bytes.count > full.capacity {
            unpublished.append(full.finish())
            slab = nil
        }
        if slab == nil { slab = PooledBytes(pool: pool, capacity: max(Self.slab, bytes.count)) }
        slab?.append(bytes)
        return true
    }

    /// Calls a closure that writes bytes directly into the slab, up to the room in it and about to the high-water mark.
    ///
    /// - Parameters:
    ///   - most: The largest number of bytes.
    ///   - write: Writes bytes and returns their number.
    /// - Returns: The number of bytes that `write` returned; nil when the reader is too far behind and the transfer
    ///   must pause.
    /// - Throws: The error that `write` throws.
    package func append<Failure>(
        atMost most: Int = .max,
        _ write: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int? {
        guard let room = room() else { return nil }
        if let full = slab, full.count == full.capacity {
            unpublished.append(full.finish())
            slab = nil
            directSlab = min(2 * directSlab, Self.largestSlab)
        }
        if slab == nil { slab = PooledBytes(pool: pool, capacity: directSlab <= room ? directSlab : Self.slab) }
        let count = try slab?.append(atMost: min(most, max(room, Self.smallestPiece)), write) ?? 0
        state.withLock { $0.bytes += count }
        return count
    }

    /// Counts bytes before they are appended.
    ///
    /// - Returns: How many bytes there was room for; nil when the reader is too far behind.
    private func room(for count: Int = 0) -> Int? {
        state.withLock { state in
            guard state.bytes < highWater else {
                // A released reader reads no more; its cancellation will arrive in the inbox.
                state.isPaused = true
                return nil
            }
            defer { state.bytes += count }
            return highWater - state.bytes
        }
    }

    /// Pauses the transfer if the reader is at the high-water mark; what is received directly finds this itself.
    package func pausesIfFull() -> Bool { room() == nil }

    /// The number of bytes that the loop has appended and the reader has not taken.
    package var unreadBytes: Int { state.withLock { $0.bytes } }

    /// Whether the transfer waits for the reader.
    package var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Returns how many bytes the reader has taken since the last call.
    package func takeReport() -> Int {
        state.withLock { state in
            defer { state.taken = 0 }
            state.isReportPending = false
            return state.taken
        }
    }

    /// Decides whether the bytes of this turn are kept for others to join them.
    ///
    /// - Parameter now: The time of the turn, in nanoseconds of the monotonic clock.
    /// - Returns: When they must be published; nil when that is now.
    package func dueTime(now: Int64) -> Int64? {
        guard let slab, unpublished.isEmpty, slab.count > Self.smallestKept else { return nil }
        guard slab.count <= min(slab.capacity, highWater) / 2, !isPaused else { return nil }
        let due = lastPublished &+ Self.interval
        return due > now ? due : nil
    }

    /// Publishes the bytes that were appended to the reader.
    ///
    /// Returns the waiter to resume.
    package func publish(now: Int64 = .min) -> LoopWaiter? {
        lastPublished = now
        // A slab is published only when there is something in it: a read may have brought nothing.
        if let last = slab, last.count > 0 {
            // The pool would copy so few bytes to a smaller buffer.
            if last.count <= last.capacity / 2 { directSlab = max(directSlab / 2, Self.slab) }
            unpublished.append(last.finish())
            slab = nil
        }
        guard !unpublished.isEmpty else { return nil }
        defer { unpublished.removeAll(keepingCapacity: true) }
        return state.withLock { state in
            if case .cancelled = state.end { return nil }
            for chunk in unpublished { state.ready.append(chunk) }
            return state.takeWaiter()
        }
    }

    /// Ends the body.
    ///
    /// Returns the waiter to resume.
    package func finish(_ error: LoadingError?, trailers: Headers, metrics: Response.Metrics) -> LoopWaiter? {
        let published = publish()
        slab?.discard()
        slab = nil
        let ended = state.withLock { state -> LoopWaiter? in
            state.metrics = metrics
            guard case .open = state.end else { return nil }
            state.trailers = trailers
            state.end = error.map(End.failed) ?? .finished
            return state.takeWaiter()
        }
        return published ?? ended
    }
}
