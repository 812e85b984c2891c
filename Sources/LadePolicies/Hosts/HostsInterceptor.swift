#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Sends each attempt to the best address of its host, and learns from the result.
///
/// The request keeps its address: only `LadeCore.Request.destination` is set. `Host`, TLS name, certificate check,
/// credentials and keys stay those of the host. A request with a destination keeps it. The interceptor stands below the
/// retries, so that each attempt picks an address again.
public struct HostsInterceptor: Interceptor {
    /// The lists.
    public let directory: HostDirectory

    /// Makes the interceptor.
    public init(directory: HostDirectory) {
        self.directory = directory
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    public var observesScope: Bool { true }

    /// Picks an address, sends the request there and records the result.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !directory.isEmpty, request.destination == nil else { return try await next(request) }
        return try await sent(request, next)
    }

    private func sent(_ request: Request, _ next: Next) async throws(LoadingError) -> Response {
        guard let host = request.url.host().map(HostAddress.normal),
            let choice = directory.choose(host, at: next.call.time.now)
        else { return try await next(request) }
        do {
            let response = try await next(aim(request, host, at: choice.address, next.call))
            note(HostEvidence(response), choice, host, next.call)
            return response
        } catch {
            note(HostEvidence(error), choice, host, next.call)
            throw error
        }
    }

    private func aim(_ request: Request, _ host: String, at address: HostAddress, _ call: Call) -> Request {
        let isItself = address.host == host && (address.port == nil || address.port == Origin(request.url)?.port)
        guard !isItself else { return request }
        call.record(.hostChosen(host: host, address: address.description))
        var aimed = request
        guard address.isHostOfItsOwn, let url = Self.renamed(request.url, address) else {
            aimed.destination = .host(address.host, port: address.port)
            return aimed
        }
        aimed.url = url
        // The others were made for the other host; authorisers and cookies below use the new name. The list names the
        // host, so the body goes there.
        aimed.headers.remove("Host")
        aimed.headers.keepDescription(withBody: aimed.hasBody)
        return aimed
    }

    private static func renamed(_ url: URL, _ address: HostAddress) -> URL? {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        parts.host = address.host.contains(":") ? "[\(address.host)]" : address.host
        if let port = address.port { parts.port = port }
        return parts.url
    }

    private func note(_ evidence: HostEvidence, _ choice: HostDirectory.Choice, _ host: String, _ call: Call) {
        let jitter = evidence.isFailure ? call.random.unit() : 0
        let change = directory.note(evidence, of: choice, at: call.time.now, jitter: jitter)
        switch change {
        case .none:
            break
        case .marked(let reason, let duration):
            let address = choice.address.description
            call.record(.hostMarked(host: host, address: address, reason: reason, for: duration))
        case .recovered:
            call.record(.hostRecovered(host: host, address: choice.address.description))
        }
    }
}
