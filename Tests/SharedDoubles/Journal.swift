import LadeCore
import LadeTesting

/// Records reports, in order, and lets a test wait for them.
package final class Journal<Entry: Sendable>: Sendable {
    private let entries = Locked<[Entry]>([])
    private let signal = Signal()

    package init() {}

    package func add(_ entry: Entry) {
        entries.withLock { $0.append(entry) }
        signal.step()
    }

    package var all: [Entry] { entries.withLock { $0 } }

    /// Waits until this many more entries than in earlier waits are present, and returns all.
    package func next(_ count: Int = 1) async throws -> [Entry] {
        for _ in 0..<count { try await signal.wait() }
        return all
    }
}
