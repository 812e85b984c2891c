#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// The state that readers and the writing thread of a store share.
final class StoreCore: Sendable {
    struct State {
        var database: Database?
        var settings: SQLiteStore.Settings
        var isClosed = false
        /// The keys of writes that no call waited for and that are not done yet, and the entries they add or replace.
        var pendingKeys: Set<CacheKey> = []
        var pendingIDs: Set<UInt64> = []
        /// The keys to unlock once they are no longer pending.
        var unlocking: Set<CacheKey> = []
        /// The number of the latest removal that a lookup has seen; nil from the beginning of a removal in this process.
        var knownTicket: UInt64?
        /// Numbers that no other process gives to its entries.
        var ids: Range<UInt64> = 0..<0
        /// Uses that are not recorded yet, with their order.
        var uses: [UInt64: (count: Int64, order: UInt64)] = [:]
        var useCount: UInt64 = 0
        var recorded: Instant
        var isRecording = false
        var pausedUntil: Instant?
        /// Why responses were not stored, by key, as far as this process has written it.
        var notes: [[UInt8]: Response.CacheRule] = [:]
        /// Why a write failed that no call waited for.
        var fault: CacheError?
        /// The accounts that signed out lately, and the number of all that did.
        var signOuts: [String] = []
        var signOutCount = 0
        var evictions = ResponseCache.Removal()
    }

    let folder: StoreFolder
    let time: any TimeSource
    let digestKey: [UInt8]
    let digests: Digests
    private let random: any RandomSource
    private let queue = WriteQueue()
    let locks: KeyLocks
    // Guarded by its lock.
    let state: Locked<State>

    /// An entry is given up while so many bytes wait to be written.
    private static let queueLimit = 4 << 20
    /// How long an entry waits for the queue before it is given up.
    private static let queuePatience = Duration.milliseconds(100)
    /// Uses are recorded this often.
    static let recordInterval = Duration.seconds(5)
    /// How long nothing is written to a full disk.
    private static let fullPause = Duration.seconds(60)
    private static let noteLimit = 1_000
    private static let reservedIDs: UInt64 = 1_024

