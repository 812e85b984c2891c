import LadeContent
import LadeCore
import LadeTesting

/// Loads whose outcomes a test determines individually.
final class LoadScript<Input: Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value?, any Error>

    private struct Entry {
        var input: Input?
        var outcome: Outcome?
        var isCancelled = false
    }

    // A wait ends with its task, so that the time limit of a suite ends the test that hangs.
    private let entries = Watched<[Entry]>([])
    private let endsWhenCancelled: Bool

    /// Makes a script whose loads end when they are cancelled, or continue and deliver anyway.
    init(endsWhenCancelled: Bool = true) {
        self.endsWhenCancelled = endsWhenCancelled
    }

    /// The inputs of the loads that began, in order.
    var inputs: [Input?] { entries.read { $0.map(\.input) } }

    @concurrent
    func load(_ input: Input?) async throws -> Value? {
        let number = entries.change { entries in
            entries.append(Entry(input: input))
            return entries.count - 1
        }
        let outcome = await withTaskCancellationHandler {
            // A load that goes on although it was cancelled waits in a task that is not.
            await Task { [entries] in try await entries.value { $0[number].outcome } }.result
        } onCancel: {
            cancelled(number)
        }
        return try outcome.get().get()
    }

    private func cancelled(_ number: Int) {
        entries.change { $0[number].isCancelled = true }
        if endsWhenCancelled { end(number, .failure(CancellationError())) }
    }

    /// Waits until a number of loads have begun.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled, as by the time limit of the suite.
    func begun(_ count: Int) async throws {
        try await entries.value { $0.count >= count ? () : nil }
    }

    /// Waits until a load was cancelled.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled.
    func cancelled(load number: Int) async throws {
        try await entries.value { $0.indices.contains(number) && $0[number].isCancelled ? () : nil }
    }

    /// Ends a load that has begun; only the first outcome counts.
    func end(_ number: Int, _ outcome: Outcome) {
        entries.change { if $0[number].outcome == nil { $0[number].outcome = outcome } }
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
