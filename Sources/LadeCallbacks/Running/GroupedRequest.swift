/// Work that can be started and cancelled, runs for a while, and can be added to a ``RequestQueue``.
///
/// ``RequestHandle``, ``FirstPageHandle`` and ``PageHandle`` conform to it; custom types can too. All methods may be
/// called from any thread.
///
/// A custom type must keep itself alive while it is running, as these do. A request that is released without a report
/// of its end counts as running until the next request is added.
public protocol GroupedRequest: AnyObject, Sendable, CustomStringConvertible {
    /// Whether it is running.
    ///
    /// For the types of this module, Swift's `Observation` can also track it.
    var isRunning: Bool { get }

    /// Starts it; has no effect while it is running.
    func resume()

    /// Cancels it; afterwards it can be started again.
    func cancel()

    /// Reports every change of ``isRunning``, in order.
    ///
    /// - Parameter handler: Called synchronously on the thread that makes the change.
    /// - Returns: The observation; it ends when released, so keep it.
    func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation
}

extension GroupedRequest {
    /// Every change of ``isRunning`` from now on, in order; it ends when the task that reads it is cancelled.
    public var runningChanges: AsyncStream<Bool> {
        AsyncStream { continuation in
            let observation = observeRunning { continuation.yield($0) }
            // The reader of the changes keeps the request alive.
            continuation.onTermination = { [self] _ in
                withExtendedLifetime(self) { observation.cancel() }
            }
        }
    }

    /// The type, the subject, and whether it is running.
    func description(_ name: String, of subject: some CustomStringConvertible) -> String {
        "\(name) \(ObjectIdentifier(self).shortText): \(subject), \(isRunning ? "running" : "not running")"
    }
}

extension ObjectIdentifier {
    /// The identity in hexadecimal digits.
    var shortText: String { String(UInt(bitPattern: self), radix: 16) }
}
