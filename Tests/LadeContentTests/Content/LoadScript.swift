import LadeContent
import LadeCore

/// Loads whose outcomes a test determines individually.
final class LoadScript<Input: Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value?, any Error>

    private struct Entry {
        var input: Input?
        var outcome: Outcome?
        var isCancelled = false
        var waiter: CheckedContinuation<Outcome, Never>?
    }

    private struct State {
        var entries: [Entry] = []
        var arrivals: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var cancellations: [(number: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())
    private let endsWhenCancelled: Bool

    /// Makes a script whose loads end when they are cancelled, or continue and deliver anyway.
    init(endsWhenCancelled: Bool = true) {
        self.endsWhenCancelled = endsWhenCancelled
    }

    /// The inputs of the loads that began, in order.
    var inputs: [Input?] { state.withLock { $0.entries.map(\.input) } }

    @concurrent
    func load(_ input: Input?) async throws -> Value? {
        let (number, arrived) = state.withLock { state in
            state.entries.append(Entry(input: input))
            let count = state.entries.count
            defer { state.arrivals.removeAll { $0.count <= count } }
            return (count - 1, state.arrivals.filter { $0.count <= count }.map(\.continuation))
        }
        for continuation in arrived { continuation.resume() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    if let outcome = state.entries[number].outcome { return outcome }
                    state.entries[number].waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            cancelled(number)
        }
        return try outcome.get()
    }

    private func cancelled(_ number: Int) {
        let waiting = state.withLock { state in
            state.entries[number].isCancelled = true
            defer { state.cancellations.removeAll { $0.number == number } }
            return state.cancellations.filter { $0.number == number }.map(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
        if endsWhenCancelled { end(number, .failure(CancellationError())) }
    }

    /// Waits until a number of loads have begun.
    func begun(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                guard state.entries.count < count else { return true }
                state.arrivals.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until a load was cancelled.
    func cancelled(load number: Int) async {
        await withCheckedContinuation { continuation in
            let isCancelled = state.withLock { state -> Bool in
                guard !state.entries[number].isCancelled else { return true }
                state.cancellations.append((number, continuation))
                return false
            }
            if isCancelled { continuation.resume() }
        }
    }

    /// Ends a load that has begun; only the first outcome counts.
    func end(_ number: Int, _ outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.entries[number].outcome == nil else { return nil }
            state.entries[number].outcome = outcome
            defer { state.entries[number].waiter = nil }
            return state.entries[number].waiter
        }
        waiter?.resume(returning: outcome)
    }
}

/// The error that loads in tests fail with.
struct LoadingTestError: Error, Hashable {
    var code = 0
}

/// All elements of a sequence until it ends.
func all<Element: Sendable>(_ sequence: some AsyncSequence<Element, Never> & Sendable) async -> [Element] {
    var elements: [Element] = []
    for await element in sequence { elements.append(element) }
    return elements
}

/// The state of a model once no load is in progress.
@MainActor
func settled<Input, Value>(_ model: ContentModel<Input, Value>) async -> ContentState<Value> {
    for await snapshot in model.snapshots() where !snapshot.isLoading { return snapshot.state }
    return .loading
}
