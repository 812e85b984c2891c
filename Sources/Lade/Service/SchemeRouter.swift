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

    /// True when all of its transports do.
    public var observesScope: Bool { otherwise.observesScope && transports.values.allSatisfy(\.observesScope) }

    /// Sends the request by the transport of its scheme.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        guard let scheme = request.url.scheme?.lowercased(), let transport = transports[scheme] else {
            return try await otherwise.send(request, call: call)
        }
        return try await transport.send(request, call: call)
    }
}
