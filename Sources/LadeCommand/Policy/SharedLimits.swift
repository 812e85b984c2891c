import Lade

#if canImport(LadeRedis)
    import LadeRedis
#endif

/// The store that the limits of a command are shared by: `--share`.
struct SharedLimits: Sendable, Hashable {
    var address: String
    var secretSource: PolicySettings.SecretSource?

    /// The use that a command makes of its fleet: slots, leaving it at the end, and words of the progress line.
    struct Membership: Sendable {
        var supply: any RateSupply
        var leave: @Sendable () async -> Void
        var words: @Sendable () -> String?
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
            let fleet = try Self.translating { [secret] () throws(LoadingError) in try Fleet(address, secret: secret) }
            do throws(LoadingError) {
                try await fleet.join()
            } catch {
                await fleet.leave()
                throw Self.fault(error)
            }
            return Membership(supply: fleet.rateSupply) {
                await fleet.leave()
            } words: {
                let status = fleet.status
                return status.isAlone ? "alone, 1/\(status.members) of the limit" : nil
            }
        #else
            throw .usage("--share is not available on this system", advice: "It needs Linux.")
        #endif
    }

    private static func translating<Value>(_ body: () throws(LoadingError) -> Value) throws(CommandError) -> Value {
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
