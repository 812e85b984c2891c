package import Lade
package import LadeCore

/// A board in the memory of one process, by the rules of ``BoardModel``.
///
/// The leases of a worker are extended for as long as it lives.
package final class LocalBoard: Sendable {
    private struct State {
        var model: BoardModel
        var holdings: [String: BoardHoldings] = [:]
        /// Workers that are ended or stopped, whose leases run out.
        var silent: Set<String> = []
        var isReachable = true
        var orders = 0
    }

    // Guarded by its lock.
    private let state: Locked<State>
    private let time: any TimeSource

    /// Makes an empty board.
    package init(time: any TimeSource, lease: Duration = .seconds(30)) {
        (state, self.time) = (Locked(State(model: BoardModel(lease: lease))), time)
    }

    /// The board of a worker, which lives from now on.
    package func worker(_ name: String) -> any WorkBoard {
        state.withLock { state in
            state.holdings[name] = BoardHoldings()
            state.silent.remove(name)
        }
        return Worker(board: self, name: name)
    }

    /// Ends the beats of a worker, as if its process had ended or was stopped.
    package func silence(_ name: String) { state.withLock { _ = $0.silent.insert(name) } }

    /// Continues the beats of a stopped worker.
    package func wake(_ name: String) { state.withLock { _ = $0.silent.remove(name) } }

    /// Removes everything, as a store that has lost its contents.
    package func lose() { _ = carryOut(.forget, of: "") }

    /// Whether orders reach the board; true by default.
    package var isReachable: Bool {
        get { state.withLock(\.isReachable) }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// The number of orders that were carried out, beats not included.
    package var orders: Int { state.withLock(\.orders) }

    fileprivate func carryOut(_ order: BoardOrder, of worker: String) -> BoardReply? {
        state.withLock { state in
            guard state.isReachable else { return nil }
            let now = beat(&state)
            state.orders += 1
            let reply = state.model.carryOut(order, of: worker, at: now)
            state.holdings[worker]?.note(reply, to: order)
            return reply
        }
    }

    fileprivate func holdings(of worker: String) -> BoardHoldings {
        state.withLock { state in
            if state.isReachable { beat(&state) }
            return state.holdings[worker] ?? BoardHoldings()
        }
    }

    /// Extends the leases of the workers that live, which do so all the time.
    @discardableResult
    private func beat(_ state: inout State) -> Int {
        let now = Int(time.now.nanoseconds / 1_000)
        for (name, holdings) in state.holdings where !state.silent.contains(name) {
            guard let beat = holdings.beat else { continue }
            state.holdings[name]?.note(state.model.carryOut(beat, of: name, at: now), to: beat)
        }
        return now
    }

    private final class Worker: WorkBoard {
        let board: LocalBoard
        let name: String

        init(board: LocalBoard, name: String) { (self.board, self.name) = (board, name) }

        func carryOut(_ order: BoardOrder) async -> BoardReply? { board.carryOut(order, of: name) }

        func standing(of lease: BoardLease) -> BoardStanding { board.holdings(of: name).standing(of: lease) }

        func holdsMerge(fence: Int) -> Bool { board.holdings(of: name).holdsMerge(fence: fence) }
    }
}
