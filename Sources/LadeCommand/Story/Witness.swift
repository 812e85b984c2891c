import Lade
import LadeTraffic

/// The observers of a command's calls: the story for the user and the event log for programs.
struct Witness: Sendable {
    private let story: Story?
    private let log: EventLog?
    /// Records the exchanges; nil without `--har`.
    var recorder: TrafficRecorder?
    private let recordingPath: String?
    private let hasHostList: Bool
    private let connection: ConnectionSettings
    /// Observes the cache.
    let cache: CacheTeller

    /// Runs calls with the observers that the options ask for.
    ///
    /// - Parameters:
    ///   - output: The settings with the observers.
    ///   - policy: The settings with the list of hosts.
    ///   - connection: The settings with the proxy.
    ///   - context: The console for the story.
    ///   - body: Makes the calls.
    /// - Returns: The result of `body`.
    /// - Throws: A local error when the log cannot be opened or written; the error of `body` comes first, and the log
    ///   is then reported in addition.
    static func observing<Value>(
        _ output: OutputSettings,
        _ policy: PolicySettings,
        _ connection: ConnectionSettings,
        _ context: CommandContext,
        _ body: (Witness) async throws(CommandError) -> Value
    ) async throws(CommandError) -> Value {
        let witness = try Witness(output, policy, connection, context)
        let value: Value
        do throws(CommandError) {
            value = try await body(witness)
        } catch {
            if let failure = await witness.failure(), output.tellsErrors {
                context.console.talk.write(failure.lines)
            }
            throw error
        }
        if let failure = await witness.failure() { throw failure }
        return value
    }

    private init(
        _ output: OutputSettings,
        _ policy: PolicySettings,
        _ connection: ConnectionSettings,
        _ context: CommandContext
    ) throws(CommandError) {
        self.connection = connection
        hasHostList = !policy.hosts.isEmpty
        // The story has each fault already.
        cache = CacheTeller { if !output.isVerbose { context.tellCacheFault($0, output) } }
        if output.showsSecrets { context.console.secrets.showSecrets() }
        story = output.isVerbose ? Story(context.console.coloured(output.colour)) : nil
        if let path = output.eventsPath {
            log = try EventLog(path, start: context.time.now, hiding: context.console.secrets)
        } else {
            log = nil
        }
        recordingPath = output.recordingPath
        recorder = try output.recorder(context)
    }

    /// The first failure to write the log or the recording.
    private func failure() async -> CommandError? {
        if let failure = await log?.failure() { return failure }
        do throws(HARFault) {
            try recorder?.flush()
            return nil
        } catch {
            return .recording(recordingPath ?? "", error)
        }
    }

    /// The observers notified of events.
    func observers(hasCache: Bool) -> [any Call.Observer] {
        let sinks: [(any Call.Observer)?] = [story, log, hasCache ? cache : nil]
        return sinks.compactMap(\.self)
    }

    /// Ends the service of a command, and reports what could not be stored.
    func end(_ service: Service, at time: any TimeSource) async {
        await service.end(at: time) { cache.report($0) }
    }

    /// The interceptors that receive each exchange before it is sent.
    func interceptors(_ connection: ConnectionSettings) -> [any Interceptor] {
        story.map { [SentTeller(story: $0, decodesContent: connection.decodesContent)] } ?? []
    }

    /// Reports a failure and returns the command's error for it.
    func failure(_ error: LoadingError) -> CommandError {
        story?.show(error)
        var reported = CommandError(error)
        if case .proxy(.authenticationRequired(let proxy)) = error.kind,
            let fact = error.context.address.flatMap(connection.proxyFact)
        {
            reported.describe(proxy, fact)
        }
        if hasHostList, case .down = HostEvidence(error), reported.code != .trust {
            reported.code = .hostDown
            reported.advice = "No address of --host responds; add one that does, or try later."
        }
        return reported
    }
}
