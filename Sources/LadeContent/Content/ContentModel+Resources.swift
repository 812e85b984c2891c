import LadeCore

extension ContentModel {
    /// The tasks and sequences of a model, which end with the model.
    ///
    /// A separate object because a `deinit` runs outside the main actor. One lock guards the tasks.
    final class Resources<LoadInput: Sendable, LoadValue: Sendable>: Sendable {
        private struct State {
            var loads: [Int: Task<Void, Never>] = [:]
            var bindings: [Task<Void, Never>] = []
            var debounce: Task<Void, Never>?
            var stores: [Int: Task<Void, Never>] = [:]
        }

        let snapshots = Broadcast<ContentSnapshot<LoadValue>>()
        let changes = Broadcast<LoadValue>()
        let errors = Broadcast<any Error>()
        let refreshes = Broadcast<LoadInput?>()
        private let state = Locked(State())

        func keep(_ task: Task<Void, Never>, _ load: Int) {
            state.withLock { $0.loads[load] = task }
        }

        func keep(_ task: Task<Void, Never>, storeOf load: Int) {
            state.withLock { $0.stores[load] = task }
        }

        func keep(_ binding: Task<Void, Never>) {
            state.withLock { $0.bindings.append(binding) }
        }

        /// Cancels the tasks of a load, which may have ended.
        func cancel(_ load: Int) {
            let tasks = state.withLock { [$0.loads.removeValue(forKey: load), $0.stores.removeValue(forKey: load)] }
            for task in tasks { task?.cancel() }
        }

        /// Removes the task of a load that ended, but not the task of its store.
        func remove(_ load: Int) {
            state.withLock { $0.loads[load] = nil }
        }

        /// Cancels the tasks of the stores, also those of loads that failed, except of these loads.
        func cancelStores(except loads: [Int]) {
            let stores = state.withLock { state in
                let kept = state.stores.filter { loads.contains($0.key) }
                defer { state.stores = kept }
                return state.stores.filter { kept[$0.key] == nil }
            }
            for task in stores.values { task.cancel() }
        }

        func debounce(_ task: Task<Void, Never>?) {
            let old = state.withLock { state in
                defer { state.debounce = task }
                return state.debounce
            }
            old?.cancel()
        }

        /// Cancels every task and ends every sequence.
        func finish() {
            let state = state.withLock { state in
                defer { state = State() }
                return state
            }
            for task in state.loads.values { task.cancel() }
            for task in state.stores.values { task.cancel() }
            for task in state.bindings { task.cancel() }
            state.debounce?.cancel()
            snapshots.finish()
            changes.finish()
            errors.finish()
            refreshes.finish()
        }
    }
}
