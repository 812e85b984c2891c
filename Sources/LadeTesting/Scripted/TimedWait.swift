import LadeCore

/// Waits of a script that the time-out of the whole exchange may end early.
enum TimedWait {
    /// How a wait ended.
    enum Ending: Sendable {
        /// It ended as scripted.
        case done
        /// The limit came first.
        case timedOut
        /// The task was cancelled.
        case cancelled
    }

    /// Sleeps for a duration, or until the limit if that comes first.
    static func sleep(for duration: Duration, _ limit: Instant?, _ time: any TimeSource) async -> Ending {
        let end = time.now.advanced(by: duration)
        do throws(LoadingError) {
            try await time.sleep(until: limit.map { min($0, end) } ?? end)
        } catch {
            return .cancelled
        }
        return limit.map { $0 < end } ?? false ? .timedOut : .done
    }

    /// Runs a wait that throws only when its task is cancelled, until the limit at most.
    static func run(
        _ limit: Instant?,
        _ time: any TimeSource,
        _ wait: @escaping @Sendable () async throws(LoadingError) -> Void
    ) async -> Ending {
        guard let limit else { return await outcome(of: wait, .done) }
        return await withTaskGroup(of: Ending.self) { group in
            group.addTask { await outcome(of: wait, .done) }
            group.addTask {
                await outcome(of: { () async throws(LoadingError) in try await time.sleep(until: limit) }, .timedOut)
            }
            let first = await group.next() ?? .cancelled
            group.cancelAll()
            return first
        }
    }

    private static func outcome(
        of wait: @Sendable () async throws(LoadingError) -> Void,
        _ success: Ending
    ) async -> Ending {
        do throws(LoadingError) {
            try await wait()
            return success
        } catch {
            return .cancelled
        }
    }
}
