#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Sends the cookies of an account's jar and keeps what servers set; one link per account.
///
/// An account without cookies has no such link. It stands below the redirects, so that each hop sends and sets its own.
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
        let time = next.call.time
        var sent = request
        jar.add(to: &sent, at: time.date)
        let response = try await next(sent)
        // What comes from the cache set its cookies when it came from the network.
        guard response.source != .cache, response.headers.contains("Set-Cookie") else { return response }
        // The address that answered: a host list may have chosen a host of its own.
        if jar.take(response.headers, from: response.request.url, at: time.date) { jar.saveSoon(in: time) }
        return response
    }
}
