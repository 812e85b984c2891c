#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Exchanges with a well-behaved server: the requests that it receives.
extension TransportConformance {
    static let refusals = ConformanceCase("TR-35", "delivers 404 and 500 with their bodies") { context in
        let server = try LoopbackServer { .text("sorry", status: Int($0.path.dropFirst()) ?? 0) }
        let transport = try context.transport()
        for status in [404, 500] {
            for (name, delivery) in deliveries {
                await context.part("\(status), \(name)") { context in
                    let request = try server.request(.get, "/\(status)", delivery: delivery)
                    context.expect(
                        try await context.exchange(transport, request),
                        gives: Response.Status(status),
                        "sorry"
                    )
                }
            }
        }
    }

    static let headWithLength = ConformanceCase("TR-43", "ends the response to HEAD at its head") { context in
        let server = try LoopbackServer { request in
            ServerResponse(fields: [ServerField("Content-Length", request.method == "HEAD" ? "1000" : "0")])
        }
        let transport = try context.transport()
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let exchange = try await context.exchange(transport, try server.request(.head, "/", delivery: delivery))
                context.expect(exchange, gives: 200, "")
                context.expectEqual(exchange.headers["Content-Length"], "1000", "Content-Length")
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "")
            }
        }
        context.expectEqual(server.acceptedCount, 1, "connections")
    }

    static let drips = ConformanceCase("TR-41", "reads a body that drips in small pieces") { context in
        let whole = pattern(1_000_000)
        await context.part("known length") { context in
            let head = Data("HTTP/1.1 200 OK\r\nContent-Length: \(whole.count)\r\n\r\n".utf8)
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(head + whole, inPiecesOf: 997), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        await context.part("chunked") { context in
            let framed = chunked(whole, of: 1021)
            let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            // Pieces end within sizes, line ends and chunks.
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(head + framed, inPiecesOf: 509), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        await context.part("byte by byte") { context in
            let response =
                "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nX-T: 1\r\n\r\n"
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(Data(response.utf8), inPiecesOf: 1), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200, "abc")
                context.expectEqual(exchange.trailers["X-T"], "1", "trailer")
            }
        }
    }

    static let echoMegabyte = ConformanceCase("TR-39", "echoes 1,000,000 bytes of known length") { context in
        let server = try LoopbackServer { .bytes($0.body) }
        let transport = try context.transport()
        let whole = pattern(1_000_000)
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let request = try server.request(.post, "/", body: .bytes(whole), delivery: delivery)
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        context.expectEqual(server.requests.first?["Content-Length"], "1000000", "Content-Length at the server")
    }

    static let responseTrailers = ConformanceCase("TR-49", "delivers three trailers after a chunked body") {
        context in
        let fields = [ServerField("X-First", "one"), ServerField("X-Second", "two"), ServerField("X-Third", "three")]
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer { _ in .chunks(["bo", "dy"], trailers: fields) }
                let request = try server.request(.get, "/", delivery: delivery)
                expectTrailers(context, try await context.exchange(try context.transport(), request))
            }
        }
        await context.part("before the end") { context in
            let signal = Signal()
            let server = try LoopbackServer { _ in
                var response = ServerResponse.stream { connection in
                    try connection.sendChunk(Data("bo".utf8))
                    try connection.wait(for: signal)
                    try connection.sendChunk(Data("dy".utf8))
                }
                response.trailers = fields
                return response
            }
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            try await context.within("the exchange") {
                let response = try await transport.send(request, call: Call())
                context.expect(response.trailers.isEmpty, "there are trailers before the end")
                signal.raise()
                for try await _ in response.body {}
                context.expectEqual(response.trailers.count, 3, "trailers at the end")
            }
        }
        for (name, delivery) in deliveries {
            await context.part("HTTP/2, \(name)") { context in
                let port = try context.peers.port("h2")
                let transport = try context.transport { $0.tls = try context.trustingPeers() }
                let address = "https://localhost:\(port)/trailers?token=\(context.token())"
                let request = try Request(.get, address, delivery: delivery)
                let exchange = try await context.exchange(transport, request)
                expectTrailers(context, exchange)
                context.expectEqual(exchange.version, .http2, "version")
            }
        }
    }

    private static func expectTrailers(_ context: ConformanceContext, _ exchange: Exchange) {
        context.expect(exchange, gives: 200, "body")
        let got = exchange.trailers.map { "\($0.name.lowercased()): \($0.value)" }
        context.expectEqual(got, ["x-first: one", "x-second: two", "x-third: three"], "trailers")
        context.expect(!exchange.headers.contains("X-First"), "trailers were put among the headers")
    }

    // MARK: - Codings

    static let codings = ConformanceCase("TR-32", "decodes the requested codings and reports the coded length") {
        context in
        let server = try LoopbackServer { request in
            let coding = request.queryItem("coding") ?? ""
            return .bytes(CodedSample.all[coding] ?? Data(), [ServerField("Content-Encoding", coding)])
        }
        let transport = try context.transport()
        _ = try await context.exchange(transport, try server.request(.get, "/?coding=none"))
        let accepted = server.requests.first?["Accept-Encoding"] ?? ""
        let advertised = accepted.split(separator: ",").map { $0.prefix { $0 != ";" }.filter { $0 != " " } }
        context.expect(advertised.contains("gzip"), "gzip is not requested: “\(accepted)”")
        for (coding, bytes) in CodedSample.all where advertised.contains(coding) {
            for (name, delivery) in deliveries {
                await context.part("\(coding), \(name)") { context in
                    let request = try server.request(.get, "/?coding=\(coding)", delivery: delivery)
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, gives: 200, CodedSample.text)
                    context.expectEqual(exchange.metrics.contentEncoding, coding, "coding in the metrics")
                    context.expectEqual(exchange.metrics.responseBodyBytes, Int64(bytes.count), "coded bytes")
                    let decoded = Int64(CodedSample.text.utf8.count)
                    context.expectEqual(exchange.metrics.decodedBodyBytes, decoded, "decoded bytes")
                }
            }
        }
        await context.part("damaged") { context in
            await context.eachDelivery {
                try LoopbackServer { _ in
                    .bytes(Data("not gzip at all".utf8), [ServerField("Content-Encoding", "gzip")])
                }
            } check: { context, exchange, _ in
                context.expect(exchange, failsWith: "a malformed response") {
                    if case .malformedResponse = $0.kind { true } else { false }
                }
            }
        }
        await context.part("switched off") { context in
            let plain = try context.transport { $0.decodesContent = false }
            let exchange = try await context.exchange(plain, try server.request(.get, "/?coding=gzip"))
            context.expect(exchange.body == CodedSample.all["gzip"], "it was decoded: \(exchange.ending)")
            context.expectEqual(server.requests.last?["Accept-Encoding"], nil, "Accept-Encoding")
        }
    }

    static let identityCoding = ConformanceCase("TR-33", "leaves codings alone when the caller asks for none") {
        context in
        let gzip = CodedSample.all["gzip"] ?? Data()
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer { _ in .bytes(gzip, [ServerField("Content-Encoding", "gzip")]) }
                let headers: Headers = ["accept-encoding": "identity"]
                let request = try server.request(.get, "/", headers: headers, delivery: delivery)
                let exchange = try await context.exchange(try context.transport(), request)
                context.expect(exchange.error == nil && exchange.body == gzip, "it was changed: \(exchange.ending)")
                context.expectEqual(exchange.headers["Content-Encoding"], "gzip", "Content-Encoding")
                context.expectEqual(exchange.headers["Content-Length"], String(gzip.count), "Content-Length")
                context.expectEqual(server.requests.first?.all("Accept-Encoding"), ["identity"], "Accept-Encoding sent")
            }
        }
    }
}
