import Lade

/// Makes several calls, in sequence or at the same time.
struct FetchList: Sendable {
    let calls: [GetSettings]
    /// The settings of the last operation, which decide how the calls follow one another.
    let settings: GetSettings
    let context: CommandContext

    /// Makes the calls; after a failed call the next one is still made, unless an option says otherwise.
    ///
    /// - Returns: Success; throws the error of the first failed call otherwise.
    func run() async throws(CommandError) -> ExitCode {
        warn()
        try OutputPlace.check(calls)
        guard calls.count != 1 else { return try await Fetch(settings: calls[0], context: context).run() }
        // Before calls that may run at the same time.
        for call in calls { _ = try call.output.recorder(context) }
        for call in calls where !call.writesNothing { _ = try await context.limiter(of: call.policy, context.time) }
        var jar: CookieJar?
        if settings.session.name == nil {
            jar = try await settings.session.makeJar(nil, now: context.time.date) { line in
                if !settings.output.isSilent { context.console.say(line) }
            }
        }
        let files = FetchFiles()
        let fetches = calls.map { [jar] in Fetch(settings: $0, context: context, jar: jar, files: files) }
        let failures = settings.isParallel ? await failuresInParallel(fetches) : await failures(fetches)
        guard var result = failures.result else { return .success }
        for failure in failures.unreported where !failure.isQuiet { context.console.talk.write(failure.lines) }
        result.isQuiet = true
        throw result
    }

    /// Makes the calls one after the other, and reports each failure when it happens.
    private func failures(_ fetches: [Fetch]) async -> FetchFailures {
        var failures = FetchFailures(endsEarly: settings.endsEarly)
        for (number, fetch) in fetches.enumerated() {
            guard let failure = await fetch.failure() else { continue }
            failures.add(failure, of: number)
            if failures.end != nil { break }
            if !failure.isQuiet { context.console.talk.write(failure.lines) }
            failures.markReported()
        }
        return failures
    }

    private func failuresInParallel(_ fetches: [Fetch]) async -> FetchFailures {
        let limit = settings.parallelLimit
        return await withTaskGroup(of: (Int, CommandError?).self) { group in
            var (started, failures) = (0, FetchFailures(endsEarly: settings.endsEarly))
            func start() {
                let (fetch, number) = (fetches[started], started)
                started += 1
                group.addTask { (number, await fetch.failure()) }
            }
            while started < min(limit, fetches.count) { start() }
            for await (number, failure) in group {
                if let failure { failures.add(failure, of: number) }
                if failures.end != nil { group.cancelAll() } else if started < fetches.count { start() }
            }
            return failures
        }
    }

    private func warn() {
        let output = settings.output
        guard !output.isSilent else { return }
        if settings.followsCurl, output.otherTargets.count > settings.request.otherAddresses.count {
            context.console.say("lade: There are more outputs than addresses; the last ones are not used.")
        }
        let isUnread = calls.allSatisfy { !$0.request.readsInput && $0.request.method == nil }
        if isUnread, !settings.printsCurl, context.console.input.hasPipedBytes {
            context.console.say(
                "lade: The pipe on the standard input is not read; write - after the address to send it."
            )
        }
    }
}

/// The failures of several calls, and their consequence for the command.
///
/// Calls that are cancelled because another call has ended everything did not fail. An interrupt by the user comes first.
struct FetchFailures {
    private let endsEarly: Bool
    private var failures: [(number: Int, error: CommandError)] = []
    private var reportedCount = 0
    /// The failure that ends the remaining calls; nil while they are made.
    private(set) var end: CommandError?

    /// Makes an empty list.
    ///
    /// - Parameter endsEarly: Whether every failure ends the remaining calls.
    init(endsEarly: Bool) { self.endsEarly = endsEarly }

    /// Adds a failure, in the order of time.
    mutating func add(_ error: CommandError, of number: Int) {
        if end != nil, error.isEnd { return }
        failures.append((number, error))
        if endsEarly || error.isEnd { end = end ?? error }
    }

    /// Marks the lines that were added so far as reported.
    mutating func markReported() { reportedCount = failures.count }

    /// The failures that were not reported, in the order of the calls; the failure that ended the others comes first.
    ///
    /// None where the user or the reader of the output ended everything.
    var unreported: [CommandError] {
        if let end, end.isEnd { return [] }
        let rest = failures[reportedCount...].sorted { $0.number < $1.number }.map(\.error)
        guard let end, let index = rest.firstIndex(of: end) else { return rest }
        return [end] + rest[..<index] + rest[(index + 1)...]
    }

    /// The failure that the command ends with; nil for success.
    var result: CommandError? { end ?? failures.min { $0.number < $1.number }?.error }
}

extension CommandError {
    /// Whether it ends everything: an interrupt, and a closed output.
    fileprivate var isEnd: Bool { code == .interrupted || code == .success }
}

/// The files that the calls of one command write.
struct FetchFiles: Sendable {
    /// The files of bodies.
    let bodies = FileClaims()
    /// The files of heads that were begun.
    let heads = Locked<Set<String>>([])
    /// The names that were chosen for files that do not exist yet.
    let names = Locked<Set<FilePlace>>([])
}
