#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// The addresses of a host.
//
// An attempt that certainly was not processed at an address continues at the next one immediately. This is not a retry: it
// is not counted, has no delay and takes nothing from the retry budget. An attempt uses each address of the list at most
// once, within the deadline of its call; then the retry policy decides. Source: policies PL-34.
//
// The request keeps its address: only `LadeCore.Request.destination` is set. `Host`, TLS name, certificate check, credentials
// and keys stay the ones of the host. A request with a destination keeps it.
extension AttemptInterceptor {
    /// Picks an address, sends the request there and records the result; continues at the next address when the request
    /// certainly was not processed.
    ///
    /// - Throws: The error of the last address that was used.
    func addressed(
        _ request: Request,
        _ directory: HostDirectory,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        guard let host = request.url.host().map(HostDirectory.Address.normal),
            case (var choice, var used)? = Self.firstChoice(host, request, directory, next.call)
        else { return try await credited(request, next) }
        var request = request
        let body = request.watchBody()
        // The marks of this attempt. They stay when any address was reached; otherwise this machine has no network.
        var marked: [HostDirectory.Choice] = []
        while true {
            let aimed = Self.aim(request, host, at: choice.address, next.call)
            next.call.race?.use(choice.address.destination)
            let late = ChosenAddress(choice, host, besides: used, aimed, directory)
            var below = next
            below.call.lateChoices.append(late)
            do {
                let response = try await credited(aimed, below)
                note(HostEvidence(response), late.choice, host, directory, next.call)
                return response
            } catch {
                choice = late.choice
                let isMarked = note(HostEvidence(error), choice, host, directory, next.call)
                used.append(choice.address)
                if FailureKind(error).isUnsent {
                    if isMarked { marked.append(choice) }
                } else if !error.isCancellation {
                    marked = []
                }
                guard FailureKind.movesOn(error), body?.isTouched != true, next.call.hasTimeLeft,
                    let other = directory.choose(host, at: next.call.time.now, besides: used, Origin(request.url)?.port)
                else {
                    for choice in marked where FailureKind(error).isUnsent {
                        retract(choice, host, directory, next.call)
                    }
                    throw error
                }
                next.call.record(
                    .hostMoved(host: host, from: choice.address.description, to: other.address.description)
                )
                choice = other
            }
        }
    }

    /// Sends a request with the credentials of its address.
    @inline(__always)
    private func credited(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        guard let first = firstClaiming(request) else { return try await next(request) }
        return try await authorised(request, from: first, next)
    }

    /// The address that an exchange begins with, and the addresses that it does not use.
    ///
    /// A hedge begins with an address that the exchange before it does not use, where the list has one.
    private static func firstChoice(
        _ host: String,
        _ request: Request,
        _ directory: HostDirectory,
        _ call: Call
    ) -> (HostDirectory.Choice, besides: [HostDirectory.Address])? {
        if let used = call.race?.destinations.compactMap(HostDirectory.Address.init), !used.isEmpty,
            let other = directory.alternative(host, at: call.time.now, besides: used, Origin(request.url)?.port)
        {
            return (other, used)
        }
        return directory.choose(host, at: call.time.now).map { ($0, []) }
    }

    fileprivate static func aim(_ request: Request, _ host: String, at address: HostDirectory.Address, _ call: Call)
        -> Request
    {
        guard !address.isItself(host, Origin(request.url)?.port) else { return request }
        call.record(.hostChosen(host: host, address: address.description))
        var aimed = request
        guard address.isHostOfItsOwn, let url = Self.renamed(request.url, address) else {
            aimed.destination = address.destination
            return aimed
        }
        aimed.url = url
        // Other fields were made for the original host; authorisers and cookies below use the new name. The list names the
        // host, so the body goes there.
        aimed.headers.remove("Host")
        aimed.headers.keepDescription(withBody: aimed.hasBody)
        return aimed
    }

    private static func renamed(_ url: URL, _ address: HostDirectory.Address) -> URL? {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        parts.host = address.host.contains(":") ? "[\(address.host)]" : address.host
        if let port = address.port { parts.port = port }
        return parts.url
    }

    /// Takes back a mark that only says that this machine reached no address.
    private func retract(
        _ choice: HostDirectory.Choice,
        _ host: String,
        _ directory: HostDirectory,
        _ call: Call
    ) {
        guard directory.retract(choice, at: call.time.now) else { return }
        call.record(.hostRecovered(host: host, address: choice.address.description))
    }

    /// Records the meaning of a result for an address; returns whether the address was marked.
    @discardableResult
    private func note(
        _ evidence: HostEvidence,
        _ choice: HostDirectory.Choice,
        _ host: String,
        _ directory: HostDirectory,
        _ call: Call
    ) -> Bool {
        let jitter = evidence.isFailure ? call.random.unit() : 0
        let change = directory.note(evidence, of: choice, at: call.time.now, jitter: jitter)
        switch change {
        case .none:
            return false
        case .marked(let reason, let duration):
            let address = choice.address.description
            call.record(.hostMarked(host: host, address: address, reason: reason, for: duration))
            return true
        case .recovered:
            call.record(.hostRecovered(host: host, address: choice.address.description))
            return false
        }
    }
}

/// The address of one exchange, which the interceptor that waits last checks again.
private final class ChosenAddress: LateChoice {
    private let host: String
    private let used: [HostDirectory.Address]
    private let aimed: Request
    private let directory: HostDirectory
    private let state: Locked<HostDirectory.Choice>

    init(
        _ choice: HostDirectory.Choice,
        _ host: String,
        besides used: [HostDirectory.Address],
        _ aimed: Request,
        _ directory: HostDirectory
    ) {
        (self.host, self.used, self.aimed, self.directory) = (host, used, aimed, directory)
        state = Locked(choice)
    }

    /// The address that is used.
    var choice: HostDirectory.Choice { state.withLock(\.self) }

    /// Aims at another address when the chosen one was marked meanwhile.
    func checked(_ request: Request, _ call: Call) -> Request? {
        let port = Origin(request.url)?.port
        // An address that is a host of its own has changed the request. Credentials for this machine must not go to another
        // machine. An interceptor below may send a request of its own.
        guard request.destination == aimed.destination, request.url.host().map(HostDirectory.Address.normal) == host,
            request.parts.scheme == .https || request.destination != nil || NormalHost(host)?.isLoopback != true,
            let other = directory.replacement(of: choice, host, at: call.time.now, besides: used, port)
        else { return request }
        state.withLock { $0 = other }
        call.race?.use(other.address.destination)
        var request = request
        request.destination = nil
        return AttemptInterceptor.aim(request, host, at: other.address, call)
    }

    func chosenAgain(_ request: Request, _ call: Call) async throws(LoadingError) -> Request { request }
}

extension HostDirectory.Address {
    /// Where a connection to it goes.
    fileprivate var destination: Request.Destination { .host(host, port: port) }

    /// The address that a connection goes to; nil for a socket.
    fileprivate init?(_ destination: Request.Destination) {
        guard case .host(let host, let port) = destination else { return nil }
        self.init(host, port: port)
    }

    /// Whether it is the host itself, at the port of the request.
    fileprivate func isItself(_ host: String, _ requestPort: Int?) -> Bool {
        self.host == host && (port == nil || port == requestPort)
    }
}

extension Call {
    /// Whether the deadline has not passed.
    fileprivate var hasTimeLeft: Bool { deadline.map { time.now < $0 } ?? true }
}
