#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// The cache of a service: the stored responses of its accounts, the calls that share an exchange, and validations in the
/// background.
public final class ResponseCache: Sendable {
    /// The state that all calls share, guarded by its lock.
    struct State: Sendable {
        var counters = ResponseCache.Counters()
        var collapse: CollapseState
        /// The calls that wait for the exchange of another one.
        var waiters: [UInt64: CacheWaiter] = [:]
        /// Ends their waits.
        var timer = WaitTimer()
        /// The exchanges that are shared, by number: the call that carries each out, and the ticket of its lookup.
        var leaders: [UInt64: (call: Call.ID, ticket: UInt64)] = [:]
        var background = BackgroundState()
        /// The validations in the background; nil until the task of one is known.
        var tasks: [UInt64: CacheTask] = [:]
        var lastNumber: UInt64 = 0
        var isClosed = false
        var evictions = ResponseCache.Removal()

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    /// The configuration of the cache.
    public let settings: ResponseCache.Settings
    /// The store, where it is in memory: no call has to wait for it.
    let memory: ResponseCache.MemoryStore?
    let rules: ResponseCache.Rules
    let partition: String
    let connection: ConnectionFacts
    let state: Locked<State>
    /// Raises the priority of a call that waits for its turn.
    let raise: @Sendable (Request.Priority, Call.ID) -> Void

    /// Makes the cache of a service whose transport has the given settings.
    ///
    /// - Parameters:
    ///   - settings: The configuration.
    ///   - transport: The settings of the transport.
    ///   - raise: Raises the priority of a call that waits for its turn; called when a more urgent call waits for its
    ///     response.
    package init(
        _ settings: ResponseCache.Settings,
        transport: TransportSettings,
        raise: @escaping @Sendable (Request.Priority, Call.ID) -> Void = { _, _ in }
    ) {
        self.settings = settings
        self.raise = raise
        memory = settings.store as? ResponseCache.MemoryStore
        var rules = settings.rules
        rules.digester = CacheDigester(key: settings.store.digestKey)
        rules.bodyLimit = min(rules.bodyLimit, settings.store.bodyLimit)
        self.rules = rules
        partition = CachePlace.partition(settings.name, transport)
        connection = ConnectionFacts(transport)
        state = Locked(State(collapse: CollapseState()))
    }

    /// The numbers of the cache's responses and exchanges since it was made.
    ///
    /// Its numbers of bytes and entries count the whole store, and are zero where the store cannot be read.
    public var counters: ResponseCache.Counters {
        get async {
            var counters = state.withLock(\.counters)
            // An error of the store is a miss; here, nothing can be said.
            counters.bytes = (try? await settings.store.size()) ?? 0
            counters.entries = (try? await settings.store.entries(.all))?.count ?? 0
            counters.evicted = settings.store.evictions.entries
            return counters
        }
    }

    /// How many calls wait for the exchange of another one now.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// A digest of secrets with the key of the store, in hexadecimal digits.
    package func digest(_ secrets: [Secret]) -> String {
        var writer = OctetWriter()
        for secret in secrets { writer.write(secret.reveal().utf8) }
        return rules.digester.digest(writer.octets).prefix(16)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The stored responses of all accounts, by address and in the order of storing.
    ///
    /// - Throws: Why the store cannot be read.
    public func entries(_ selection: ResponseCache.Selection = .all) async throws(CacheError) -> [ResponseCache.Entry] {
        try await settings.store.entries(selection)
    }

    /// Makes stored responses invalid: each is validated before its next use, in every mode.
    ///
    /// - Returns: How many there were.
    /// - Throws: Why the store cannot be written.
    @discardableResult
    public func invalidate(_ selection: ResponseCache.Selection) async throws(CacheError) -> Int {
        try await settings.store.invalidate(selection)
    }

    /// Removes stored responses.
    ///
    /// A response that is on its way is not stored either.
    ///
    /// - Returns: How much was removed.
    /// - Throws: Why the store cannot be written.
    @discardableResult
    public func remove(_ selection: ResponseCache.Selection) async throws(CacheError) -> ResponseCache.Removal {
        try await settings.store.remove(selection)
    }

    /// Waits until everything that was stored is as durable as it will be.
    ///
    /// - Throws: Why the store cannot be written.
    public func flush() async throws(CacheError) {
        try await settings.store.flush()
    }

    /// Waits for the validations in the background that are in flight now, before a program ends.
    ///
    /// - Parameters:
    ///   - limit: How long; validations that take longer are cancelled.
    ///   - time: The clock.
    public func finishBackgroundWork(within limit: Duration = .seconds(5), time: some TimeSource = SystemTime()) async {
        let tasks = state.withLock { $0.tasks.values.compactMap(\.task) }
        guard !tasks.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for task in tasks { await task.value } }
            group.addTask {
                // Cancelled as soon as all have ended; then there is nothing left to cancel.
                try? await time.sleep(for: limit)
                for task in tasks { task.cancel() }
            }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: - Ending

    /// Ends the account's validations in the background, and removes the responses that are stored for it.
    package func forget(account: String) async {
        cancelTasks { $0.account == account }
        do throws(CacheError) {
            _ = try await settings.store.remove(.account(account))
        } catch {
            note(error, nil)
        }
    }

    /// Ends all validations in the background; later ones are not started.
    package func close() {
        state.withLock { $0.isClosed = true }
        cancelTasks { _ in true }
    }

    private func cancelTasks(where isEnded: (CacheTask) -> Bool) {
        for entry in state.withLock({ $0.tasks.values.filter(isEnded) }) { entry.task?.cancel() }
    }

    // MARK: - Notes

    /// Counts.
    func count(_ change: (inout ResponseCache.Counters) -> Void) {
        state.withLock { change(&$0.counters) }
    }

    /// Records an error of the store, which fails no call.
    @inline(never)
    func note(_ fault: CacheError, _ call: Call?) {
        count { $0.faults += 1 }
        call?.record(.cacheFault(fault.description))
    }
}

/// A validation in the background.
struct CacheTask: Sendable {
    let account: String
    var task: Task<Void, Never>?
}
