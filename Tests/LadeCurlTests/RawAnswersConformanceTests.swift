import LadeTesting
import Testing

@Suite("transport, 1 raw answers")
struct RawAnswersConformanceTests {
    @Test("transport all", arguments: 1...23)
    func all(_ n: Int) async throws { try await conform(n < 10 ? "TR-0\(n)" : "TR-\(n)") }
}
