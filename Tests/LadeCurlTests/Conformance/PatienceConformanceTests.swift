import Testing

@Suite("Transport conformance of CurlTransport: slow readers, slow servers, queues", .timeLimit(.minutes(5)))
struct PatienceConformanceTests {
    @Test("finding FT-1 keeps the connection of a slow reader")
    func slowReader() async throws {
        try await conform("FT-1")
    }

    @Test("finding FT-3 counts idleness from the latest byte")
    func heartbeat() async throws {
        try await conform("FT-3")
    }

    @Test("finding FT-4 counts the wait for a connection against the deadline only")
    func queueing() async throws {
        try await conform("FT-4")
    }

    @Test("finding LX-6 a deadline within an exchange says that it was in progress")
    func deadline() async throws {
        try await conform("LX-6")
    }
}
