import Lade

/// The observers of a command's calls: the story for the user and the event log for programs.
struct Witness: Sendable {
    private let story: Story?
    private let log: EventLog?
    private let hasHostList: Bool

    /// Makes the observers that the options ask for.
    ///
    /// - Throws: A local error when the log cannot be opened.
    init(
        _ output: OutputSettings,
        _ policy: PolicySettings,
        _ context: CommandContext
    ) throws(CommandError) {
        hasHostList = !policy.hosts.isEmpty
        if output.showsSecrets { context.console.secrets.showSecrets() }
        story = output.isVerbose ? Story(context.console.coloured(output.colour)) : nil
        if let path = output.eventsPath {
            log = try EventLog(path, start: context.time.now, hiding: context.console.secrets)
        } else {
            log = nil
        }
    }

    /// The observers notified of events.
    var observers: [any EventSink] {
        let sinks: [(any EventSink)?] = [story, log]
        return sinks.compactMap(\.self)
    }

    /// The interceptors that receive each exchange before it is sent.
    func interceptors(_ connection: ConnectionSettings) -> [any Interceptor] {
        story.map { [SentTeller(story: $0, decodesContent: connection.decodesContent)] } ?? []
    }

    /// Reports a failure and returns the command's error for it.
    func failure(_ error: LoadingError) -> CommandError {
        story?.show(error)
        var reported = CommandError(error)
        if hasHostList, case .down = HostEvidence(error), reported.code != .trust {
            reported.code = .hostDown
            reported.advice = "No address of --host answers; add one that does, or try later."
        }
        return reported
    }

    /// Waits until everything is written.
    func flush() {
        log?.flush()
    }
}
