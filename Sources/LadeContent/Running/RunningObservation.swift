import LadeCore

/// Somebody being told when a request or a queue starts and stops running; letting go of it ends that.
public final class RunningObservation: Sendable {
    /// Whether it ran when the observation began; what is told are the changes after that.
    public let wasRunning: Bool
    private let onEnd: Locked<(@Sendable () -> Void)?>

    /// Makes an observation for a ``GroupedRequest`` of your own.
    ///
    /// - Parameters:
    ///   - wasRunning: Whether it ran when the observation began.
    ///   - onEnd: Called once, when the observation ends.
    public init(wasRunning: Bool, onEnd: @escaping @Sendable () -> Void) {
        self.wasRunning = wasRunning
        self.onEnd = Locked(onEnd)
    }

    deinit {
        cancel()
    }

    /// Ends the observation; what another thread is telling at this moment may still arrive.
    public func cancel() {
        let end = onEnd.withLock { onEnd in
            defer { onEnd = nil }
            return onEnd
        }
        end?()
    }
}
