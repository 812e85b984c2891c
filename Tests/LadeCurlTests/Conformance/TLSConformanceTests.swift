import Testing

@Suite("Transport conformance of CurlTransport: TLS", .timeLimit(.minutes(5)))
struct TLSConformanceTests {
    @Test(
        "transport TR-70 accepts the certificate of a private authority that was given to it",
        .timeLimit(.minutes(5))
    )
    func tr70() async throws {
        try await conform("TR-70")
    }

    @Test("transport TR-71 refuses bad certificates and names the cause", .timeLimit(.minutes(5)))
    func tr71() async throws {
        try await conform("TR-71")
    }

    @Test("transport TR-72 accepts a pinned key and its backup, and no other", .timeLimit(.minutes(5)))
    func tr72() async throws {
        try await conform("TR-72")
    }

    @Test("transport TR-73 prefers the pins of an exact host to those of a pattern", .timeLimit(.minutes(5)))
    func tr73() async throws {
        try await conform("TR-73")
    }

    @Test("transport TR-74 presents a client certificate, and reports when it has none", .timeLimit(.minutes(5)))
    func tr74() async throws {
        try await conform("TR-74")
    }

    @Test(
        "transport TR-75 accepts any certificate only with the unsafe setting, and reports each use",
        .timeLimit(.minutes(5))
    )
    func tr75() async throws {
        try await conform("TR-75")
    }

    @Test("finding FT-8 finds the pins of a host in any spelling of its name", .timeLimit(.minutes(5)))
    func ft8() async throws {
        try await conform("FT-8")
    }
}
