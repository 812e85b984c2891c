#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import Testing

@Suite("Loopback server", .timeLimit(.minutes(5)))
struct LoopbackServerTests {
    private static let get = "GET /x?a=1&a=&b=%20 HTTP/1.1\r\nHost: x\r\nX-Odd:  two  words \r\n\r\n"

    @Test("finding HF-14 a connection for which there is no thread is refused, and the server goes on")
    func noThread() async throws {
        let attempts = Locked(0)
        var options = LoopbackServer.Options()
        options.startThread = { body in
            let attempt = attempts.withLock { count -> Int in
                count += 1
                return count
            }
            return attempt == 2 ? false : Threads.tryStart(body)
        }
        let server = try LoopbackServer(options, scripts: [[.readRequest, .send("FOOBAR"), .close]])

        let responses = [1, 2, 3].map { _ in
            let client = RawClient(port: server.port)
            client.send(Self.get)
            return client.receiveAll()
        }

        // Closed before the request arrives, the connection ends without a byte; after it, by a reset.
        #expect(responses.map { $0 ?? "" } == ["FOOBAR", "", "FOOBAR"])
        #expect(try await server.connectionClosed(at: 1) == .resetByServer)
        #expect(server.connections.count == 3)
    }

    @Test("answers with exactly the bytes given, then closes")
    func exactBytes() async throws {
        let server = try LoopbackServer(answering: "FOOBAR")
        let client = RawClient(port: server.port)

        client.send(Self.get)

        #expect(client.receiveAll() == "FOOBAR")
        #expect(try await server.connectionClosed(at: 0) == .byServer)
        let request = try await server.request(at: 0)
        #expect(request.head == Data(Self.get.utf8))
        #expect(request.method == "GET")
        #expect(request.target == "/x?a=1&a=&b=%20")
        #expect(request.queryItem("b") == " ")
        #expect(request.fields == [ServerField("Host", "x"), ServerField("X-Odd", "two  words")])
        #expect(server.connections[0].received == Data(Self.get.utf8))
    }

    @Test("waits for the test's signal between pieces")
    func signals() async throws {
        let signal = Signal()
        let server = try LoopbackServer(
            script: [.send("ab"), .wait(for: signal), .send(Data("cdef".utf8), inPiecesOf: 2, pacedBy: signal)]
        )
        let client = RawClient(port: server.port)
        #expect(client.receive(exactly: 2) == "ab")
        signal.step()
        #expect(client.receive(exactly: 2) == "cd")
        signal.raise()
        #expect(client.receiveAll() == "ef")
    }

    @Test("resets the connection")
    func resets() async throws {
        let server = try LoopbackServer(script: [.readRequest, .reset])
        let client = RawClient(port: server.port)
        client.send(Self.get)
        #expect(client.receiveAll() == nil)
        #expect(try await server.connectionClosed(at: 0) == .resetByServer)
    }

    @Test("follows a script per connection, the last one again and again")
    func scripts() throws {
        let server = try LoopbackServer(scripts: [[.send("1")], [.send("2")]])
        #expect((0..<3).map { _ in RawClient(port: server.port).receiveAll() } == ["1", "2", "2"])
    }

    @Test("notices that the client closes while it stalls")
    func noticesClose() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        var client: RawClient? = RawClient(port: server.port)
        client?.send(Self.get)
        _ = try await server.request(at: 0)
        #expect(server.openCount == 1)

        client = nil

