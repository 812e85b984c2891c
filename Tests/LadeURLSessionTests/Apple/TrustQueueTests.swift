import Foundation
import LadeTesting
import Testing

@testable import LadeURLSession

@Suite("The queue of certificate checks", .timeLimit(.minutes(5)))
struct TrustQueueTests {
    @Test("finding FT-16 a check that waits holds up neither the delegate's queue nor other checks")
    func checks() async throws {
        let queue = TrustQueue()
        // As the session's: one callback at a time.
        let delegate = OperationQueue()
        delegate.maxConcurrentOperationCount = 1
        let answered = DispatchSemaphore(value: 0)
        let (first, second, callback) = (Signal(), Signal(), Signal())

        delegate.addOperation {
            queue.check {
                answered.wait()
                first.raise()
            }
        }
        delegate.addOperation { queue.check { second.raise() } }
        delegate.addOperation { callback.raise() }

        try await callback.wait()
        try await second.wait()
        #expect(!first.isRaised)
        answered.signal()
        try await first.wait()
    }
}
