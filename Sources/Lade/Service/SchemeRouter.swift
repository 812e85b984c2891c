#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests of some schemes to transports of their own, and the others where they went before.
public struct SchemeRouter: Transport {
    private let transports: [String: any Transport]
    private let otherwise: any Transport

    /// Makes a router.
    ///
    /// - Parameters:
    ///   - transports: The transports by scheme; case does not matter.
    ///   - otherwise: Where every other request goes.
    public init(_ transports: [String: any Transport], otherwise: any Transport) {
        self.transports = Dictionary(transports.map { ($0.lowercased(), $1) }) { first, _ in first }
        self.otherwise = otherwise
    }

    /// True: what goes to a transport that looks at its task alone has one of its own, and nothing else has.
    public var observesScope: Bool { true }

    /// Sends the request by the transport of its scheme.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        let transport = request.url.scheme.flatMap { transports[$0.lowercased()] } ?? otherwise
        guard call.scope != nil, !transport.observesScope else { return try await transport.send(request, call: call) }
        return try await sendInTask(request, call, transport)
    }

    // A function of its own: a call keeps the frames of those that wait for its answer, and this one is rare.
    @inline(never)
    private func sendInTask(
        _ request: Request,
        _ call: Call,
        _ transport: any Transport
    ) async throws(LoadingError) -> Response {
        try await call.inTask { (call) async throws(LoadingError) in try await transport.send(request, call: call) }
    }
}
