import LadeCore

/// Gives each of its subscribers every element, in order.
///
/// An `AsyncStream` with two consumers splits its elements between them, so each subscriber has a separate stream. One
/// lock guards the list of subscribers; elements are delivered outside of it, by one caller at a time.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var subscribers: [(id: UInt64, continuation: AsyncStream<Element>.Continuation)] = []
        var lastID: UInt64 = 0
        var isFinished = false
    }

    private let state = Locked(State())

    /// A stream that begins with the given elements and ends with the broadcast, and with the task of its reader.
    func subscribe(
        beginningWith first: [Element] = [],
        buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
        for element in first { continuation.yield(element) }
        let id = state.withLock { state -> UInt64? in
            guard !state.isFinished else { return nil }
            state.lastID += 1
            state.subscribers.append((state.lastID, continuation))
            return state.lastID
        }
        guard let id else {
            continuation.finish()
            return stream.endingWithTask
        }
        continuation.onTermination = { [weak self] _ in
            self?.remove(id)
        }
        return stream.endingWithTask
    }

    func send(_ element: Element) {
        for subscriber in state.withLock({ $0.subscribers }) { subscriber.continuation.yield(element) }
    }

    /// Ends every stream, including those subscribed later.
    func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers = [] }
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.continuation.finish() }
    }

    private func remove(_ id: UInt64) {
        state.withLock { state in state.subscribers.removeAll { $0.id == id } }
    }
}
