#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Keeps the refresh tokens with which a server replaces the user's.
///
/// The server often accepts the old token for the last time then.
///
/// They are kept in the session of the call, before the tokens are used. Without a session the user is warned, once, unless
/// the store of a fleet has them.
final class RefreshTokenKeeper: Sendable {
    private struct State {
        /// The token that the user gave; nil when only the session has one.
        var given: Secret?
        /// The token that the next refresh sends.
        var newest: Secret?
        var hasWarned = false
    }

    private let session: SessionFile?
    private let console: Console
    private let isShared: Bool
    private let state = Locked(State())

    init(session: SessionFile?, console: Console, isShared: Bool) {
        (self.session, self.console, self.isShared) = (session, console, isShared)
    }

    /// The token to use in place of the one that the user gave; nil without one.
    func newest(of settings: Authorisation.OAuth2.Settings, inPlaceOf given: Secret?) -> Secret? {
        let kept = session?.refreshToken(of: Self.client(settings), inPlaceOf: given)
        state.withLock { ($0.given, $0.newest) = (given, kept ?? given) }
        return kept
    }

    /// Receives the tokens of each refresh before they are used.
    func closure(for settings: Authorisation.OAuth2.Settings) -> @Sendable (Authorisation.OAuth2.Tokens) async -> Void {
        let client = Self.client(settings)
        return { [self] tokens in
            guard let token = tokens.refreshToken else { return }
            let (isNew, given) = state.withLock { state -> (Bool, Secret?) in
                guard let newest = state.newest, newest != token else { return (false, nil) }
                state.newest = token
                return (true, state.given)
            }
            guard isNew else { return }
            console.secrets.add([token])
            guard let session else {
                guard !isShared else { return }
                return warn("is kept nowhere, and the old one may not be accepted again", Self.advice)
            }
            let failure = await BlockingQueue(label: "lade.session").run { () -> CommandError? in
                do throws(CommandError) {
                    try session.keep(token, of: client, inPlaceOf: given)
                    return nil
                } catch {
                    return error
                }
            }
            if case .some(.some(let error)) = failure { warn("could not be kept. \(error.what)", error.advice) }
        }
    }

    private static let advice = "--session NAME keeps it for the next call."

    private func warn(_ what: String, _ advice: String) {
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isFirst else { return }
        console.say("lade: The server has replaced the refresh token. The new one \(what.endedByFullStop)")
        if !advice.isEmpty { console.say("  \(advice)") }
    }

    private static func client(_ settings: Authorisation.OAuth2.Settings) -> String {
        "\(settings.clientID ?? "") at \(settings.tokenEndpoint.absoluteString)"
    }
}
