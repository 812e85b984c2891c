#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeFields

/// The user name and the password of `--user` for a scheme that begins with the server's challenge.
struct UserCredentials: Sendable {
    /// How a password is proved.
    enum Scheme: Equatable, Sendable {
        /// The password itself, with the first request.
        case basic
        /// A digest of the server's challenge.
        case digest
        /// The safest of the schemes that the server offers.
        case best
    }

    var scheme: Scheme
    var user: String
    var password: Secret

    /// Splits `user:password`.
    init(_ scheme: Scheme, pair: String) {
        self.scheme = scheme
        let parts = pair.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        user = String(decoding: parts[0], as: UTF8.self)
        password = Secret(parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "")
    }

    /// The authoriser for the origin of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - trustsEveryOrigin: Whether the password goes to the hosts of redirects too.
    ///   - secrets: Receives the password.
    /// - Returns: The authoriser.
    /// - Throws: A usage error when the credentials cannot be sent to the address.
    func authoriser(
        for request: Request,
        trustsEveryOrigin: Bool,
        hiding secrets: SecretMask
    ) throws(CommandError) -> any Authoriser {
        secrets.add([password])
        var scope = Authorisation.Scope(origins: [Origin(request.url)].compactMap(\.self))
        // The address was typed beside the password.
        scope.allowsInsecure = true
        if trustsEveryOrigin { scope.containsEveryOrigin = true }
        let digest = Authorisation.Digest(user: user, password: password, scope: scope)
        guard scheme == .best else { return digest }
        return try CommandError.translating { [user, password, scope] () throws(LoadingError) in
            ChallengedAuthoriser(digest, try Authorisation.Basic(user: user, password: password, scope: scope))
        }
    }
}

/// Sends nothing until the server asks, and then the digest, or the password where it accepts nothing else.
private final class ChallengedAuthoriser: ChallengeAnswering {
    private let digest: Authorisation.Digest
    private let basic: Authorisation.Basic
    private let usesBasic = Locked(false)
    let identifier = "anyauth"

    /// User name and password.
    var owner: Authorisation.Owner? { digest.owner }

    /// `Authorization`.
    var changedFields: [String] { basic.changedFields }

    init(_ digest: Authorisation.Digest, _ basic: Authorisation.Basic) {
        self.digest = digest
        self.basic = basic
    }

    func claims(_ request: Request) -> Bool { digest.claims(request) }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
        if usesBasic.withLock(\.self) { return try await basic.authorise(request, in: context) }
        return try await digest.authorise(request, in: context)
    }

    func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
        guard !usesBasic.withLock(\.self) else { return false }
        if digest.wasRefused(request, by: response, in: context) { return true }
        let offersBasic = AuthenticationChallenge.all(in: response.headers).contains { $0.scheme == "basic" }
        guard offersBasic, !request.headers.contains("Authorization") else { return false }
        usesBasic.withLock { $0 = true }
        return true
    }
}
