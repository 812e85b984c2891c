#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// Proves the possession of a password without sending it (RFC 7616): MD5 and SHA-256, `-sess`, `qop=auth`, `userhash`,
    /// UTF-8.
    ///
    /// The first request is sent without credentials. The replay responds to the server's challenge. The challenge is
    /// remembered per origin, so that later requests respond to it immediately. If there are several challenges, the one
    /// with the strongest hash counts. A challenge whose nonce has expired is followed by another response, up to three for
    /// one exchange; no nonce is used twice (RFC 7616 §3.3).
    public final class Digest: ChallengeAnswering {
        private struct Session {
            var challenge: DigestChallenge
            var version: Int
            var count = 0
            /// The client's nonce in the first request of the session.
            ///
            /// The key of a `-sess` algorithm is derived from it.
            ///
            /// All requests of such a session send the same client nonce. It is then right both for servers that keep the
            /// first key and for servers that compute the key for each request (RFC 7616 §3.4.2).
            var clientNonce: String?
        }

        /// The name in events and errors; `Digest` by default.
        public let identifier: String
        private let user: String
        private let password: Secret
        private let scope: Authorisation.Scope
        private let sessions = Locked<[Origin: Session]>([:])

        /// Makes an authoriser.
        ///
        /// - Parameters:
        ///   - user: The user name.
        ///   - password: The password; it is never sent.
        ///   - scope: Where the proof may be sent.
        ///   - identifier: The name in events and errors.
        public init(user: String, password: Secret, scope: Authorisation.Scope, identifier: String = "Digest") {
            self.identifier = identifier
            self.user = user
            self.password = password
            self.scope = scope
        }

        /// True: it waits for nothing.
        public var observesScope: Bool { true }

        /// User name and password.
        public var owner: Authorisation.Owner? { Authorisation.Owner([Secret(user), password]) }

        /// `Authorization`.
        public var changedFields: [String] { ["Authorization"] }

        /// Whether the scope of the proof contains the request.
        public func claims(_ request: Request) -> Bool { scope.contains(request) }

        /// Adds `Authorization` when a challenge of the origin is known.
        public func authorise(
            _ request: Request,
            in context: Authorisation.Context
        ) async throws(LoadingError) -> Request {
            try scope.check(request, for: identifier)
            return proved(request, context.call.random)
        }

        /// Responds to a challenge that came meanwhile, and counts anew when another request was counted since.
        ///
        /// The counts of a nonce reach the server in ascending order.
        public func renewed(_ request: Request, in context: Authorisation.Context) -> Request? {
            guard let origin = Origin(request.url), let session = sessions.withLock({ $0[origin] }) else {
                return request
            }
            let isNewest =
                request.credentialVersion(of: identifier) == session.version
                && request[ProofCount.self] == session.count
            return isNewest ? request : proved(request, context.call.random)
        }

        private func proved(_ request: Request, _ random: any RandomSource) -> Request {
            guard let origin = Origin(request.url) else { return request }
            let fresh = [random.next(), random.next()].map { String($0, radix: 16) }.joined()
            let session: Session? = sessions.withLock { sessions in
                // The server detects replays by the count: no two requests may have the same.
                sessions[origin]?.count += 1
                if sessions[origin]?.challenge.algorithm.isSession == true, sessions[origin]?.clientNonce == nil {
                    sessions[origin]?.clientNonce = fresh
                }
                return sessions[origin]
            }
            guard let session else { return request }
            var request = request
            request.headers.set(
                "Authorization",
                secret: session.challenge.answer(
                    user: user,
                    password: password,
                    method: request.method,
                    target: Self.target(of: request.url),
                    count: session.count,
                    clientNonce: session.clientNonce ?? fresh
                )
            )
            request.setCredentialVersion(session.version, of: identifier)
            request[ProofCount.self] = session.count
            request.answeredNonces.insert(session.challenge.nonce)
            return request
        }

        /// Remembers the challenge.
        ///
        /// Returns true unless this password was refused.
        public func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
            guard let origin = Origin(request.url), let challenge = DigestChallenge.best(in: response.headers) else {
                return false
            }
            let answered = request.credentialVersion(of: identifier)
            let nonces = request.answeredNonces
            return sessions.withLock { sessions in
                let known = sessions[origin]
                if let known, let answered, answered < known.version, !nonces.contains(known.challenge.nonce) {
                    return true
                }
                let isFirst = answered == nil
                // A nonce that was accepted before has expired, though some servers do not mark the challenge as stale.
                let hasServed = (known?.count ?? 0) > 1 && challenge.nonce != known?.challenge.nonce
                guard !nonces.contains(challenge.nonce),
                    isFirst || challenge.isStale || hasServed || challenge.realm != known?.challenge.realm
                else {
                    // The challenge was right and the proof wrong: the next response would be the same.
                    sessions[origin] = nil
                    return false
                }
                // Other requests may have been challenged at the same time: their nonce is as good.
                if isFirst, let known, known.challenge.realm == challenge.realm, !challenge.isStale,
                    !nonces.contains(known.challenge.nonce)
                {
                    return true
                }
                sessions[origin] = Session(challenge: challenge, version: (known?.version ?? 0) + 1)
                return true
            }
        }

        /// Forgets the challenges.
        public func forget() { sessions.withLock { $0.removeAll() } }

        /// Path and query as they are sent.
        private static func target(of url: URL) -> String {
            let path = url.path(percentEncoded: true)
            return (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
        }
    }
}

/// The count of the nonce in the proof of a request.
private enum ProofCount: Request.Tag {
    static let defaultValue = 0
}

extension Authorisation.Digest: CustomStringConvertible, CustomReflectable {
    /// The name in events and errors.
    public var description: String { identifier }

    /// A mirror that shows neither password nor challenges.
    public var customMirror: Mirror { Mirror(self, children: ["identifier": identifier]) }
}
