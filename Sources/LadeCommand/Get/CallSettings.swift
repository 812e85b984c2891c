/// The settings of a command that makes calls: the parts that every one of them has.
protocol CallSettings: CommandSettings {
    /// What is sent.
    var request: RequestSettings { get set }
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

    func validate() throws(CommandError) {
        try request.validate()
        try connection.validate()
        try policy.validate(request, connection)
        try validateRest()
    }

    func validateRest() throws(CommandError) {}
}
