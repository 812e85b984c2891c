import Testing

// Each in a process of its own, one after the other: they measure memory, descriptors and processor time.
@Suite("Transport conformance of CurlTransport: measured", .serialized)
struct MeasuredConformanceTests {
    @Test("transport TR-51 uploads 256 MiB from a file and from a sequence in little memory", .timeLimit(.minutes(10)))
    func tr51() async throws {
        try skipUnlessRunnable("TR-51")
        await #expect(processExitsWith: .success) { try await conform("TR-51") }
    }

    @Test("transport TR-52 holds the server back while a body of 256 MiB is read slowly", .timeLimit(.minutes(10)))
    func tr52() async throws {
        try skipUnlessRunnable("TR-52")
        await #expect(processExitsWith: .success) { try await conform("TR-52") }
    }

    @Test(
        "transport TR-57 goes through HTTP and SOCKS5 proxies and keeps their credentials from the origin",
        .timeLimit(.minutes(10))
    )
    func tr57() async throws {
        try skipUnlessRunnable("TR-57")
        await #expect(processExitsWith: .success) { try await conform("TR-57") }
    }
}
