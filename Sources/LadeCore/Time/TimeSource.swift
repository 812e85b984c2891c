#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The source of every wait and every date on the request path.
///
/// Programs use ``SystemTime``; tests use `VirtualTime` of `LadeTesting`, whose time moves only when a test advances
/// it.
public protocol TimeSource: Sendable {
    /// The current instant; never goes back.
    var now: Instant { get }

    /// The current date; may jump when the system's clock is set.
    var date: Date { get }

    /// Waits until `deadline`; returns immediately when it has passed.
    ///
    /// - Throws: ``LoadingError/Kind/cancelled`` as soon as the current task is cancelled.
    func sleep(until deadline: Instant) async throws(LoadingError)
}

extension TimeSource {
    /// Waits for `duration` from now.
    ///
    /// - Throws: ``LoadingError/Kind/cancelled`` as soon as the current task is cancelled.
    public func sleep(for duration: Duration) async throws(LoadingError) {
        try await sleep(until: now.advanced(by: duration))
    }
}

/// The system's monotonic clock and calendar date.
///
/// The clock stands still while the system sleeps. A time-out of 30 seconds that has 20 seconds left when a device goes
/// to sleep has 20 seconds left when it wakes. Dates go on, so a credential that ends at a date has ended by then.
public struct SystemTime: TimeSource {
    /// Makes the system's time source; all values of this type are equal.
    public init() {}

    /// The clock that does not count the time in which the system sleeps: Darwin's `CLOCK_MONOTONIC` counts it, Linux's does
    /// not.
    private static var clock: clockid_t {
        #if canImport(Darwin)
            CLOCK_UPTIME_RAW
        #else
            CLOCK_MONOTONIC
        #endif
    }

    /// The monotonic clock's reading.
    public var now: Instant {
        var time = timespec()
        clock_gettime(Self.clock, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The system's date.
    public var date: Date { Date() }

    /// Suspends the task until the monotonic clock reaches `deadline`.
    public func sleep(until deadline: Instant) async throws(LoadingError) {
        guard !Task.isCancelled else { throw LoadingError(.cancelled) }
        guard deadline > now else { return }
        guard await Sleepers.shared.sleep(until: deadline) else { throw LoadingError(.cancelled) }
    }
}
