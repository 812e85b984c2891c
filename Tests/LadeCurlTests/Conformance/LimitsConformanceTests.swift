import Testing

@Suite("Transport conformance of CurlTransport: limits", .timeLimit(.minutes(5)))
struct LimitsConformanceTests {
    @Test("transport TR-80 times out each phase separately, and names it", .timeLimit(.minutes(5)))
    func tr80() async throws {
        try await conform("TR-80")
    }

    @Test("transport TR-81 refuses a body above the limit as soon as it is known", .timeLimit(.minutes(5)))
    func tr81() async throws {
        try await conform("TR-81")
    }

    @Test("transport TR-82 refuses a body that grows too much when decoded", .timeLimit(.minutes(5)))
    func tr82() async throws {
        try await conform("TR-82")
    }

    @Test("never has more connections than it may: transport TR-83 finding FQ-24", .timeLimit(.minutes(5)))
    func tr83() async throws {
        try await conform("TR-83")
    }

    @Test("transport TR-84 finding FQ-24 reports what an exchange cost", .timeLimit(.minutes(5)))
    func tr84() async throws {
        try await conform("TR-84")
    }
}
