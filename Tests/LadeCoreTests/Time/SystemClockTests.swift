import Testing

@testable import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.timeLimit(.minutes(5)))
struct SystemClockTests {
    /// The time since the system started, without that in which it slept.
    private var awake: Instant {
        #if canImport(Darwin)
            return Instant(nanoseconds: Int64(clock_gettime_nsec_np(CLOCK_UPTIME_RAW)))
        #else
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        #endif
    }

    @Test("finding AF-5 the clock of time-outs does not count the time in which the system sleeps")
    func asleep() {
        let before = awake
        let now = SystemTime().now
        #expect(before <= now)
        #expect(now <= awake)
    }
}
