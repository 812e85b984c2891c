import Testing

@Suite("Transport conformance of CurlTransport: exchanges", .timeLimit(.minutes(5)))
struct ExchangesConformanceTests {
    @Test("transport TR-30 sends any method as it is written", .timeLimit(.minutes(5)))
    func tr30() async throws {
        try await conform("TR-30")
    }

    @Test("transport TR-31 echoes a posted text", .timeLimit(.minutes(5)))
    func tr31() async throws {
        try await conform("TR-31")
    }

    @Test("transport TR-32 decodes the requested codings and reports the coded length", .timeLimit(.minutes(5)))
    func tr32() async throws {
        try await conform("TR-32")
    }

    @Test("transport TR-33 leaves codings alone when the caller asks for none", .timeLimit(.minutes(5)))
    func tr33() async throws {
        try await conform("TR-33")
    }

    @Test("transport TR-34 sends a header byte for byte", .timeLimit(.minutes(5)))
    func tr34() async throws {
        try await conform("TR-34")
    }

    @Test("transport TR-35 delivers 404 and 500 with their bodies", .timeLimit(.minutes(5)))
    func tr35() async throws {
        try await conform("TR-35")
    }

    @Test("transport TR-36 makes 100 and 1,000 concurrent calls within the limits", .timeLimit(.minutes(5)))
    func tr36() async throws {
        try await conform("TR-36")
    }

    @Test("transport TR-37 finding FQ-24 ends a call that is cancelled before its head", .timeLimit(.minutes(5)))
    func tr37() async throws {
        try await conform("TR-37")
    }

    @Test("transport TR-38 delivers what arrived, then ends as cancelled", .timeLimit(.minutes(5)))
    func tr38() async throws {
        try await conform("TR-38")
    }

    @Test("finding UF-1 ends a body with its task while bytes are ready", .timeLimit(.minutes(5)))
    func uf1() async throws {
        try await conform("UF-1")
    }

    @Test("transport TR-39 echoes 1,000,000 bytes of known length", .timeLimit(.minutes(5)))
    func tr39() async throws {
        try await conform("TR-39")
    }

    @Test("transport TR-40 ends the transfer when a body is released", .timeLimit(.minutes(5)))
    func tr40() async throws {
        try await conform("TR-40")
    }

    @Test("transport TR-41 reads a body that drips in small pieces", .timeLimit(.minutes(5)))
    func tr41() async throws {
        try await conform("TR-41")
    }

    @Test("transport TR-42 sends a header with an empty value", .timeLimit(.minutes(5)))
    func tr42() async throws {
        try await conform("TR-42")
    }

    @Test("transport TR-43 ends the response to HEAD at its head", .timeLimit(.minutes(5)))
    func tr43() async throws {
        try await conform("TR-43")
    }

    @Test("transport TR-44 keeps repeated headers in order, both ways", .timeLimit(.minutes(5)))
    func tr44() async throws {
        try await conform("TR-44")
    }

    @Test("transport TR-45 echoes 1,000 bytes, each sent when the last came back", .timeLimit(.minutes(5)))
    func tr45() async throws {
        try await conform("TR-45")
    }

    @Test("transport TR-46 answers 1,000 bytes that the server sends one by one", .timeLimit(.minutes(5)))
    func tr46() async throws {
        try await conform("TR-46")
    }

    @Test("transport TR-47 sends an empty body with its length of 0", .timeLimit(.minutes(5)))
    func tr47() async throws {
        try await conform("TR-47")
    }

    @Test("transport TR-48 sends path and query as they are given", .timeLimit(.minutes(5)))
    func tr48() async throws {
        try await conform("TR-48")
    }

    @Test("transport TR-49 delivers three trailers after a chunked body", .timeLimit(.minutes(5)))
    func tr49() async throws {
        try await conform("TR-49")
    }

    @Test("transport TR-50 sends two trailers after the body", .timeLimit(.minutes(5)))
    func tr50() async throws {
        try await conform("TR-50")
    }

    @Test("transport TR-53 does not send a body whose expectation the server refuses", .timeLimit(.minutes(5)))
    func tr53() async throws {
        try await conform("TR-53")
    }

    @Test("transport TR-54 makes 100 calls on one HTTP/2 connection", .timeLimit(.minutes(5)))
    func tr54() async throws {
        try await conform("TR-54")
    }

    @Test(
        "transport TR-55 survives GOAWAY between calls and reports what a reset stream means",
        .timeLimit(.minutes(5))
    )
    func tr55() async throws {
        try await conform("TR-55")
    }

    @Test("transport TR-56 survives the close of an idle connection", .timeLimit(.minutes(5)))
    func tr56() async throws {
        try await conform("TR-56")
    }

    @Test("transport TR-58 speaks over a Unix-domain socket", .timeLimit(.minutes(5)))
    func tr58() async throws {
        try await conform("TR-58")
    }

    @Test("transport TR-59 connects to another host than the address names", .timeLimit(.minutes(5)))
    func tr59() async throws {
        try await conform("TR-59")
    }

    @Test(
        "transport TR-60 finding FQ-13 speaks over IPv6 and is not delayed by an unreachable address family",
        .timeLimit(.minutes(5))
    )
    func tr60() async throws {
        try await conform("TR-60")
    }

    @Test("transport TR-61 answers file: and data: addresses unless forbidden", .timeLimit(.minutes(5)))
    func tr61() async throws {
        try await conform("TR-61")
    }

    @Test(
        "transport TR-62 ends a call with its scope as with its task, and leaves the task alone",
        .timeLimit(.minutes(5))
    )
    func tr62() async throws {
        try await conform("TR-62")
    }
}
