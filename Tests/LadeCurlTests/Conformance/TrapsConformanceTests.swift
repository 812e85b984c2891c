import Testing

@Suite("Transport conformance of CurlTransport: traps", .timeLimit(.minutes(5)))
struct TrapsConformanceTests {
    @Test(
        "transport TR-90 continues all other calls when a call is cancelled in its name look-up",
        .timeLimit(.minutes(5))
    )
    func tr90() async throws {
        try await conform("TR-90")
    }

    @Test("transport TR-91 does not send a POST twice when a reused connection dies", .timeLimit(.minutes(5)))
    func tr91() async throws {
        try await conform("TR-91")
    }

    @Test("transport TR-92 makes 512 concurrent HTTP/2 calls within the limits of both sides", .timeLimit(.minutes(5)))
    func tr92() async throws {
        try await conform("TR-92")
    }
}
