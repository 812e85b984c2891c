#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Sends the cookies of an account's jar and stores those that servers set; one interceptor per account.
///
/// An account without cookies has no such interceptor. It stands below every interceptor that sends requests again, so
/// that each exchange sends the cookies that the one before it set: redirects, retries and replays included.
package struct CookieInterceptor: Interceptor {
    /// The cookies.
    package let jar: CookieJar

    /// Makes the interceptor for one account's jar.
    package init(jar: CookieJar) {
        self.jar = jar
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// `Cookie`.
    package var changedFields: [String]? { ["Cookie"] }

    /// Adds `Cookie` to the request and reads `Set-Cookie` of the response.
    ///
    /// A `Cookie` field of the caller stays; where both have a cookie of the same name, the caller's is sent. The file
    /// is written within a second, and the call does not wait for it. A file that cannot be written does not fail a
    /// call: the jar keeps its cookies, and the next change or ``CookieJar/save()`` tries again.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !request.hasTags || !request.leavesCookiesAlone else { return try await next(request) }
        var sent = request
        jar.add(to: &sent, at: next.call.time.date)
        do throws(LoadingError) {
            let response = try await next(sent)
            // A response from the cache set its cookies when it came from the network.
            if response.headers.contains("Set-Cookie"), response.source != .cache {
                store(response.headers, of: sent, next.call)
            }
            return response
        } catch {
            // The head may have arrived before the body failed.
            if error.context.headers.contains("Set-Cookie") { store(error.context.headers, of: sent, next.call) }
            throw error
        }
    }

    // A separate function: an interceptor waits for everything below it, and every waiting call keeps its frame.
    @inline(never)
    private func store(_ headers: Headers, of request: Request, _ call: Call) {
        if jar.take(headers, from: request.url, at: call.time.date) { jar.saveSoon(in: call.time) }
    }
}

private enum CookielessTag: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Whether the request carries no cookies of the account, and none are stored from its response.
    ///
    /// Set for requests of authorisers: a token endpoint receives the client's credentials and nothing of the user's
    /// session.
    var leavesCookiesAlone: Bool {
        get { self[CookielessTag.self] }
        set { self[CookielessTag.self] = newValue }
    }
}
