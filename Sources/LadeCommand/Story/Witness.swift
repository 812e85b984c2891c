import Lade

/// Who sees what happens to the calls of a command: the story for the user, the log for machines.
struct Witness: Sendable {
    private let story: Story?
    private let log: EventLog?
    private let hasHostList: Bool

    /// Makes the witnesses that the options ask for.
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

    /// Those who are to be told of events.
    var observers: [any EventSink] {
        let sinks: [(any EventSink)?] = [story, log]
        return sinks.compactMap(\.self)
    }

    /// Those that see each exchange before it is sent.
    func interceptors(_ connection: ConnectionSettings) -> [any Interceptor] {
        story.map { [SentTeller(story: $0, decodesContent: connection.decodesContent)] } ?? []
    }

    /// Something has failed; gives back what the user is told.
    func failure(_ error: LoadingError) -> CommandError {
        story?.tell(error)
        var told = CommandError(error)
        if hasHostList, case .down = HostEvidence(error), told.code != .trust {
            told.code = .hostDown
            told.advice = "No address of --host answers; add one that does, or try later."
        }
        return told
    }

    /// Waits until everything is written.
    func flush() {
        log?.flush()
    }
}
