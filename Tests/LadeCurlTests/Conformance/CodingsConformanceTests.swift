import Testing

@Suite("Transport conformance of CurlTransport: content codings", .timeLimit(.minutes(5)))
struct CodingsConformanceTests {
    @Test("finding FH-3 treats a coded body as complete only at the end of its coding", .timeLimit(.minutes(5)))
    func fh3() async throws {
        try await conform("FH-3")
    }

    @Test("finding FT-6 counts the bytes of a coded body as they come, whatever is announced", .timeLimit(.minutes(5)))
    func ft6() async throws {
        try await conform("FT-6")
    }

    @Test(
        "finding FT-10 keeps at most the high-water mark of a coded body that is not read",
        .timeLimit(.minutes(5))
    )
    func ft10() async throws {
        try skipUnlessRunnable("FT-10")
        await #expect(processExitsWith: .success) { try await conform("FT-10") }
    }

    @Test(
        "finding FT-18 removes Content-Encoding and Content-Length from decoded answers only",
        .timeLimit(.minutes(5))
    )
    func ft18() async throws {
        try await conform("FT-18")
    }
}
