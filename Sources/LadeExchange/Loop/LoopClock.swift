#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The clock of the loop: the system's monotonic clock, in nanoseconds.
///
/// The waits of the loop use the system's clock, so a test can advance this clock but not stop it.
package struct LoopClock: Sendable {
    /// How far this clock is ahead of the system's; 0 outside of tests.
    package var lead: @Sendable () -> Int64

    package init(lead: @escaping @Sendable () -> Int64 = { 0 }) {
        self.lead = lead
    }

    /// The current time.
    package func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) + lead()
    }

    /// The system's time for a time of this clock.
    package func systemTime(_ moment: Int64) -> Int64 {
        moment == .max ? .max : moment - lead()
    }
}
