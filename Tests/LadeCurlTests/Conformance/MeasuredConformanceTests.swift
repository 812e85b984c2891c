import Testing

// Each in a process of its own, one after the other: they measure memory, descriptors and processor time.
@Suite("Transport conformance of CurlTransport: measured", .serialized, .timeLimit(.minutes(10)))
struct MeasuredConformanceTests {
    @Test(
        "transport TR-51 finding FQ-24 uploads 256 MiB from a file and from a sequence with little memory",
        .timeLimit(.minutes(10))
    )
    func tr51() async throws {
        try skipUnlessRunnable("TR-51")
        await #expect(processExitsWith: .success) { try await conform("TR-51") }
    }

    @Test(
        "transport TR-52 finding FQ-24 applies backpressure while a body of 256 MiB is read slowly",
        .timeLimit(.minutes(10))
    )
    func tr52() async throws {
        try skipUnlessRunnable("TR-52")
        await #expect(processExitsWith: .success) { try await conform("TR-52") }
    }

    @Test(
        "goes through HTTP and SOCKS5 proxies and keeps their credentials from the origin: transport TR-57 finding FQ-24",
        .timeLimit(.minutes(10))
    )
    func tr57() async throws {
        try skipUnlessRunnable("TR-57")
        await #expect(processExitsWith: .success) { try await conform("TR-57") }
    }

    @Test(
        "transport TR-85 makes 10,000 calls in a row and leaks neither memory nor descriptors",
        .timeLimit(.minutes(10))
    )
    func tr85() async throws {
        try skipUnlessRunnable("TR-85")
        await #expect(processExitsWith: .success) { try await conform("TR-85") }
    }

    @Test(
        "transport TR-86 ends every call as cancelled when it is shut down, and leaves nothing behind",
        .timeLimit(.minutes(10))
    )
    func tr86() async throws {
        try skipUnlessRunnable("TR-86")
        await #expect(processExitsWith: .success) { try await conform("TR-86") }
    }

    @Test("transport TR-87 ends each of 10,000 calls once and correctly under random faults", .timeLimit(.minutes(10)))
    func tr87() async throws {
        try skipUnlessRunnable("TR-87")
        await #expect(processExitsWith: .success) { try await conform("TR-87") }
    }

    @Test(
        "transport TR-93 uses at most four times the memory of one slow HTTP/2 reader for four",
        .timeLimit(.minutes(10))
    )
    func tr93() async throws {
        try skipUnlessRunnable("TR-93")
        await #expect(processExitsWith: .success) { try await conform("TR-93") }
    }

    @Test("transport TR-94 parses its authorities once for 1,000 TLS connections", .timeLimit(.minutes(10)))
    func tr94() async throws {
        try skipUnlessRunnable("TR-94")
        await #expect(processExitsWith: .success) { try await conform("TR-94") }
    }

    @Test(
        "transport TR-95 serves 2,000 waiting calls in order, at the cost of six at a time",
        .timeLimit(.minutes(10))
    )
    func tr95() async throws {
        try skipUnlessRunnable("TR-95")
        await #expect(processExitsWith: .success) { try await conform("TR-95") }
    }
}
