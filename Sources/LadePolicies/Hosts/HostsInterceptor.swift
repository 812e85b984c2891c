#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Sends each attempt to the best address of its host, and learns from the result.
///
/// An attempt that certainly was not processed at an address continues at the next one immediately. This is not a retry: it
/// is not counted, has no delay and takes nothing from the retry budget. An attempt uses each address of the list at most
/// once, within the deadline of its call; then the retry policy decides. Source: policies PL-34.
///
/// The request keeps its address: only `LadeCore.Request.destination` is set. `Host`, TLS name, certificate check,
/// credentials and keys stay those of the host. A request with a destination keeps it. The interceptor stands below the
/// retries, so that each attempt picks an address again.
package struct HostsInterceptor: Interceptor {
    /// The lists.
    package let directory: HostDirectory

    /// Makes the interceptor.
    package init(directory: HostDirectory) {
        self.directory = directory
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Empty: it changes the address, and `Host` with it.
    package var changedFields: [String]? { [] }

    /// Picks an address, sends the request there and records the result; goes on to the next address when the request
    /// certainly was not processed.
    ///
    /// - Throws: The error of the last address that was used.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !directory.isEmpty, request.destination == nil else { return try await next(request) }
        return try await sent(request, next)
    }

    private func sent(_ request: Request, _ next: Next) async throws(LoadingError) -> Response {
        guard let host = request.url.host().map(HostAddress.normal),
            var choice = directory.choose(host, at: next.call.time.now)
        else { return try await next(request) }
        var request = request
        let body = request.watchBody()
        var used: [HostAddress] = []
        while true {
            request.hasOtherAddresses = directory.addresses(for: host).count > used.count + 1
            do {
                let response = try await next(aim(request, host, at: choice.address, next.call))
                note(HostEvidence(response), choice, host, next.call)
                return response
            } catch {
                note(HostEvidence(error), choice, host, next.call)
                used.append(choice.address)
                guard FailureKind.movesOn(error), body?.isTouched != true, next.call.hasTimeLeft,
                    let other = directory.choose(host, at: next.call.time.now, besides: used, Origin(request.url)?.port)
                else { throw error }
                next.call.record(
                    .hostMoved(host: host, from: choice.address.description, to: other.address.description)
                )
                choice = other
            }
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

extension Call {
    /// Whether the deadline has not passed.
    fileprivate var hasTimeLeft: Bool { deadline.map { time.now < $0 } ?? true }
}

private enum OtherAddressesTag: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Whether the attempt can continue at another address if nothing is sent to this one.
    var hasOtherAddresses: Bool {
        get { self[OtherAddressesTag.self] }
        set { self[OtherAddressesTag.self] = newValue }
    }
}
