#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Sends the cookies of an account's jar and keeps what servers set; one link per account.
///
/// An account without cookies has no such link. It stands below every link that sends a request again, so that each
/// exchange sends what the one before it set: redirects, retries and replays after a refusal included.
/// Source: policies PL-51.
public struct CookieInterceptor: Interceptor {
    /// The cookies.
    public let jar: CookieJar

    /// Makes the link for one account's jar.
    public init(jar: CookieJar) {
        self.jar = jar
    }

    /// True: a call that is given up ends here as a cancelled task does.
    public var observesScope: Bool { true }

    /// Adds `Cookie` on the way out and reads `Set-Cookie` on the way in.
    ///
    /// A `Cookie` field of the caller's own stays; of a name in both, the caller's wins. The file is
    /// written within a second and not while the call waits. One that cannot be written does not fail a call: the jar keeps
    /// what it has, and the next change or ``CookieJar/save()`` tries again.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !request.leavesCookiesAlone else { return try await next(request) }
        var sent = request
        jar.add(to: &sent, at: next.call.time.date)
        do throws(LoadingError) {
            let response = try await next(sent)
            // What comes from the cache set its cookies when it came from the network.
            if response.source != .cache, response.headers.contains("Set-Cookie") {
                store(response.headers, of: sent, next.call)
            }
            return response
        } catch {
            // A head may have arrived before its body failed.
            if error.context.headers.contains("Set-Cookie") { store(error.context.headers, of: sent, next.call) }
            throw error
        }
    }

    // A function of its own: an interceptor waits for all below it, and every waiting call keeps its frame.
    @inline(never)
    private func store(_ headers: Headers, of request: Request, _ call: Call) {
        if jar.take(headers, from: request.url, at: call.time.date) { jar.saveSoon(in: call.time) }
    }
}

private enum CookielessTag: RequestTag {
    static let defaultValue = false
}

extension Request {
    /// Whether the cookies of the account are neither sent with the request nor stored from its answer.
    ///
    /// Set for what authorisers send: a token endpoint gets the client's own credentials and nothing of the user's session.
    var leavesCookiesAlone: Bool {
        get { self[CookielessTag.self] }
        set { self[CookielessTag.self] = newValue }
    }
}
