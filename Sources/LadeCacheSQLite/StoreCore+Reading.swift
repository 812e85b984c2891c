import LadeCache
import LadeCore

/// Reading, on threads of callers.
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
        guard let digest = (state.withLock { $0.database })?.digests.key(key) else {
            reopen()
            throw CacheError(.damaged)
        }
        if state.withLock({ $0.pendingKeys.contains(digest) }) { try await flush() }
        let lookup = try read { (connection, _) throws(StoreFault) in try Reading.lookUp(connection, digest) }
        if !lookup.damaged.isEmpty { discard(lookup.damaged) }
        return CacheLookup(heads: lookup.heads, ticket: lookup.ticket, refusal: lookup.refusal)
    }

    func open(_ id: UInt64, _ span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)? {
        try checkOpen()
        if state.withLock({ $0.pendingIDs.contains(id) }) { try await flush() }
        let position = state.withLock { $0.signOutCount }
        let body = try read { (connection, _) throws(StoreFault) in try Reading.body(connection, id) }
        guard let body else { return nil }
        guard let segments = Segment.covering(span ?? 0..<body.length, body.segments) else { return nil }
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

    private func noteUse(of id: UInt64) {
        let mustRecord = state.withLock { state in
            state.useCount += 1
            state.uses[id] = ((state.uses[id]?.count ?? 0) + 1, state.useCount)
            guard !state.isRecording, state.recorded.duration(to: time.now) >= Self.recordInterval else { return false }
            state.isRecording = true
            return true
        }
        guard mustRecord, !folder.isReadOnly else { return }
        _ = post(WriteJob(work: .change { session throws(StoreFault) in try session.recordUses() }) { _ in })
    }

    /// Removes entries that are damaged.
    private func discard(_ ids: [UInt64]) {
        guard !folder.isReadOnly else { return }
        let work: @Sendable (WriteSession) throws(StoreFault) -> Void = { session throws(StoreFault) in
            let selection = StoredSelection(CacheSelection(.ids(Set(ids))), session.database.digests)
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
}
