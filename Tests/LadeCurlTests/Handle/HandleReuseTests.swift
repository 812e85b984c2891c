import Foundation
import LadeConformance
import LadeCore
import LadeCurl
import LadeExchange
import LadeTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HandleReuseTests {
    // Closes each connection after its response.
    private let server: LoopbackServer
    private let transport: CurlTransport

    init() throws {
        server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        var settings = TransportSettings()
        settings.proxy = .direct
        transport = try CurlTransport(settings: settings)
    }

    @Test("a handle that is used again dials the same other destination again, on a fresh connection too")
    func keepsDestination() async throws {
        var request = try Request("http://elsewhere.test/")
        request.destination = .host("127.0.0.1", port: Int(server.port))

        // On connections of their own, so that every exchange uses its own destination.
        for _ in 0..<20 { #expect(try await transport.send(request, call: Call()).status == 200) }

        await transport.shutDown()
    }

    @Test("a handle that is used again dials the destination of each request, though the addresses are the same")
    func dialsEachDestination() async throws {
        let other = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        var request = try Request("http://elsewhere.test/")

        for number in 0..<6 {
            let port = number % 3 == 0 ? other.port : server.port
            request.destination = .host("127.0.0.1", port: Int(port))
            #expect(try await transport.send(request, call: Call()).status == 200)
        }

        #expect(other.requests.count == 2)
        #expect(server.requests.count == 4)
        await transport.shutDown()
    }

    @Test("a handle that is used again sends each request's own fields, and the same ones again")
    func sendsOwnFields() async throws {
        // The second and the third are equal as texts, and not the same bytes.
        let values: [String?] = ["1", "caf\u{E9}", "cafe\u{301}", "cafe\u{301}", nil, nil, "", "1"]

        for value in values {
            var request = try Request("http://127.0.0.1:\(server.port)/")
            request.headers["X-Value"] = value
            #expect(try await transport.send(request, call: Call()).body.bytes?.count == 2)
        }

        let sent = server.requests.map { $0.all("X-Value").map { Array($0.utf8) } }
        #expect(sent == values.map { value in value.map { [Array($0.utf8)] } ?? [] })
        #expect(server.requests.allSatisfy { $0.all("Accept-Encoding").count == 1 })
        await transport.shutDown()
    }

    @Test("a handle whose connection was closed because of surplus bytes keeps the next connection open")
    func keepsConnectionAfterSurplus() async throws {
        let server = try LoopbackServer { index -> [ServerStep] in
            index == 0
                ? [.readRequest, .send("HTTP/1.1 204 No Content\r\n\r\nmore"), .stall]
                : [.readRequest, .respond(.text("ok")), .readRequest, .respond(.text("ok")), .stall]
        }

        for status in [204, 200, 200] as [Response.Status] {
            #expect(try await transport.send(server.request(), call: Call()).status == status)
        }

        #expect(server.acceptedCount == 2)
        await transport.shutDown()
    }

    @Test("what shows that a request asks for its own codings is not carried to the next")
    func keepsCodingsApart() async throws {
        let plain = try Request("http://127.0.0.1:\(server.port)/")
        var own = plain
        own.headers["Accept-Encoding"] = "identity"

        for request in [plain, own, plain, own] { _ = try await transport.send(request, call: Call()) }

        let all = ContentCoding.allCases.map(\.rawValue).joined(separator: ", ")
        #expect(server.requests.map { $0.all("Accept-Encoding") } == [[all], ["identity"], [all], ["identity"]])
        await transport.shutDown()
    }

    /// Answers whose first field is a folded line.
    ///
    /// libcurl before 8.2 appends it to freed memory (curl issue 11101), which Address Sanitizer sees.
    private static var folded: [String: [ServerStep]] {
        [
            "in one segment": [.send("HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 2\r\n\r\nok")],
            "by a tab": [.send("HTTP/1.1 200 OK\r\n\tfolded: x\r\nContent-Length: 2\r\n\r\nok")],
            "twice, and nothing else": [.send("HTTP/1.1 204 OK\r\n folded: x\r\n folded: x\r\n\r\n")],
            "in an interim response": [.send("HTTP/1.1 103 Early\r\n folded: x\r\n\r\nHTTP/1.1 204 OK\r\n\r\n")],
            "after an interim response": [.send("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 OK\r\n folded: x\r\n\r\n")],
            "byte by byte": [.send(Data("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n".utf8), inPiecesOf: 1)],
            "by what pretends to be HTTP/2": [.send("HTTP/2 200\r\n folded: x\r\nContent-Length: 2\r\n\r\nok")],
            "and the connection stays open": [.send("HTTP/1.1 200 OK\r\n folded: x\r\n"), .stall],
        ]
    }

    @Test(
        "a folded line after the status line is malformed, and harmless, when a handle is used again",
        arguments: folded
    )
    func refusesFoldedFirstLine(_ name: String, _ steps: [ServerStep]) async throws {
        let sound = "HTTP/1.1 200 OK\r\nX-A: 1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        let server = try LoopbackServer(scripts: { index in
            [.readRequest] + (index % 2 == 0 ? [.send(sound), .close] : steps + [.close])
        })
        for delivery in [Request.Delivery.buffered(limit: 1 << 20), .streamed] {
            for body in [nil, Request.Body.text("text")] {
                let method = body == nil ? Request.Method.get : .post
                let address = "http://127.0.0.1:\(server.port)/"
                let request = try Request(method, address, body: body, delivery: delivery)
                for _ in 0..<3 {
                    let response = try await transport.send(request, call: Call())
                    #expect(try await response.body.collect(limit: 10) == Data("ok".utf8))
                    do {
                        let answer = try await transport.send(request, call: Call())
                        Issue.record("\(answer.status) for a folded line \(name)")
                    } catch {
                        guard case .malformedResponse(let fault) = error.kind else { throw error }
                        #expect(fault.rule == .foldedField)
                    }
                }
            }
        }
        await transport.shutDown()
    }

    @Test(
        "a handle that is used again connects to the Unix-domain socket of each request, though the addresses are equal"
    )
    func connectsToEachSocket() async throws {
        let servers = try ["one", "two"].map { name in
            var options = LoopbackServer.Options()
            let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt32.random(in: 0...(.max)))")
                .path
            options.address = .unixSocket(path: path)
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\(name)"
            return try LoopbackServer(options, script: [.readRequest, .send(answer), .close])
        }

        for number in 0..<6 {
            let response = try await transport.send(servers[number % 2].request(), call: Call())
            let text = try await String(decoding: response.body.collect(), as: UTF8.self)
            #expect(text == ["one", "two"][number % 2])
        }

        await transport.shutDown()
    }

    /// A transport that trusts the peers, and the port of one.
    private func secure(_ peer: String) throws -> (CurlTransport, port: Int) {
        let peers = ConformancePeers.fromEnvironment()
        guard let port = try? peers.port(peer), let ca = try? peers.text("ca") else {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("a peer is missing (LADE_PEERS)") }
            try Test.cancel("needs the peer \(peer) (LADE_PEERS)")
        }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.file(ca)]
        return (try CurlTransport(settings: settings), port)
    }

    @Test("a handle that is used again speaks the version of HTTP that each request prefers")
    func speaksEachVersion() async throws {
        let (transport, port) = try secure("nginxTLS")
        var request = try Request("https://localhost:\(port)/small.json")

        for version in [Request.VersionPreference.automatic, .http1_1, .http2PriorKnowledge, .http1_1, .automatic] {
            request.version = version
            let expected: Response.Version = version == .http1_1 ? .http1_1 : .http2
            #expect(try await transport.send(request, call: Call()).version == expected)
        }

        await transport.shutDown()
    }

    @Test(
        "a handle that has sent a buffered request sends the next streamed one on a connection of its own",
        arguments: [Request.VersionPreference.automatic, .http1_1]
    )
    func separatesStreams(version: Request.VersionPreference) async throws {
        struct Connection: Decodable {
            var connection: Int
        }
        let (transport, port) = try secure("nginxTLS")
        var request = try Request("https://localhost:\(port)/connection")
        request.version = version
        var numbers: [Int] = []

        for delivery in [Request.Delivery.buffered(limit: 1_000), .streamed, .buffered(limit: 1_000), .streamed] {
            request.delivery = delivery
            let body = try await transport.send(request, call: Call()).body.collect(limit: 1_000)
            numbers.append(try JSONDecoder().decode(Connection.self, from: body).connection)
        }

        #expect(numbers[0] == numbers[2] && numbers[1] == numbers[3] && numbers[0] != numbers[1])
        await transport.shutDown()
    }

    @Test("a handle that has sent a request without TLS verifies the server of the next one with the given authorities")
    func verifiesAfterPlainRequest() async throws {
        let (transport, port) = try secure("nginxTLSHTTP1")
        let host = "localhost:\(port)"
        // Equal in everything but the scheme, on one handle.
        var (plain, secure) = (try Request("http://\(host)/small.json"), try Request("https://\(host)/small.json"))
        (plain.version, secure.version) = (.http1_1, .http1_1)

        // nginx answers a request without TLS on this port with 400.
        #expect(try await transport.send(plain, call: Call()).status == 400)
        #expect(try await transport.send(secure, call: Call()).status == 200)

        await transport.shutDown()
    }

    @Test(
        "RFC 9110 §8.6: a request without a body has a length of 0 where its method expects content, and none elsewhere",
        arguments: [
            (Request.Method.post, ["0"]), (.put, ["0"]), (.patch, ["0"]), (.get, []), (.delete, []), (.options, []),
        ]
    )
    func lengthWithoutBody(method: Request.Method, lengths: [String]) async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request(method)

        for _ in 0..<2 { #expect(try await transport.send(request, call: Call()).status == 200) }

        #expect(server.requests.map { $0.all("Content-Length") } == [lengths, lengths])
        await transport.shutDown()
    }

    @Test("RFC 9110 §8.6: a length that the caller states is sent once", arguments: [Request.Method.post, .put])
    func lengthOfCaller(method: Request.Method) async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        var (empty, full) = (try server.request(method), try server.request(method, body: .text("text")))
        empty.headers["Content-Length"] = "0"
        full.headers["Content-Length"] = "4"

        for request in [empty, full] { #expect(try await transport.send(request, call: Call()).status == 200) }

        #expect(server.requests.map { $0.all("Content-Length") } == [["0"], ["4"]])
        await transport.shutDown()
    }

    @Test("the media type that the caller states replaces that of the body")
    func mediaTypeOfCaller() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        var request = try server.request(.post, body: .text("text"))
        #expect(try await transport.send(request, call: Call()).status == 200)
        let ownType = try #require(request.body?.contentType)
        request.headers["Content-Type"] = "application/x-lade"

        #expect(try await transport.send(request, call: Call()).status == 200)

        #expect(server.requests.map { $0.all("Content-Type") } == [[ownType], ["application/x-lade"]])
        await transport.shutDown()
    }
}
