#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SystemTimeTests {
    @Test("service CL-01 the production clock returns the system's date")
    func date() {
        let before = Date()
        let date = SystemTime().date
        let after = Date()
        #expect(before <= date && date <= after)
    }

    @Test("service D-45 the production clock for waits never goes back")
    func monotonic() {
        let time = SystemTime()
        let readings = (0..<1_000).map { _ in time.now }
        #expect(zip(readings, readings.dropFirst()).allSatisfy { $0 <= $1 })
    }
}
