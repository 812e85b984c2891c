import Testing

@Suite("Transport conformance of CurlTransport: raw answers", .timeLimit(.minutes(5)))
struct RawResponsesConformanceTests {
    @Test("transport TR-01 refuses a response that is not HTTP", .timeLimit(.minutes(5)))
    func tr01() async throws {
        try await conform("TR-01")
    }

    @Test("transport TR-02 refuses a protocol name in another case", .timeLimit(.minutes(5)))
    func tr02() async throws {
        try await conform("TR-02")
    }

    @Test("transport TR-03 accepts a status line without a reason phrase", .timeLimit(.minutes(5)))
    func tr03() async throws {
        try await conform("TR-03")
    }

    @Test("transport TR-04 ends a 204 at its head, whatever its Content-Length", .timeLimit(.minutes(5)))
    func tr04() async throws {
        try await conform("TR-04")
    }

    @Test("transport TR-05 ends a 304 at its head, whatever its Content-Length", .timeLimit(.minutes(5)))
    func tr05() async throws {
        try await conform("TR-05")
    }

    @Test("transport TR-06 reports what is missing of a truncated body", .timeLimit(.minutes(5)))
    func tr06() async throws {
        try await conform("TR-06")
    }

    @Test("transport TR-07 delivers a body ended by close", .timeLimit(.minutes(5)))
    func tr07() async throws {
        try await conform("TR-07")
    }

    @Test("transport TR-08 refuses a Content-Length with a list of different numbers", .timeLimit(.minutes(5)))
    func tr08() async throws {
        try await conform("TR-08")
    }

    @Test("transport TR-09 refuses two Content-Length fields that differ", .timeLimit(.minutes(5)))
    func tr09() async throws {
        try await conform("TR-09")
    }

    @Test("transport TR-10 refuses Content-Length with chunked and drops the connection", .timeLimit(.minutes(5)))
    func tr10() async throws {
        try await conform("TR-10")
    }

    @Test("transport TR-11 refuses bare LF line ends in the head", .timeLimit(.minutes(5)))
    func tr11() async throws {
        try await conform("TR-11")
    }

    @Test("transport TR-12 refuses a folded header line", .timeLimit(.minutes(5)))
    func tr12() async throws {
        try await conform("TR-12")
    }

    @Test("transport TR-13 refuses a header name with a space before the colon", .timeLimit(.minutes(5)))
    func tr13() async throws {
        try await conform("TR-13")
    }

    @Test("transport TR-14 reports a chunked body without an end", .timeLimit(.minutes(5)))
    func tr14() async throws {
        try await conform("TR-14")
    }

    @Test("transport TR-15 refuses a chunk size that is no hexadecimal number of 64 bits", .timeLimit(.minutes(5)))
    func tr15() async throws {
        try await conform("TR-15")
    }

    @Test(
        "refuses a head above its limits before it is in memory: transport TR-16 finding FQ-24",
        .timeLimit(.minutes(5))
    )
    func tr16() async throws {
        try await conform("TR-16")
    }

    @Test("transport TR-17 reports interim responses as events and returns the final one", .timeLimit(.minutes(5)))
    func tr17() async throws {
        try await conform("TR-17")
    }

    @Test("transport TR-18 fails on an unrequested switch of protocols", .timeLimit(.minutes(5)))
    func tr18() async throws {
        try await conform("TR-18")
    }

    @Test(
        "transport TR-19 delivers a response followed by more bytes, and drops the connection",
        .timeLimit(.minutes(5))
    )
    func tr19() async throws {
        try await conform("TR-19")
    }

    @Test("transport TR-20 accepts status 999 and refuses 99 and 1000", .timeLimit(.minutes(5)))
    func tr20() async throws {
        try await conform("TR-20")
    }

    @Test("transport TR-21 refuses NUL and a bare CR inside a header value", .timeLimit(.minutes(5)))
    func tr21() async throws {
        try await conform("TR-21")
    }

    @Test("transport TR-22 times out on a server that never answers", .timeLimit(.minutes(5)))
    func tr22() async throws {
        try await conform("TR-22")
    }

    @Test("transport TR-23 reports how much had arrived when the connection was reset", .timeLimit(.minutes(5)))
    func tr23() async throws {
        try await conform("TR-23")
    }
}
