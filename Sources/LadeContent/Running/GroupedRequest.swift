/// Something that can be started and cancelled, runs for a while, and can be added to a ``RequestQueue``.
///
/// ``RequestHandle``, ``FirstPageHandle`` and ``PageHandle`` are; work of your own can be too. Everything may be called
/// from any thread.
public protocol GroupedRequest: AnyObject, Sendable, CustomStringConvertible {
    /// Whether it runs now.
    ///
    /// Those of this module can also be tracked with Swift's `Observation`.
    var isRunning: Bool { get }

    /// Starts it; does nothing while it runs.
    func resume()

    /// Ends it; afterwards it can be started again.
    func cancel()

    /// Tells every change of ``isRunning``, in order.
    ///
    /// - Parameter handler: Called synchronously where the change is made, on any thread.
    /// - Returns: What ends the observation; keep it.
    func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation
}

extension GroupedRequest {
    /// Every change of ``isRunning`` from now on, in order; it ends when the task that reads it is cancelled.
    public var runningChanges: AsyncStream<Bool> {
        AsyncStream { continuation in
            let observation = observeRunning { continuation.yield($0) }
            // Who waits for the changes of a request keeps it.
            continuation.onTermination = { [self] _ in
                withExtendedLifetime(self) { observation.cancel() }
            }
        }
    }

    /// What a handle is, what it asks for, and whether it runs.
    func description(_ name: String, of subject: some CustomStringConvertible) -> String {
        "\(name) \(ObjectIdentifier(self).shortText): \(subject), \(isRunning ? "running" : "not running")"
    }
}

extension ObjectIdentifier {
    /// The identity in hexadecimal digits.
    var shortText: String { String(UInt(bitPattern: self), radix: 16) }
}
