/// A choice for a request that is made above a wait and must be right when the request is sent: credentials, an address.
///
/// An interceptor that chooses adds it to `Call.lateChoices` for the interceptors below. The interceptor that waits last checks
/// every choice when its wait is over. It travels with the call and never with the request, so that no response carries it to
/// another call.
package protocol LateChoice: Sendable {
    /// The request with the values that are right now, found without waiting; the same request when nothing has changed.
    ///
    /// - Returns: The request to send; nil when the choice cannot be used any more and another one needs a wait.
    func checked(_ request: Request, _ call: Call) -> Request?

    /// The request with another choice, for which it may wait.
    func chosenAgain(_ request: Request, _ call: Call) async throws(LoadingError) -> Request
}
