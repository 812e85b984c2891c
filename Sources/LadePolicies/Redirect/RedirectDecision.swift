#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// The decision about a response that may be a redirect (RFC 9110 §15.4).
package enum RedirectDecision: Sendable {
    /// It is the response of the call.
    case deliver
    /// Send this request instead; `isRepeat` says that its address was requested before in this call.
    case follow(Request, isRepeat: Bool)
    /// Fail the call.
    case refuse(LoadingError.RedirectCause)
}

/// The redirects of one call: what was requested, and where each response leads.
///
/// | status | POST becomes | others |
/// | --- | --- | --- |
/// | 301, 302 | GET without body | stay |
/// | 303 | GET without body | GET without body; GET and HEAD stay |
/// | 307, 308 | POST with its body | stay |
package struct RedirectTrail {
    private let policy: RedirectPolicy
    private var hops = 0
    /// Method and address, without fragment, of every request since a server last set a cookie.
    private var asked: Set<String> = []
    /// The same count since the start of the call.
    private var everAsked: Set<String> = []

    /// Begins a trail.
    package init(_ policy: RedirectPolicy) { self.policy = policy }

    /// Decides about one response to one request.
    package mutating func decide(_ status: Response.Status, _ headers: Headers, to request: Request) -> RedirectDecision
    {
        guard Self.isRedirect(status) else { return .deliver }
        let location = headers.reading(.location)
        // An empty `Location` names no other address.
        if case .one(let field) = location, field.value.isEmpty { return .deliver }
        let limit = request.redirectLimit ?? policy.limit
        guard location != .none, limit > 0 else { return .deliver }
        guard hops < limit else { return .refuse(.tooMany(limit: limit)) }
        // Servers and proxies differ in which of two addresses they mean, so none is followed.
        guard case .one(let field) = location, let target = Self.target(field.octets, from: request.url) else {
            return .refuse(.invalidTarget(Self.shown(location, request)))
        }
        if let fault = fault(of: target, from: request) { return .refuse(fault) }
        let next = makeRequest(target, status, request)
        guard next.canRepeatBody else { return .refuse(.bodyNotReplayable) }
        if next.hasBody, !policy.mayReceiveBody(target, from: request.url) {
            return .refuse(.bodyToOtherOrigin(url: Redaction(next).address(target.absoluteString)))
        }

        // Many servers test cookies with an address that sets one and redirects to itself.
        if headers.contains("Set-Cookie") { asked.removeAll() } else { note(request) }
        let key = Self.key(next)
        guard policy.followsLoops || !asked.contains(key) else {
            return .refuse(.loop(url: Redaction(next).address(target.absoluteString)))
        }
        hops += 1
        everAsked.insert(Self.key(request))
        return .follow(next, isRepeat: everAsked.contains(key))
    }

    /// The target of a redirect that cannot be followed, as an error may show it.
    private static func shown(_ location: SingleField.Reading, _ request: Request) -> String {
        let fields: [Headers.Field] =
            switch location {
            case .none: []
            case .one(let field): [field]
            case .contradiction(let all): all
            }
        let redaction = Redaction(request)
        let texts = fields.map { field in
            // The query may contain a secret.
            let shown = field.octets.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            return redaction.unparsable(String(decoding: shown, as: UTF8.self))
        }
        return texts.joined(separator: " and ").escapedForDisplay(limit: 120)
    }

    private static func isRedirect(_ status: Response.Status) -> Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    private mutating func note(_ request: Request) { asked.insert(Self.key(request)) }

    private static func key(_ request: Request) -> String {
        "\(request.method) \(request.url.absoluteString.prefix { $0 != "#" })"
    }

    /// The target of a `Location`: resolved against the requested address, whose fragment it inherits (RFC 9110
    /// §10.2.2).
    static func target(_ location: some Sequence<UInt8>, from base: URL) -> URL? {
        guard let resolved = URL(reference: location, against: base) else { return nil }
        let text = resolved.absoluteString
        if text.utf8.contains(UInt8(ascii: "#")) { return resolved }
        guard let hash = base.absoluteString.utf8.firstIndex(of: UInt8(ascii: "#")) else { return resolved }
        return URL(string: text + base.absoluteString[hash...], encodingInvalidCharacters: false)
    }

    private func fault(of target: URL, from request: Request) -> LoadingError.RedirectCause? {
        let shown = Redaction(request).address(target.absoluteString)
        guard let origin = Origin(target), ["http", "https"].contains(origin.scheme),
            (1...65_535).contains(origin.port)
        else { return .invalidTarget(shown) }
        let asked = Origin(request.url)
        // A user name in an address from another party is an error (RFC 9110 §4.2.4): it usually disguises the host.
        guard !AddressParts(target.absoluteString).hasUserInformation else { return .invalidTarget(shown) }
        let wasSecure = asked?.isSecure == true
        return wasSecure && !origin.isSecure && !policy.allowsInsecure ? .insecure(url: shown) : nil
    }

    private func makeRequest(_ target: URL, _ status: Response.Status, _ request: Request) -> Request {
        let changesMethod =
            switch status.code {
            case _ where policy.keepsPost.contains(status): false
            case 301, 302: request.method == .post || policy.countsAsPost
            case 303: request.method != .get && request.method != .head
            default: false
            }
        var next = request
        if changesMethod {
            next.method = .get
            next.body = nil
            for name in Self.contentFields { next.headers.remove(name) }
        }
        next = next.moved(to: target, trusting: policy.credentialOrigins, orAll: policy.trustsAllOrigins)
        if policy.setsReferer { next.headers.set("Referer", Self.referer(request.url)) }
        return next
    }

    /// An address as `Referer` names it, without user information and fragment (RFC 9110 §10.1.3).
    private static func referer(_ url: URL) -> String {
        let address = url.absoluteString.prefix { $0 != "#" }
        guard let (scheme, rest) = address.cut(at: "://") else { return String(address) }
        let authority = rest.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return String(address) }
        return scheme + "://" + rest[authority.index(after: at)...]
    }

    /// The fields that describe a body which was removed (RFC 9110 §15.4).
    private static let contentFields = [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location", "Content-Digest",
        "Content-Disposition", "Content-Range", "Repr-Digest", "Digest", "Last-Modified", "Transfer-Encoding",
        "Expect", "Trailer",
    ]
}
