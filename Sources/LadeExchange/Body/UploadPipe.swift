#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// The bridge between the task that produces a request body and the loop thread that sends it.
///
/// The writer waits above the high-water mark; the loop pauses the transfer when no bytes are available.
package final class UploadPipe: Sendable {
    /// The result when the loop reads bytes.
    package enum Portion: Equatable {
        case bytes(Int)
        case nothingYet
        case end
        case failed
    }

    private static let highWater = 512 << 10

    private struct State {
        var chunks = WaitingLine<Data>()
        var offset = 0
        var bytes = 0
        var accepted: Int64 = 0
        var isEnded = false
        var isClosed = false
        var isStarved = false
        var failure: LoadingError?
        var writer: CheckedContinuation<Void, Never>?

        mutating func takeWriter() -> CheckedContinuation<Void, Never>? {
            defer { writer = nil }
            return writer
        }

        mutating func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            var filled = 0
            while filled < buffer.count, let chunk = chunks.first {
                let count = min(chunk.count - offset, buffer.count - filled)
                chunk.withUnsafeBytes { source in
                    let target = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<(filled + count)])
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<(offset + count)]))
                }
                filled += count
                offset += count
                guard offset == chunk.count else { continue }
                _ = chunks.popFirst()
                offset = 0
            }
            bytes -= filled
            return filled
        }
    }

    private let state = Locked(State())
    private let declaredLength: Int64?
    private let context: LoadingError.Context
    private let resumeTransfer: @Sendable () -> Void

    package init(declaredLength: Int64?, context: LoadingError.Context, resume: @escaping @Sendable () -> Void) {
        self.declaredLength = declaredLength
        self.context = context
        resumeTransfer = resume
    }

    // MARK: - The writer's side

    /// Appends a chunk, and returns when there is room for the next.
    package func write(_ chunk: Data) async throws(LoadingError) {
        guard !chunk.isEmpty else { return }
        let (error, isAwaited, isFull) = state.withLock { state -> (LoadingError?, Bool, Bool) in
            guard !state.isClosed, !Task.isCancelled else { return (LoadingError(.cancelled, context), false, false) }
            state.accepted += Int64(chunk.count)
            if let declaredLength, state.accepted > declaredLength {
                let mismatch = BodyLengthMismatch(declared: declaredLength, written: state.accepted)
                return (LoadingError(.requestBodyFailed, context, underlyingError: mismatch), false, false)
            }
            state.chunks.append(chunk)
            state.bytes += chunk.count
            defer { state.isStarved = false }
            return (nil, state.isStarved, state.bytes >= Self.highWater)
        }
        if let error { throw error }
        if isAwaited { resumeTransfer() }
        if isFull { try await waitForRoom() }
    }

    private func waitForRoom() async throws(LoadingError) {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasRoom = state.withLock { state -> Bool in
                    if state.isClosed || state.bytes < Self.highWater || Task.isCancelled { return true }
                    state.writer = continuation
                    return false
                }
                if hasRoom { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeWriter() }?.resume()
        }
        if Task.isCancelled || state.withLock({ $0.isClosed }) { throw LoadingError(.cancelled, context) }
    }

    /// Ends the body after the last chunk, or with an error.
    package func end(_ error: (any Error)?) {
        let isAwaited = state.withLock { state -> Bool in
            state.isEnded = true
            if let error = error as? LoadingError {
                state.failure = error
            } else if let error {
                state.failure = LoadingError(.requestBodyFailed, context, underlyingError: error)
            } else if let declaredLength, state.accepted != declaredLength {
                let mismatch = BodyLengthMismatch(declared: declaredLength, written: state.accepted)
                state.failure = LoadingError(.requestBodyFailed, context, underlyingError: mismatch)
            }
            defer { state.isStarved = false }
            return state.isStarved
        }
        if isAwaited { resumeTransfer() }
    }

    // MARK: - The loop's side

    /// Fills a buffer with the available bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        let (portion, writer) = state.withLock { state -> (Portion, CheckedContinuation<Void, Never>?) in
            guard state.failure == nil else { return (.failed, nil) }
            let count = state.copy(into: buffer)
            let writer = state.bytes < Self.highWater / 2 ? state.takeWriter() : nil
            guard count == 0 else { return (.bytes(count), writer) }
            if state.isEnded { return (.end, writer) }
            state.isStarved = true
            return (.nothingYet, writer)
        }
        writer?.resume()
        return portion
    }

    /// The error that ended the body.
    package var failure: LoadingError? { state.withLock { $0.failure } }

    /// Ends the pipe with the exchange; the next write throws.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.chunks.removeAll()
            return state.takeWriter()
        }?.resume()
    }
}

/// The error of a body that is longer or shorter than its request declared.
package struct BodyLengthMismatch: Error, CustomStringConvertible {
    package var declared: Int64
    package var written: Int64

    package var description: String { "\(written) bytes were written, \(declared) were declared" }
}
