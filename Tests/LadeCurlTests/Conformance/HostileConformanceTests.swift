import Testing

@Suite("Transport conformance of CurlTransport: hostile servers", .timeLimit(.minutes(10)))
struct HostileConformanceTests {
    @Test(
        "finding FH-1 no byte that arrived before a request is a part of its response",
        .timeLimit(.minutes(5))
    )
    func fh1() async throws {
        try await conform("FH-1")
    }

    @Test(
        "finding FT-9 surplus after any answer closes the connection and fails nothing that was complete",
        .timeLimit(.minutes(5))
    )
    func ft9() async throws {
        try await conform("FT-9")
    }

    @Test("finding FH-2 a flood of control frames holds up neither other hosts nor deadlines", .timeLimit(.minutes(5)))
    func fh2() async throws {
        try await conform("FH-2")
    }

    @Test("finding FH-4 a body of HTTP/2 is complete after END_STREAM only", .timeLimit(.minutes(5)))
    func fh4() async throws {
        try await conform("FH-4")
    }

    @Test(
        "finding FH-5 a body of HTTPS without a length is incomplete when TLS did not end",
        .timeLimit(.minutes(5))
    )
    func fh5() async throws {
        try await conform("FH-5")
    }

    @Test("finding FH-11 a malformed response of HTTP/2 is named and not asked for again", .timeLimit(.minutes(5)))
    func fh11() async throws {
        try await conform("FH-11")
    }

    @Test("finding FH-13 chunks are read by RFC 9112 §7.1 and no other way", .timeLimit(.minutes(5)))
    func fh13() async throws {
        try await conform("FH-13")
    }

    @Test("finding FH-13 trailers are read by RFC 9112 §7.1.2 and no other way", .timeLimit(.minutes(5)))
    func fh13Trailers() async throws {
        try await conform("FH-13T")
    }

    @Test(
        "finding FH-14 an exchange that the server cuts short has the right end, and keeps to its connections",
        .timeLimit(.minutes(5))
    )
    func fh14() async throws {
        try await conform("FH-14")
    }

    @Test("finding FT-13 HEAD never waits for a body", .timeLimit(.minutes(5)))
    func ft13() async throws {
        try await conform("FT-13")
    }

    @Test("finding FT-14 framing fields of the caller are refused", .timeLimit(.minutes(5)))
    func ft14() async throws {
        try await conform("FT-14")
    }
}
