import Lade

/// The observation of a request or a queue, which reports when it starts and stops running; it ends when released.
public final class RunningObservation: Sendable {
    /// Whether it was running when the observation began; only later changes are reported.
    public let wasRunning: Bool
    private let onEnd: Locked<(@Sendable () -> Void)?>

    /// Makes an observation for a custom ``GroupedRequest``.
    ///
    /// - Parameters:
    ///   - wasRunning: Whether it was running when the observation began.
    ///   - onEnd: Called once, when the observation ends.
    public init(wasRunning: Bool, onEnd: @escaping @Sendable () -> Void) {
        self.wasRunning = wasRunning
        self.onEnd = Locked(onEnd)
    }

    deinit {
        cancel()
    }

    /// Ends the observation.
    ///
    /// A change that another thread is reporting at this moment may still arrive.
    public func cancel() {
        let end = onEnd.withLock { onEnd in
            defer { onEnd = nil }
            return onEnd
        }
        end?()
    }
}
