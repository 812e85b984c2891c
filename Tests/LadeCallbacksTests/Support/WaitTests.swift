import LadeCallbacks
import LadeCore
import LadeTesting
import Testing

/// The waits of this target's doubles, which the time limit of a suite must be able to end.
@MainActor
@Suite("Waits of test doubles", .timeLimit(.minutes(5)))
struct WaitTests {
    /// A wait for what never happens.
    enum Wait: CaseIterable {
        case delivered
        case ended
    }

    @Test("finding QF-6 a wait of a double ends with its task", arguments: Wait.allCases)
    func endsWithItsTask(wait: Wait) async throws {
        let delivered = Deliveries<Int>()
        let rig = HandleRig()
        let request = try rig.data("/stall")
        request.resume()
        let task = Task {
            switch wait {
            case .delivered: _ = try await delivered.wait(for: 1)
            case .ended: try await end(of: request)
            }
        }

        task.cancel()

        await #expect(throws: LoadingError.self) { try await task.value }
        request.cancel()
    }
}
