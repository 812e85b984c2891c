import LadeCache
import LadeCore

/// Reading, and the agreements between processes, on threads of callers.
extension StoreCore {
    /// Runs a closure with a connection that reads; a damaged database is set aside.
    func read<Result>(
        _ body: (Connection, Database) throws(StoreFault) -> Result
    ) throws(CacheError) -> Result {
        let (database, isClosed) = state.withLock { ($0.database, $0.isClosed) }
        guard !isClosed else { throw CacheError(.closed) }
        guard let database else {
            reopen()
            throw CacheError(.damaged)
        }
        do throws(StoreFault) {
            return try database.read { connection throws(StoreFault) in try body(connection, database) }
        } catch {
            if error.kind == .damaged {
                _ = post(WriteJob(work: .alone { () throws(StoreFault) in throw error }) { _ in })
            } else if error.kind != .busy {
                reopen()
            }
            throw error.fault
        }
    }

    /// Looks for the database again, on the writing thread.
    func reopen() {
        guard !folder.isReadOnly else { return }
        _ = post(WriteJob(work: .change { _ in }) { _ in })
    }

    func lookUp(_ key: CacheKey) async throws(CacheError) -> CacheLookup {
        try checkOpen()
        let (database, isPending, position) = state.withLock { state in
            (state.database, state.pendingKeys.contains(key), state.signOutCount)
        }
        guard let database else {
            reopen()
            throw CacheError(.damaged)
        }
        if isPending { try await flush() }
        let digest = database.digests.key(key)
        let found = try read { (connection, _) throws(StoreFault) in
            try Reading.lookUp(connection, digest, withBody: true)
        }
        if !found.damaged.isEmpty { discard(found.damaged) }
        state.withLock { $0.knownTicket = found.ticket }
        var lookup = CacheLookup(heads: found.heads, ticket: found.ticket, refusal: found.refusal)
        if let body = found.body, let id = found.heads.first?.id {
            lookup.opened = OpenedBody(id) { [self] in opened(id, body, body.segments, position) }
        }
        return lookup
    }

    /// A reader of a body; nil for one that is damaged.
    private func opened(
        _ id: UInt64,
        _ body: Reading.Body,
        _ segments: [Segment],
        _ position: Int
    ) -> (any CacheReader)? {
        let watch = SignOutWatch(body.account, self, ticket: body.ticket, position: position)
        guard
            let reader = BodyReader(id, body, segments, folder, watch, damaged: { [weak self] in self?.discard([$0]) })
        else {
            discard([id])
            return nil
        }
        noteUse(of: id)
        return reader
    }

    func open(_ id: UInt64, _ span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)? {
        try checkOpen()
        if state.withLock({ $0.pendingIDs.contains(id) }) { try await flush() }
        let position = state.withLock { $0.signOutCount }
        let body = try read { (connection, _) throws(StoreFault) in try Reading.body(connection, id) }
        guard let body else { return nil }
        guard let segments = Segment.covering(span ?? 0..<body.length, body.segments) else { return nil }
        return opened(id, body, segments, position)
    }

    private func noteUse(of id: UInt64) {
        let mustRecord = state.withLock { state in
            state.useCount += 1
            state.uses[id] = ((state.uses[id]?.count ?? 0) + 1, state.useCount)
            guard !state.isRecording, state.recorded.duration(to: time.now) >= Self.recordInterval else { return false }
            state.isRecording = true
            return true
        }
        guard mustRecord, !folder.isReadOnly else { return }
        let work = WriteJob.Work.change { session throws(StoreFault) in try session.recordUses() }
        _ = post(WriteJob(work: work, mayWait: true) { _ in })
    }

    /// Removes entries that are damaged.
    private func discard(_ ids: [UInt64]) {
        guard !folder.isReadOnly else { return }
        let work: @Sendable (WriteSession) throws(StoreFault) -> Void = { session throws(StoreFault) in
            let selection = StoredSelection(ResponseCache.Selection(.ids(Set(ids))), session.database.digests)
            _ = try session.remove(selection, atMost: ids.count)
        }
        _ = post(WriteJob(work: .change(work)) { _ in })
    }

    func hasSignedOut(_ account: String, after position: Int) -> Bool {
        state.withLock { state in
            let missed = state.signOutCount - position
            guard missed > 0 else { return false }
            return missed > state.signOuts.count
                || state.signOuts.suffix(missed).contains { $0.isSpelled(like: account) }
        }
    }

    func hasSignedOutElsewhere(_ account: String, since ticket: UInt64) -> Bool {
        // Without a database there is nothing that tells of it, and the body that is open is complete.
        (try? read { (connection, _) throws(StoreFault) in
            try Reading.hasSignedOut(connection, account, since: ticket)
        }) ?? false
    }

    /// Ends the readers of an account.
    func signOut(_ account: String) {
        state.withLock { state in
            state.signOutCount += 1
            state.signOuts.append(account)
            if state.signOuts.count > 64 { state.signOuts.removeFirst() }
        }
    }

    /// Notes that a removal or an invalidation begins or has ended: entries that were looked up meanwhile may be outdated.
    func noteRemoval() { state.withLock { $0.knownTicket = nil } }

    func setSettings(_ change: (inout SQLiteStore.Settings) -> Void) {
        state.withLock { change(&$0.settings) }
    }

    // MARK: - Exchanges

    /// Whether no process asks a server for a key; then this one does.
    func reserveExchange(for key: CacheKey) -> Bool {
        folder.isReadOnly || locks.lock(digests.key(key))
    }

    /// Ends the reservation, once the committed entry of the key is in the files.
    func endExchange(for key: CacheKey) {
        guard !folder.isReadOnly else { return }
        let isPending = state.withLock { state in
            let isPending = state.pendingKeys.contains(key)
            if isPending { state.unlocking.insert(key) }
            return isPending
        }
        if !isPending { locks.unlock(digests.key(key)) }
    }
}
