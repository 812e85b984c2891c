/// The settings that all commands that make calls have in common.
protocol CallSettings: CommandSettings {
    /// The request.
    var request: RequestSettings { get set }
    /// The cookies, credentials and options from earlier calls and files.
    var session: SessionSettings { get }
    /// The policies: redirects, retries, credentials and waits.
    var policy: PolicySettings { get }
    /// The connection.
    var connection: ConnectionSettings { get }

    /// The cache.
    var caching: CachingSettings { get }

    /// The output.
    var output: OutputSettings { get }

    /// Checks the settings that only this command has.
    func validateRest() throws(CommandError)
}

extension CallSettings {
    /// No cache.
    var caching: CachingSettings { CachingSettings() }

    mutating func addOperand(_ operand: String) throws(CommandError) {
        try request.addOperand(operand)
    }

    mutating func endDefaults() {
        request.defaultHeaders = request.headers
        request.headers = []
    }

    /// The arguments of the configuration file, which precede those of the command line.
    ///
    /// - Throws: A local error for a file that is unreadable or not private, a usage error for an unknown profile.
    func defaultArguments(for rows: [OptionInfo], in table: CommandTable) throws(CommandError) -> [String] {
        guard !session.ignoresConfiguration else { return [] }
        guard let file = Configuration.standardFile, let configuration = try Configuration(file) else {
            guard let profile = session.profile else { return [] }
            let advice = "Write it in \(Configuration.standardFile?.path ?? "~/.config/lade/config") as [\(profile)]."
            throw .usage("there is no profile “\(profile.asArgument)”: there is no configuration", advice: advice)
        }
        let known = table.commands.flatMap(\.options)
        return try configuration.arguments(for: rows, profile: session.profile, known: known)
    }

    func validate() throws(CommandError) {
        try request.validate()
        try session.validate()
        try connection.validate()
        try policy.validate(request, connection)
        try output.checkRecording()
        try validateRest()
    }

    func validateRest() throws(CommandError) {}
}
