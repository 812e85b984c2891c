import LadeCore

/// The tokens of an endpoint that replaces a refresh token with each use.
///
/// A second use of a refresh token ends its sign-in, because the server cannot tell the app from a thief. Every token of the
/// sign-in is revoked (RFC 9700 §4.14.2).
struct IssuedTokens: Sendable {
    typealias Pair = (access: String, refresh: String)

    private struct Refresh {
        var signIn: Int
        var isUsed = false
    }

    private struct Access {
        var signIn: Int
        var end: Instant
    }

    private var refreshes: [String: Refresh] = [:]
    private var accesses: [String: Access] = [:]
    /// The pairs of tokens that were issued.
    private(set) var issued = 0
    /// The refresh tokens that were used a second time.
    private(set) var reused = 0

    /// Whether an access token is valid.
    func accepts(_ access: String, at now: Instant) -> Bool { accesses[access].map { now < $0.end } ?? false }

    /// Issues the first tokens of a sign-in.
    mutating func signIn(until end: Instant, at now: Instant) -> Pair {
        issue(of: issued + 1, until: end, at: now)
    }

    /// Replaces a refresh token; nil when it is unknown, revoked, or used a second time.
    mutating func replace(_ refresh: String, until end: Instant, at now: Instant) -> Pair? {
        guard let found = refreshes[refresh] else { return nil }
        guard !found.isUsed else {
            reused += 1
            refreshes = refreshes.filter { $0.value.signIn != found.signIn }
            accesses = accesses.filter { $0.value.signIn != found.signIn }
            return nil
        }
        refreshes[refresh]?.isUsed = true
        return issue(of: found.signIn, until: end, at: now)
    }

    /// Ends all access tokens.
    mutating func expire() { accesses = [:] }

    private mutating func issue(of signIn: Int, until end: Instant, at now: Instant) -> Pair {
        issued += 1
        accesses = accesses.filter { now < $0.value.end }
        let pair = ("access-\(issued)", "refresh-\(issued)")
        accesses[pair.0] = Access(signIn: signIn, end: end)
        refreshes[pair.1] = Refresh(signIn: signIn)
        return pair
    }
}