    init(
        _ folder: StoreFolder,
        _ settings: SQLiteStore.Settings,
        _ time: any TimeSource,
        _ random: any RandomSource
    ) throws(CacheError) {
        self.folder = folder
        self.time = time
        self.random = random
        locks = KeyLocks(folder.locksPath)
        let newKey = (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        let database = try Database.open(folder, limit: settings.limit, digestKey: newKey)
        digests = database.digests
        digestKey = digests.key
        state = Locked(State(database: database, settings: settings, recorded: time.now))
        if !folder.isReadOnly {
            folder.removeOutdated(now: time.date)
            sweep(folder.bodies[...])
        }
    }

    var settings: SQLiteStore.Settings { state.withLock { $0.settings } }
    var evictions: ResponseCache.Removal { state.withLock { $0.evictions } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - The writing thread

    /// Carries out jobs until the queue ends.
    private func run() {
        while let (files, changes) = queue.next() {
            for job in files {
                if case .file(let body) = job.work { body() }
                queue.finish(job, nil)
            }
            guard let first = changes.first else { continue }
            if case .alone(let body) = first.work {
                do throws(StoreFault) {
                    try body()
                    queue.finish(first, nil)
                } catch {
                    recover(from: error)
                    queue.finish(first, error)
                }
            } else {
                change(changes)
            }
        }
        _ = releaseDatabase()
    }

    /// Forgets the database; it is closed with the last reference to it, outside of the lock.
    private func releaseDatabase() -> Database? {
        state.withLock { state in
            defer {
                state.database = nil
                state.ids = 0..<0
            }
            return state.database
        }
    }

    private func change(_ jobs: [WriteJob]) {
        let works = jobs.compactMap { job in if case .change(let work) = job.work { work } else { nil } }
        var fault: StoreFault?
        if !works.isEmpty {
            do throws(StoreFault) {
                try transact { session throws(StoreFault) in for work in works { try work(session) } }
            } catch {
                fault = error
                recover(from: error)
            }
        }
        var waiting: [WriteJob] = []
        for job in jobs {
            if case .barrier = job.work, fault?.kind != .busy || waiting.isEmpty {
                queue.finish(job, nil)
            } else if fault?.kind == .busy, job.patience > .milliseconds(100) {
                // The connection has waited for as long.
                var later = job
                later.patience -= .milliseconds(100)
                waiting.append(later)
            } else {
                queue.finish(job, fault)
            }
        }
        if !waiting.isEmpty { queue.putBack(waiting) }
    }

    /// Runs one transaction on the writing thread; a write that has no room on the disk is tried again after an eviction.
    private func transact<Result>(_ body: (WriteSession) throws(StoreFault) -> Result) throws(StoreFault) -> Result {
        if state.withLock({ $0.pausedUntil.map { time.now < $0 } ?? false }) {
            throw StoreFault(.full, "The disk is full")
        }
        do throws(StoreFault) {
            return try once(body)
        } catch {
            guard error.kind == .full else { throw error }
        }
        do throws(StoreFault) {
            try once { session throws(StoreFault) in try session.evictPart() }
            return try once(body)
        } catch {
            if error.kind == .full {
                let end = time.now.advanced(by: Self.fullPause)
                state.withLock { $0.pausedUntil = end }
            }
            throw error
        }
    }

    private func once<Result>(_ body: (WriteSession) throws(StoreFault) -> Result) throws(StoreFault) -> Result {
        let database = try writableDatabase()
        let (settings, mustRecord, ids) = state.withLock { state in
            (state.settings, state.recorded.duration(to: time.now) >= Self.recordInterval, state.ids)
        }
        let session = try WriteSession(database, settings) { self.takeUses() }
        do throws(StoreFault) {
            let result = try body(session)
            if mustRecord { try session.recordUses() }
            let more = ids.count < Int(Self.reservedIDs / 4) ? session.reserveIDs(Self.reservedIDs) : nil
            try session.commit()
            database.checkpointLongLog()
            state.withLock { state in
                if let more { state.ids = more }
                state.evictions.entries += session.evictions.entries
                state.evictions.bytes += session.evictions.bytes
                state.pausedUntil = nil
            }
            return result
        } catch {
            session.rollBack()
            throw error
        }
    }

    private func takeUses() -> [(id: UInt64, count: Int64)] {
        let uses = state.withLock { state in
            defer {
                state.uses = [:]
                state.recorded = time.now
                state.isRecording = false
            }
            return state.uses
        }
        return uses.sorted { $0.value.order < $1.value.order }.map { ($0.key, $0.value.count) }
    }

    /// The database to write to; another one where the files were removed or replaced.
    private func writableDatabase() throws(StoreFault) -> Database {
        guard !folder.isReadOnly else { throw StoreFault(.readOnly, "The cache store can only be read") }
        let (current, limit) = state.withLock { ($0.database, $0.settings.limit) }
        if let current, current.hasItsName { return current }
        _ = releaseDatabase()
        do throws(CacheError) {
            try folder.make()
            let database = try Database.open(folder, limit: limit, digestKey: digestKey)
            state.withLock { $0.database = database }
            return database
        } catch {
            throw StoreFault(.refused(error), "")
        }
    }

    /// Sets a damaged database aside, on the writing thread.
    private func recover(from fault: StoreFault) {
        guard fault.kind == .damaged, !folder.isReadOnly else { return }
        guard let damaged = releaseDatabase() else { return }
        // If this fails, the next use of the store tries again to open it.
        try? folder.withLock { () throws(CacheError) in if damaged.hasItsName { folder.setAside() } }
        // The same error would come back if the new database could not be opened.
        _ = try? writableDatabase()
        sweep(folder.bodies[...])
    }

    /// Removes the files of bodies that no row knows, some in each job.
    private func sweep(_ bodies: ArraySlice<UInt64>) {
        guard !bodies.isEmpty else { return }
        let job = WriteJob(
            work: .alone { [weak self] () throws(StoreFault) in
                guard let self, let database = state.withLock({ $0.database }) else { return }
                for seed in bodies.prefix(256) {
                    func isKnown() throws(StoreFault) -> Bool {
                        try database.read { connection throws(StoreFault) in
                            var isKnown = false
                            try connection.run("SELECT 1 FROM blob WHERE seed = ? AND bytes IS NULL", [.id(seed)]) {
                                _ in
                                isKnown = true
                            }
                            return isKnown
                        }
                    }
                    if try !isKnown() { try folder.removeOrphan(seed, isKnown: isKnown) }
                }
                sweep(bodies.dropFirst(256))
            },
            finish: { _ in }
        )
        _ = post(job)
    }

    func post(_ job: WriteJob) -> Bool { queue.post(job) { self.run() } }

    /// Runs a job and waits for it.
    private func perform(_ work: WriteJob.Work, patience: Duration = .milliseconds(100)) async throws(CacheError) {
        let fault: CacheError? = await withCheckedContinuation { continuation in
            let job = WriteJob(work: work, patience: patience) { continuation.resume(returning: $0?.fault) }
            if !post(job) { continuation.resume(returning: CacheError(.closed)) }
        }
        if let fault { throw fault }
    }

    /// Runs a change and waits for its result.
    func change<Result: Sendable>(
        patience: Duration = .milliseconds(100),
        _ body: @escaping @Sendable (WriteSession) throws(StoreFault) -> Result
    ) async throws(CacheError) -> Result {
        try checkOpen()
        let result = Locked(Result?.none)
        try await perform(
            .change { session throws(StoreFault) in
                let value = try body(session)
                result.withLock { $0 = value }
            },
            patience: patience
        )
        guard let value = result.withLock({ $0 }) else { throw CacheError(.closed) }
        return value
    }

    /// Runs several transactions and waits for the end.
    func changeAlone<Result: Sendable>(
        _ body:
            @escaping @Sendable (_ transact: ((WriteSession) throws(StoreFault) -> Result) throws(StoreFault) -> Result)
            throws(StoreFault) -> Result
    ) async throws(CacheError) -> Result {
        try checkOpen()
        let result = Locked(Result?.none)
        try await perform(
            .alone { () throws(StoreFault) in
                let value = try body { (work) throws(StoreFault) in
                    // Removals must not fail because another process is busy for a moment.
                    for _ in 0..<50 {
                        do throws(StoreFault) { return try self.transact(work) } catch {
                            guard error.kind == .busy else { throw error }
                        }
                    }
                    return try self.transact(work)
                }
                result.withLock { $0 = value }
            }
        )
        guard let value = result.withLock({ $0 }) else { throw CacheError(.closed) }
        return value
    }

    /// Copies the write-ahead log into the database and empties it, as far as other processes let it.
    func checkpoint() async throws(CacheError) {
        try checkOpen()
        try await perform(
            .alone { () throws(StoreFault) in
                try self.writableDatabase().checkpoint()
            }
        )
    }

    func checkOpen() throws(CacheError) {
        if isClosed { throw CacheError(.closed) }
    }

    /// Waits for everything that was given to the writing thread.
    func flush() async throws(CacheError) {
        try checkOpen()
        try await perform(.barrier)
    }

    /// Waits for the jobs of the writing thread, and closes the files.
    func close() async {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        // A failure comes from a write that no call waited for.
        if !folder.isReadOnly { try? await perform(.change { session throws(StoreFault) in try session.recordUses() }) }
        // The files are closed with the last reference to the database, which is on the thread.
        try? await perform(.alone { () throws(StoreFault) in _ = self.releaseDatabase() })
        queue.end()
    }

    /// Ends the thread, without waiting for it.
    func end() {
        state.withLock { $0.isClosed = true }
        queue.end()
    }

    // MARK: - Writing

    /// Why nothing can be written now; nil when something can.
    func begin(_ write: CacheWrite) throws(CacheError) -> BodyWriter? {
        try checkOpen()
        guard !folder.isReadOnly else { return nil }
        let (isPaused, settings) = state.withLock { state in
            (state.pausedUntil.map { time.now < $0 } ?? false, state.settings)
        }
        if let fault = takeFault() { throw fault }
        return isPaused ? nil : BodyWriter(self, write, limit: settings.bodyLimit)
    }

    /// Takes the fault of a write that no call waited for, so that the fault is reported only once.
    func takeFault() -> CacheError? {
        state.withLock { state in
            defer { state.fault = nil }
            return state.fault
        }
    }

    /// Keeps why the latest response for a key was not stored, unless this process has written that before.
    func note(_ refusal: Response.CacheRule, for key: CacheKey) {
        guard !folder.isReadOnly, let digest = (state.withLock { $0.database })?.digests.key(key) else { return }
        let isNew = state.withLock { state in
            guard !state.isClosed, state.notes[digest] != refusal else { return false }
            if state.notes.count >= Self.noteLimit { state.notes = [:] }
            state.notes[digest] = refusal
            return true
        }
        guard isNew else { return }
        // Without it, explanations say less.
        let work: @Sendable (WriteSession) throws(StoreFault) -> Void = { session throws(StoreFault) in
            try session.note(refusal, for: digest)
        }
        _ = post(WriteJob(work: .change(work), patience: .seconds(5), mayWait: true) { _ in })
    }

    /// Forgets the notes, because their entries may be removed.
    func forgetNotes() { state.withLock { $0.notes = [:] } }

    func makeFile() -> BodyFile { BodyFile(folder, seed: random.next()) }

    /// Appends bytes to a file on the writing thread; false when that is too slow.
    func append(_ bytes: Data, to file: BodyFile) async -> Bool {
        let job = WriteJob(work: .file { file.append(bytes) }, bytes: bytes.count) { _ in }
        guard post(job) else { return true }
        guard queue.queuedBytes > Self.queueLimit else { return true }
        let hasRoom = Locked(Waiter<Bool>())
        if !post(WriteJob(work: .file {}) { _ in hasRoom.end(true) }) { hasRoom.end(true) }
        // Ends with the call.
        let timer = Task { [time] in
            // Cancelled once there is room.
            try? await time.sleep(for: Self.queuePatience)
            hasRoom.end(false)
        }
        defer { timer.cancel() }
        return await hasRoom.outcome()
    }

    /// Stores an entry, by a write that is not waited for unless its result depends on others.
    ///
    /// The writing thread takes over head and body, and encodes them.
    func commit(
        _ write: CacheWrite,
        _ head: StoredHead,
        _ bytes: Data,
        _ file: BodyFile?
    ) async throws(CacheError) -> UInt64? {
        try checkOpen()
        let (database, isKnown, hasNotes) = state.withLock { state in
            (state.database, state.knownTicket == write.ticket, !state.notes.isEmpty)
        }
        guard let database else {
            reopen()
            throw CacheError(.damaged)
        }
        if hasNotes {
            let digest = database.digests.key(write.key)
            state.withLock { _ = $0.notes.removeValue(forKey: digest) }
        }
        let seed = random.next()
        func work(_ id: UInt64?) -> @Sendable (WriteSession) throws(StoreFault) -> UInt64? {
            { session throws(StoreFault) in
                let facts = EntryFacts(write.key, head, session.database.digests)
                let isInFile = file != nil
                let blob = try file?.finish() ?? WriteSession.Blob(of: bytes, seed: seed)
                let entry = WriteSession.Entry(
                    write: write,
                    head: head,
                    facts: facts,
                    blob: isInFile || !bytes.isEmpty ? blob : nil,
                    id: id
                )
                return try session.store(entry)
            }
        }
        guard let id = reserve(write) else {
            let id = try await change(work(nil))
            if id != nil { file?.keep() }
            return id
        }
        var ids: Set<UInt64> = [id]
        // Where nothing was stored and nothing was removed, the entry depends on no other.
        if !write.isFirst || !isKnown {
            let replaced = try replaced(by: write, head, id)
            guard let replaced else { return nil }
            ids.formUnion(replaced)
        }
        return try commit(id, write, head, ids, file, length: bytes.count, work(id))
    }

    /// The entries that an entry takes the place of; nil when it is dropped.
    private func replaced(
        by write: CacheWrite,
        _ head: StoredHead,
        _ id: UInt64
    ) throws(CacheError) -> [UInt64]? {
        do throws(CacheError) {
            let replaced = try read { (connection, database) throws(StoreFault) -> [UInt64]? in
                let facts = EntryFacts(write.key, head, database.digests)
                let stored = try Reading.heads(connection, facts.key)
                let removal = try Reading.removal(connection, of: facts, since: write.ticket)
                guard case .store(_, let replaced) = CommitDecision(write, head, stored: stored, removal) else {
                    return nil
                }
                return replaced
            }
            if let replaced {
                state.withLock { $0.pendingIDs.formUnion(replaced) }
            } else {
                release(write.key, [id], nil)
            }
            return replaced
        } catch {
            release(write.key, [id], nil)
            throw error
        }
    }

    /// Stores an entry by a write that is not waited for.
    private func commit(
        _ id: UInt64,
        _ write: CacheWrite,
        _ head: StoredHead,
        _ pending: Set<UInt64>,
        _ file: BodyFile?,
        length: Int,
        _ change: @escaping @Sendable (WriteSession) throws(StoreFault) -> UInt64?
    ) throws(CacheError) -> UInt64? {
        let wasStored = Locked(false)
        let key = write.key
        let job = WriteJob(
            work: .change { session throws(StoreFault) in
                let stored = try change(session)
                wasStored.withLock { $0 = stored != nil }
            },
            bytes: length + head.cost,
            patience: .seconds(5),
            mayWait: true
        ) { [weak self] fault in
            if fault == nil, wasStored.withLock({ $0 }) { file?.keep() }
            self?.release(key, pending, fault?.fault)
        }
        guard post(job) else {
            release(key, pending, nil)
            throw CacheError(.closed)
        }
        return id
    }

    /// Takes a number for a write that is not waited for; nil when its result depends on others.
    private func reserve(_ write: CacheWrite) -> UInt64? {
        let bytes = queue.queuedBytes
        return state.withLock { state in
            guard write.joined == nil, bytes < Self.queueLimit, !state.pendingKeys.contains(write.key),
                let id = state.ids.popFirst()
            else { return nil }
            state.pendingKeys.insert(write.key)
            state.pendingIDs.insert(id)
            return id
        }
    }

    private func release(_ key: CacheKey, _ ids: Set<UInt64>, _ fault: CacheError?) {
        let mustUnlock = state.withLock { state in
            state.pendingKeys.remove(key)
            state.pendingIDs.subtract(ids)
            if let fault { state.fault = fault }
            return state.unlocking.remove(key) != nil
        }
        if mustUnlock { locks.unlock(digests.key(key)) }
    }
}
