import LadeContent
import LadeCore
import LadeTesting
import Testing

/// The waits of this target's doubles, which the time limit of a suite must be able to end.
@MainActor
@Suite("Waits of test doubles", .timeLimit(.minutes(5)))
struct WaitTests {
    /// A wait for what never happens.
    enum Wait: CaseIterable {
        case begun
        case cancelled
    }

    @Test("finding QF-6 a wait of a double ends with its task", arguments: Wait.allCases)
    func endsWithItsTask(wait: Wait) async throws {
        let script = LoadScript<Int, Int>()
        let task = Task {
            switch wait {
            case .begun: try await script.begun(1)
            case .cancelled: try await script.cancelled(load: 0)
            }
        }

        task.cancel()

        await #expect(throws: LoadingError.self) { try await task.value }
    }
}
