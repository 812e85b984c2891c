@testable import Lade
import LadeTesting
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Groups of work")
struct WorkGroupTests {
    /// What the thread has computed so far, in nanoseconds; other threads and other processes do not count.
    private var computed: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// What it costs to find 500 of so many calls in flight, the best of five.
    private func cost(amongst count: Int) throws -> Int64 {
        let group = WorkGroup()
        let request = try Request("https://svc.example.com/")
        let calls = (0..<count).map { _ in CallScope(request) }
        for call in calls { #expect(group.join(call)) }
        let found = stride(from: 0, to: count, by: count / 500).map { calls[$0] }
        let costs = (0..<5).map { _ in
            let start = computed
            for call in found {
                group.leave(call)
                _ = group.join(call)
            }
            return computed - start
        }
        return costs.min() ?? 0
    }

    @Test("service D-39 finds a call amongst 16,000 in flight about as fast as amongst 1,000")
    func findsCalls() throws {
        // Looking through all of them would take 16 times as long.
        #expect(try cost(amongst: 16_000) < 5 * cost(amongst: 1_000))
    }
}
