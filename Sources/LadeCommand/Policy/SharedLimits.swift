import Lade

#if canImport(LadeRedis)
    import LadeRedis
#endif

/// The store that the limits and tokens of a command are shared by: `--share`, or `--fleet`, which shares work as well.
struct SharedLimits: Sendable, Hashable {
    var address: String
    /// The option that names the store.
    var option = "--share"
    /// The name of the member; nil for one of the machine and a number.
    var member: String?
    var secretSource: PolicySettings.SecretSource?
    var sharesTokensInPlain = false

    /// The use that a command makes of its fleet: slots, tokens, leaving it at the end, and words of the progress line.
    struct Membership: Sendable {
        var supply: any RateSupply
        fileprivate var option: String
        fileprivate var credentials: @Sendable (String) throws(LoadingError) -> Authorisation.Sharing
        fileprivate var makeBoard: @Sendable () throws(LoadingError) -> (board: any WorkBoard, run: String)
        var leave: @Sendable () async -> Void
        var words: @Sendable () -> String?
        /// The number of members.
        var members: @Sendable () -> Int

        /// The record of tokens in the store, whose name tells the sign-in from all others.
        func sharing(of settings: Authorisation.OAuth2.Settings) throws(CommandError) -> Authorisation.Sharing {
            let digest = SHA256.hash(Array(settings.owner.secret.reveal().utf8)).prefix(16)
            let name = "oauth2 " + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            return try SharedLimits.translating(option) { () throws(LoadingError) in try credentials(name) }
        }

        /// The board of the fleet's list, and the name of the run.
        func board() throws(CommandError) -> (board: any WorkBoard, run: String) {
            try SharedLimits.translating(option, makeBoard)
        }
    }

    /// Checks that tokens may travel to the store, before anything is sent.
    func checkTokens() throws(CommandError) {
        #if canImport(LadeRedis)
            let parts = try Self.translating(option) { () throws(LoadingError) in try FleetAddress(address) }
            guard !parts.isSecure, !parts.isLocal, !sharesTokensInPlain else { return }
            throw .usage(
                "\(option): tokens would be readable on the way to a store on another machine without TLS",
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
            let parts = try Self.translating(option) { () throws(LoadingError) in try FleetAddress(address) }
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
            settings.name = member
            let fleet = try Self.translating(option) { [secret, settings] () throws(LoadingError) in
                try Fleet(address, secret: secret, settings: settings)
            }
            do throws(LoadingError) {
                try await fleet.join()
            } catch {
                await fleet.leave()
                throw Self.fault(option, error)
            }
            return Membership(supply: fleet.rateSupply, option: option) { (name) throws(LoadingError) in
                try fleet.credentials(name)
            } makeBoard: { () throws(LoadingError) in
                (try fleet.board("pages"), parts.name)
            } leave: {
                await fleet.leave()
            } words: {
                let status = fleet.status
                return status.isAlone ? "alone, 1/\(status.members) of the limit" : nil
            } members: {
                fleet.status.members
            }
        #else
            throw .usage("\(option) is not available on this system", advice: "It needs Linux.")
        #endif
    }

    fileprivate static func translating<Value>(
        _ option: String,
        _ body: () throws(LoadingError) -> Value
    ) throws(CommandError) -> Value {
        do throws(LoadingError) { return try body() } catch { throw fault(option, error) }
    }

    private static func fault(_ option: String, _ error: LoadingError) -> CommandError {
        switch error.kind {
        case .invalidSetting(_, let reason):
            .usage(
                "\(option): \(reason)",
                advice: "Write it as redis://HOST/NAME; the password comes from --fleet-secret-env."
            )
        case .authorisationFailed(let fault):
            CommandError(
                what: "\(option): \(fault.underlyingError.map { "\($0)" } ?? fault.description)",
                advice:
                    "Give the password by --fleet-secret-env NAME, and the user before @; nothing was sent to the API.",
                code: .authorisation
            )
        default:
            CommandError(
                what: "\(option): the store does not respond: \(error.context.detail ?? error.reason)",
                advice: "Check its address, and whether it is running; nothing was sent to the API.",
                code: .network
            )
        }
    }
}
