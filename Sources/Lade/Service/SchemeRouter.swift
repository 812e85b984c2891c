#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests of some schemes to specific transports, and all others to a default one.
package struct SchemeRouter: Transport {
    private let transports: [String: any Transport]
    private let otherwise: any Transport

    /// Makes a router.
    ///
    /// - Parameters:
    ///   - transports: The transports by scheme; case does not matter.
    ///   - otherwise: The transport for every other request.
    package init(_ transports: [String: any Transport], otherwise: any Transport) {
        self.transports = Dictionary(transports.map { ($0.lowercased(), $1) }) { first, _ in first }
        self.otherwise = otherwise
    }

    /// True: only requests to a transport that observes its task run in a child task.
    ///
    /// The child task is cancelled with the call's scope, and 100 ms after its deadline.
    package var observesScope: Bool { true }
    /// Whether all transports collect bodies.
    package var collectsBodies: Bool { otherwise.collectsBodies && transports.values.allSatisfy(\.collectsBodies) }

    /// Sends the request with the transport for its scheme.
    package func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        let transport = request.url.scheme.flatMap { transports[$0.lowercased()] } ?? otherwise
        guard !transport.observesScope else { return try await transport.send(request, call: call) }
        return try await sendInTask(request, call, transport)
    }

    // A separate function: a waiting call keeps the frames of its callers, and this case is rare.
    @inline(never)
    private func sendInTask(
        _ request: Request,
        _ call: Call,
        _ transport: any Transport
    ) async throws(LoadingError) -> Response {
        try await call.untilDeadline { (call) async throws(LoadingError) in
            try await transport.send(request, call: call)
        }
    }
}
