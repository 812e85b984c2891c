import Dispatch

/// Runs checks of certificates off the queue of the session's callbacks.
///
/// A check may wait for the network, for example for the response about a revocation. It delays neither the callbacks of
/// other exchanges nor their checks.
struct TrustQueue: Sendable {
    private let queue = DispatchQueue(label: "LadeURLSession.trust", attributes: .concurrent)

    /// Starts a check and returns immediately.
    func check(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }
}
