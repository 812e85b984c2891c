/// The settings of a command that makes calls: the parts that every one of them has.
protocol CallSettings: CommandSettings {
    /// What is sent.
    var request: RequestSettings { get set }
    /// What it has from earlier calls and from files.
    var session: SessionSettings { get }
    /// Whether to follow, repeat, authorise and wait.
    var policy: PolicySettings { get }
    /// How it gets there.
    var connection: ConnectionSettings { get }

    /// Checks what the command has besides.
    func validateRest() throws(CommandError)
}

extension CallSettings {
    mutating func addOperand(_ operand: String) throws(CommandError) {
        try request.addOperand(operand)
    }

    mutating func endDefaults() {
        request.defaultHeaders = request.headers
        request.headers = []
    }

    /// The arguments of the configuration file that come before those of the command line.
    ///
    /// - Throws: A local error for a file that cannot be trusted or read, a usage error for an unknown profile.
    func defaultArguments(for rows: [OptionInfo], in table: CommandTable) throws(CommandError) -> [String] {
        guard !session.ignoresConfiguration else { return [] }
        guard let file = Configuration.standardFile, let configuration = try Configuration(file) else {
            guard let profile = session.profile else { return [] }
            let advice = "Write it in \(Configuration.standardFile?.path ?? "~/.config/lade/config") as [\(profile)]."
            throw .usage("there is no profile “\(profile)”: there is no configuration", advice: advice)
        }
        let known = table.commands.flatMap(\.options)
        return try configuration.arguments(for: rows, profile: session.profile, known: known)
    }

    func validate() throws(CommandError) {
        try request.validate()
        try session.validate()
        try connection.validate()
        try policy.validate(request, connection)
        try validateRest()
    }

    func validateRest() throws(CommandError) {}
}
