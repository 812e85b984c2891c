package import Lade
package import LadeCore

/// The board of a run in the store of a fleet.
final class RedisBoard: WorkBoard {
    private struct State {
        var holdings = BoardHoldings()
        /// The run as this worker has opened it.
        var run: BoardRun?
        var number = 0
    }

    private let core: FleetCore
    private let record: BoardRecord
    // Guarded by its lock.
    private let state = Locked(State())

    init(_ core: FleetCore, _ record: BoardRecord) {
        (self.core, self.record) = (core, record)
        let number = core.attachBoard { [weak self] in self?.beat() }
        state.withLock { $0.number = number }
    }

    deinit { core.detachBoard(state.withLock(\.number)) }

    func carryOut(_ order: BoardOrder) async -> BoardReply? {
        guard order.isValid else { return .refused }
        return await withResumption { resumption in
            core.carryOut(order, of: record) { [self] in resumption.resume(returning: note($0, to: order)) }
        }
    }

    func standing(of lease: BoardLease) -> BoardStanding { state.withLock { $0.holdings.standing(of: lease) } }

    func holdsMerge(fence: Int) -> Bool { state.withLock { $0.holdings.holdsMerge(fence: fence) } }

    /// Extends the leases; called on the thread of the fleet.
    private func beat() {
        guard let order = state.withLock(\.holdings.beat) else { return }
        core.carryOut(order, of: record) { [weak self] in _ = self?.note($0, to: order) }
    }

    /// Notes a reply; nil for a lease that is none of the run.
    private func note(_ reply: BoardReply?, to order: BoardOrder) -> BoardReply? {
        guard let reply else { return nil }
        let isPossible = state.withLock { state in
            if case .open(let run, _, _, _) = order { state.run = run }
            if case .lease(let lease) = reply, state.run?.allows(lease) == false { return false }
            state.holdings.note(reply, to: order)
            return true
        }
        if isPossible { return reply }
        core.pass(.event(.fleetFault("the board “\(record.name)” has a lease that is none of its run")), to: nil)
        return nil
    }
}

extension Fleet {
    /// The board of a run, by which this member and others do one harvest.
    ///
    /// - Parameters:
    ///   - name: The name of the run in the fleet, from 1 to 64 visible characters of ASCII.
    ///   - lease: How long a worker that is not heard of keeps its segments.
    /// - Returns: The board of a worker with the name of this member.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a name or a time that cannot be used.
    package func board(_ name: String, lease: Duration = .seconds(30)) throws(LoadingError) -> any WorkBoard {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw FleetAddress.fault("the name of a run must have 1 to 64 visible characters of ASCII")
        }
        guard (.milliseconds(100) ... .seconds(3_600)).contains(lease) else {
            throw LoadingError(.invalidSetting(name: "lease", reason: "it must be from 100 milliseconds to an hour"))
        }
        return RedisBoard(core, BoardRecord(name: name, worker: memberName, lease: lease))
    }
}
