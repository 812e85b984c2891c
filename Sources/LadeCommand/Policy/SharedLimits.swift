import Lade

#if canImport(LadeRedis)
    import LadeRedis
#endif

/// The store that the limits and tokens of a command are shared by: `--share`.
struct SharedLimits: Sendable, Hashable {
    var address: String
    var secretSource: PolicySettings.SecretSource?
    var sharesTokensInPlain = false

    /// The use that a command makes of its fleet: slots, tokens, leaving it at the end, and words of the progress line.
    struct Membership: Sendable {
        var supply: any RateSupply
        fileprivate var credentials: @Sendable (String) throws(LoadingError) -> Authorisation.Sharing
        var leave: @Sendable () async -> Void
        var words: @Sendable () -> String?

        /// The record of tokens in the store, whose name tells the sign-in from all others.
        func sharing(of settings: Authorisation.OAuth2.Settings) throws(CommandError) -> Authorisation.Sharing {
            let digest = SHA256.hash(Array(settings.owner.secret.reveal().utf8)).prefix(16)
            let name = "oauth2 " + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            return try SharedLimits.translating { () throws(LoadingError) in try credentials(name) }
        }
    }

    /// Checks that tokens may travel to the store, before anything is sent.
    func checkTokens() throws(CommandError) {
        #if canImport(LadeRedis)
            let parts = try Self.translating { () throws(LoadingError) in try FleetAddress(address) }
            guard !parts.isSecure, !parts.isLocal, !sharesTokensInPlain else { return }
            throw .usage(
                "--share: tokens would be readable on the way to a store on another machine without TLS",
                advice: "Use rediss://, or --fleet-insecure in a network that you trust."
            )
        #endif
    }

    /// Joins the fleet.
    ///
    /// - Throws: An error of usage, of the network or of authorisation, before anything is sent to the API.
    func join(
        askingBy prompt: PasswordPrompt,
        _ console: Console
    ) async throws(CommandError) -> Membership {
        #if canImport(LadeRedis)
            let parts = try Self.translating { () throws(LoadingError) in try FleetAddress(address) }
            var secret: Secret?
            switch secretSource {
            case nil where parts.user == nil: break
            case nil:
                secret = try await prompt.ask(
                    "Password of \(parts.user ?? "") at the store: ",
                    otherwise: "Give it by --fleet-secret-env NAME or --fleet-secret-fd N."
                )
            case let source:
                secret = try await SecretReader(source: source, prompt: prompt, option: "--fleet-secret").secret(
                    asking: ""
                )
            }
            if let secret { console.secrets.add([secret]) }
            if !parts.isSecure, !parts.isLocal {
                console.talk.write("lade: warning: the traffic with the store is not encrypted; rediss:// uses TLS\n")
            }
            var settings = Fleet.Settings()
            settings.sharesTokensInPlain = sharesTokensInPlain
            let fleet = try Self.translating { [secret, settings] () throws(LoadingError) in
                try Fleet(address, secret: secret, settings: settings)
            }
            do throws(LoadingError) {
                try await fleet.join()
            } catch {
                await fleet.leave()
                throw Self.fault(error)
            }
            return Membership(supply: fleet.rateSupply) { (name) throws(LoadingError) in
                try fleet.credentials(name)
            } leave: {
                await fleet.leave()
            } words: {
                let status = fleet.status
                return status.isAlone ? "alone, 1/\(status.members) of the limit" : nil
            }
        #else
            throw .usage("--share is not available on this system", advice: "It needs Linux.")
        #endif
    }

    fileprivate static func translating<Value>(_ body: () throws(LoadingError) -> Value) throws(CommandError) -> Value {
        do throws(LoadingError) { return try body() } catch { throw fault(error) }
    }

    private static func fault(_ error: LoadingError) -> CommandError {
        switch error.kind {
        case .invalidSetting(_, let reason):
            .usage(
                "--share: \(reason)",
                advice: "Write it as redis://HOST/NAME; the password comes from --fleet-secret-env."
            )
        case .authorisationFailed(let fault):
            CommandError(
                what: "--share: \(fault.underlyingError.map { "\($0)" } ?? fault.description)",
                advice:
                    "Give the password by --fleet-secret-env NAME, and the user before @; nothing was sent to the API.",
                code: .authorisation
            )
        default:
            CommandError(
                what: "--share: the store does not respond: \(error.context.detail ?? error.reason)",
                advice: "Check its address, and whether it is running; nothing was sent to the API.",
                code: .network
            )
        }
    }
}
