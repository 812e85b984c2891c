/// The streamed bodies with bytes that a turn publishes when it settles, or a later one.
package struct Publications {
    // Owned by the loop, as the streams' marks are.
    private var streams: [BodyStream] = []
    /// When bytes that were kept must be published, in nanoseconds of the monotonic clock.
    package private(set) var due = Int64.max

    package init() {}

    /// Publishes the bytes appended to the body of an exchange when the turn settles.
    package mutating func mark(_ exchange: Exchange) {
        guard let stream = exchange.stream, !stream.isMarked else { return }
        stream.isMarked = true
        streams.append(stream)
    }

    /// Publishes all bytes that need not wait for others.
    ///
    /// - Parameters:
    ///   - now: The time of the turn.
    ///   - resume: Called with each waiting reader.
    package mutating func publish(now: Int64, _ resume: (LoopWaiter) -> Void) {
        guard !streams.isEmpty else { return }
        due = .max
        streams.removeAll { stream in
            if let time = stream.dueTime(now: now) {
                due = min(due, time)
                return false
            }
            stream.isMarked = false
            if let waiter = stream.publish(now: now) { resume(waiter) }
            return true
        }
    }
}