        #expect(try await server.connectionClosed(at: 0) == .byClient)
        try await server.open(atMost: 0)
        #expect(server.maximumOpenCount == 1)
    }

    @Test("keeps connections open behind a handler and reads bodies of both framings")
    func handler() async throws {
        let server = try LoopbackServer { request in
            request.path == "/trailers"
                ? .chunks(["ab", "c"], trailers: [ServerField("X-End", "1")])
                : .text("\(request.method) \(request.text) \(request.trailers)")
        }
        let client = RawClient(port: server.port)
        client.send("POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyPOST /b HTTP/1.1\r\n")
        let type = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
        let first = type + "Content-Length: 12\r\n\r\nPOST body []"
        #expect(client.receive(exactly: first.utf8.count) == first)
        client.send("Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nX-T: 9\r\n\r\n")
        let second = type + "Content-Length: 17\r\n\r\nPOST abc [X-T: 9]"
        #expect(client.receive(exactly: second.utf8.count) == second)
        client.send("GET /trailers HTTP/1.1\r\nConnection: close\r\n\r\n")
        #expect(
            client.receiveAll()
                == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-End: 1\r\n\r\n"
        )
        #expect(try await server.request(at: 1).chunkSizes == [2, 1])
        #expect(server.acceptedCount == 1)
    }

    @Test(
        "resets a connection with chunks above its limit or a line without end, and serves the next",
        arguments: [
            ("7FFFFFFFFFFFFFFF\r\nabc", 1), ("7FFFFFFFFFFFFFFD\r\n", 1), ("4000001\r\n", 1),
            ("FFFFFFFFFFFFFFFFF\r\n", 1), ("-1\r\n", 1), ("1", 5 << 20),
        ]
    )
    func endlessChunks(text: String, repetitions: Int) async throws {
        let body = String(repeating: text, count: repetitions)
        let server = try LoopbackServer { .text($0.text) }
        let client = RawClient(port: server.port)
        client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        #expect(client.receiveAll()?.isEmpty ?? true)

        let next = RawClient(port: server.port)
        next.send("POST / HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

        #expect(next.receiveAll()?.hasSuffix("\r\n\r\nok") == true)
    }

    @Test("answers expectations, refused ones before the body")
    func expectations() async throws {
        let server = try LoopbackServer(
            onHead: { $0.path == "/no" ? .status(417) : nil },
            handler: { .text($0.text) }
        )
        let head = "HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        let client = RawClient(port: server.port)
        client.send("POST /yes " + head)
        #expect(client.receive(exactly: 25) == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("ok")
        #expect(client.receive(exactly: 81).hasSuffix("Content-Length: 2\r\n\r\nok"))
        client.send("POST /no " + head)
        #expect(client.receiveAll()?.hasPrefix("HTTP/1.1 417") == true)
    }

    @Test("echoes in duplex from the head on")
    func duplex() async throws {
        let server = try LoopbackServer(
            onHead: { _ in
                .stream { connection in
                    while let piece = try connection.readBodyPiece() { try connection.sendChunk(piece) }
                }
            },
            handler: { _ in .status(500) }
        )
        let client = RawClient(port: server.port)
        client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(client.receive(exactly: 47).hasSuffix("chunked\r\n\r\n"))
        for letter in ["a", "b"] {
            client.send("1\r\n\(letter)\r\n")
            #expect(client.receive(exactly: 6) == "1\r\n\(letter)\r\n")
        }
        client.send("0\r\n\r\n")
        #expect(client.receive(exactly: 5) == "0\r\n\r\n")
    }

    @Test("ends every wait of every connection when it is stopped or dropped")
    func stops() async throws {
        let signal = Signal()
        var clients: [RawClient] = []
        let server = try LoopbackServer { index in [[.readRequest, .stall], [.wait(for: signal)]][index % 2] }
        for _ in 0..<20 { clients.append(RawClient(port: server.port)) }
        for client in clients { client.send(Self.get) }
        try await server.requests(atLeast: 10)
        try await signal.arrivals(atLeast: 10)

        server.stop()

        #expect(server.openCount == 0)
        #expect(clients.allSatisfy { ($0.receiveAll() ?? "").isEmpty })
        #expect(!RawClient(port: server.port).isConnected)
        server.stop()
    }

    @Test("stops listening after stopAccepting, while open connections continue")
    func stopsAccepting() async throws {
        let signal = Signal()
        let server = try LoopbackServer(script: [.wait(for: signal), .send("late")])
        let client = RawClient(port: server.port)
        try await server.connections(atLeast: 1)
        server.stopAccepting()
        #expect(!RawClient(port: server.port).isConnected)
        signal.raise()
        #expect(client.receiveAll() == "late")
    }

    @Test("keeps its port after stopAccepting until it stops", arguments: [LoopbackServer.Address.ipv4(), .ipv6()])
    func keepsPort(address: LoopbackServer.Address) throws {
        var options = LoopbackServer.Options()
        options.address = address
        let server = try LoopbackServer(options, script: [.stall])
        let port = server.port
        server.stopAccepting()
        let same: LoopbackServer.Address = if case .ipv6 = address { .ipv6(port: port) } else { .ipv4(port: port) }
        options.address = same
        #expect(throws: SystemCallError.self) { try LoopbackServer(options, script: [.stall]) }
        server.stop()
        #expect(throws: Never.self) { try LoopbackServer(options, script: [.stall]) }
    }

    @Test("keeps a digest of a body too large to keep")
    func digests() async throws {
        var options = LoopbackServer.Options()
        options.keptBodyBytes = 10
        let server = try LoopbackServer(options) { _ in .status(204) }
        let body = String(repeating: "0123456789abcdef!", count: 20_000)
        let client = RawClient(port: server.port)
        client.send("PUT / HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
        let request = try await server.request(at: 0)
        #expect(request.body == Data(body.utf8.prefix(10)))
        #expect(request.digest == ContentDigest(Data(body.utf8)))
        #expect(request.bodyLength == Int64(body.utf8.count))
    }

    @Test("makes the same digest of the same bytes in any pieces, and another of others")
    func digestPieces() {
        let random = SeededRandom(seed: 7)
        let bytes = Data((0..<5000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        var digest = ContentDigest()
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int(random.next() % 97)
            digest.update(Data(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        var changed = bytes
        changed[4321] ^= 1
        #expect(digest == ContentDigest(bytes))
        #expect(digest != ContentDigest(changed))
        #expect(digest != ContentDigest(bytes.dropLast()))
    }
}
