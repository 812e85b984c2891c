import LadeCore
import Testing

@testable import LadeURLSession

@Suite(.timeLimit(.minutes(5)))
struct HostGateTests {
    @Test("a place is given to the next in order when one leaves")
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func order() async throws {
        let gate = HostGate(limit: 1)
        var first: HostGate.Permit? = try await gate.enter("a", context: LoadingError.Context())
        let log = Locked<[Int]>([])
        let tasks = await withTaskGroup(of: Void.self, returning: [Int].self) { group in
            for number in 1...3 {
                // Each runs until it waits in the gate's queue before the next one arrives.
                group.addImmediateTask {
                    let permit = try? await gate.enter("a", context: LoadingError.Context())
                    log.withLock { $0.append(number) }
                    withExtendedLifetime(permit) {}
                }
            }
            first = nil
            await group.waitForAll()
            return log.withLock { $0 }
        }
        #expect(first == nil)
        #expect(tasks == [1, 2, 3])
    }

    @Test("hosts do not wait for each other")
    func hosts() async throws {
        let gate = HostGate(limit: 1)
        let one = try await gate.enter("a", context: LoadingError.Context())
        let other = try await gate.enter("b", context: LoadingError.Context())
        withExtendedLifetime((one, other)) {}
    }

    @Test("a cancelled waiter leaves the queue, and takes no slot")
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func cancelling() async throws {
        let gate = HostGate(limit: 1)
        let first = try await gate.enter("a", context: LoadingError.Context())
        let waiter = Task.immediate { _ = try await gate.enter("a", context: LoadingError.Context()) }
        waiter.cancel()
        let error = await #expect(throws: LoadingError.self) { try await waiter.value }
        #expect(error?.isCancellation == true)
        withExtendedLifetime(first) {}
    }

    @Test("a cancelled waiter leaves its own position in the queue, and the others keep theirs")
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func cancellingOne() async throws {
        let gate = HostGate(limit: 1)
        var permit: HostGate.Permit? = try await gate.enter("a", context: LoadingError.Context())
        let first = Task.immediate { _ = try await gate.enter("a", context: LoadingError.Context()) }
        let second = Task.immediate { _ = try await gate.enter("a", context: LoadingError.Context()) }
        second.cancel()
        permit = nil
        await #expect(throws: Never.self) { try await first.value }
        let error = await #expect(throws: LoadingError.self) { try await second.value }
        #expect(error?.isCancellation == true)
        #expect(permit == nil)
    }

    /// Enters immediately, or not at all.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private func entersImmediately(_ gate: HostGate) async -> Bool {
        let task = Task.immediate { _ = try await gate.enter("a", context: LoadingError.Context()) }
        task.cancel()
        return await (try? task.value) != nil
    }

    @Test("a slot is free again after its exchange, when no other exchange waits for it")
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func leaving() async throws {
        let gate = HostGate(limit: 1)
        var permit: HostGate.Permit? = try await gate.enter("a", context: LoadingError.Context())
        #expect(await !entersImmediately(gate))
        permit = nil
        #expect(await entersImmediately(gate))
        #expect(permit == nil)
    }

    @Test("a limit below one is one", arguments: [0, -1])
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func lowestLimit(_ limit: Int) async {
        #expect(await entersImmediately(HostGate(limit: limit)))
    }

    @Test("a waiter that is cancelled before it begins takes no slot")
    func cancelledBefore() async {
        let gate = HostGate(limit: 1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await gate.enter("a", context: LoadingError.Context())
        }
        let error = await #expect(throws: LoadingError.self) { try await task.value }
        #expect(error?.isCancellation == true)
    }
}
