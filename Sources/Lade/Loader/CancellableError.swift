import LadeCore

/// An error that may stand for a cancellation, which is an outcome and not a failure.
package protocol CancellableError: Error {
    /// Whether it stands for a cancellation.
    var isCancellation: Bool { get }
}

extension LoadingError: CancellableError {}

extension PageError: CancellableError {}
