#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Content codings from servers that violate them (RFC 9110 §8.4).
extension TransportConformance {
    static var codedBodies: [ConformanceCase] { [codedEnds, announcedLength, pausedCodings, codingFields] }

    private static func coded(_ bytes: Data, _ coding: String, isChunked: Bool = false) -> ServerResponse {
        let field = ServerField("Content-Encoding", coding)
        return isChunked
            ? ServerResponse(fields: [field], body: .chunks([bytes])) : .bytes(bytes, [field])
    }

    /// Requests one coded body with each framing and each delivery.
    private static func each(
        _ context: ConformanceContext,
        _ name: String,
        _ bytes: Data,
        _ coding: String,
        check: (ConformanceContext, Exchange) -> Void
    ) async {
        for isChunked in [false, true] {
            await context.part("\(name), \(isChunked ? "chunked" : "with a length")") { context in
                await context.eachDelivery {
                    try LoopbackServer { _ in coded(bytes, coding, isChunked: isChunked) }
                } check: { context, exchange, _ in
                    check(context, exchange)
                }
            }
        }
    }

    // MARK: - Ends

    private static let codedEnds = ConformanceCase(
        "FH-3",
        "treats a coded body as complete only at the end of its coding"
    ) { context in
        let probe = try LoopbackServer { _ in .status(204) }
        _ = try await context.exchange(try context.transport(), try probe.request())
        let accepted = probe.requests.first?["Accept-Encoding"] ?? ""
        for (coding, whole) in CodedSample.all.sorted(by: { $0.key < $1.key }) where accepted.contains(coding) {
            for cut in [1, whole.count / 2, whole.count - 1] {
                await each(context, "\(coding) cut to \(cut) of \(whole.count)", whole.prefix(cut), coding) {
                    expectIncompleteCoding($0, $1)
                }
            }
            await each(context, "\(coding) with a byte more", whole + Data([0x2A]), coding) { expectBadCoding($0, $1) }
            for (label, _) in CodedSample.all where label != coding && accepted.contains(label) {
                await each(context, "\(coding) labelled \(label)", whole, label) { context, exchange in
                    context.expect(exchange, failsWith: "a malformed or incomplete body") { isBadCoding($0) }
                }
            }
        }
        let gzip = CodedSample.all["gzip"] ?? Data()
        let text = CodedSample.text
        await each(context, "two members", gzip + gzip, "gzip") { $0.expect($1, gives: 200, text + text) }
        await each(context, "a second member cut", gzip + gzip.dropLast(3), "gzip") { expectIncompleteCoding($0, $1) }
        await each(context, "zeros after the last member", gzip + Data(count: 512), "gzip") {
            $0.expect($1, gives: 200, text)
        }
        await each(context, "zeros and more", gzip + Data(count: 512) + gzip, "gzip") { expectBadCoding($0, $1) }
        await each(context, "x-gzip", gzip, "X-Gzip") { $0.expect($1, gives: 200, text) }
        let raw = (CodedSample.all["deflate"] ?? Data()).dropFirst(2).dropLast(4)
        await each(context, "deflate without its wrapper", Data(raw), "deflate") { $0.expect($1, gives: 200, text) }
        await each(context, "an unknown coding", gzip, "compress") { expectBadCoding($0, $1) }
        await severalCodings(context, accepted)
        await withoutBody(context)
    }

    private static func severalCodings(_ context: ConformanceContext, _ accepted: String) async {
        let gzip = CodedSample.all["gzip"] ?? Data()
        await each(context, "identity beside gzip", gzip, "identity, gzip") {
            $0.expect($1, gives: 200, CodedSample.text)
        }
        if accepted.contains("br") {
            await each(context, "br, then gzip", CodedSample.gzipOfBrotli, "br, gzip") {
                $0.expect($1, gives: 200, CodedSample.text)
            }
            await each(context, "in the wrong order", CodedSample.gzipOfBrotli, "gzip, br") { context, exchange in
                context.expect(exchange, failsWith: "a malformed or incomplete body") { isBadCoding($0) }
            }
        }
        let many = Array(repeating: "gzip", count: 100).joined(separator: ", ")
        await each(context, "a hundred codings", gzip, many) { expectBadCoding($0, $1) }
    }

    /// A response without a body has no coding, even if its fields name one.
    private static func withoutBody(_ context: ConformanceContext) async {
        let field = ServerField("Content-Encoding", "gzip")
        let unknown = ServerField("Content-Encoding", "unknown")
        let length = ServerField("Content-Length", "1000")
        let responses: KeyValuePairs<String, (Request.Method, ServerResponse)> = [
            "HEAD": (.head, .status(200, [field, length])), "HEAD, unknown": (.head, .status(200, [unknown, length])),
            "204": (.get, .status(204, [field])), "304": (.get, .status(304, [field])),
            "an empty body": (.get, .bytes(Data(), [field])),
            "an empty redirect": (.get, ServerResponse(status: 302, fields: [field], body: .chunks([]))),
        ]
        for (name, (method, response)) in responses {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer { _ in response }
                } request: {
                    $0.method = method
                } check: { context, exchange, _ in
                    context.expect(exchange, gives: Response.Status(response.status), "")
                }
            }
        }
    }

    private static func expectIncompleteCoding(_ context: ConformanceContext, _ exchange: Exchange) {
        context.expect(exchange, failsWith: "an incomplete body") {
            if case .incompleteBody(_, expected: nil) = $0.kind { true } else { false }
        }
    }

    private static func expectBadCoding(_ context: ConformanceContext, _ exchange: Exchange) {
        context.expect(exchange, failsWith: "a malformed response") {
            if case .malformedResponse(let fault) = $0.kind { fault.rule == .contentCoding } else { false }
        }
    }

    private static func isBadCoding(_ error: LoadingError) -> Bool {
        switch error.kind {
        case .malformedResponse(let fault): fault.rule == .contentCoding
        case .incompleteBody: true
        default: false
        }
    }

    // MARK: - Limits

    private static let announcedLength = ConformanceCase(
        "FT-6",
        "counts the bytes of a coded body as they arrive, not by the announced length"
    ) { context in
        let bomb = GzipZeros.make(copies: 40_000)
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000000\r\n\r\n"
        await context.eachDelivery {
            try LoopbackServer(script: [.readRequest, .send(Data(head.utf8) + bomb), .stall])
        } request: {
            if case .buffered = $0.delivery { $0.delivery = .buffered(limit: 1 << 30) }
        } check: { context, exchange, _ in
            context.expect(exchange, failsWith: "a decompression ratio exceeded") {
                if case .decompressionRatioExceeded(limit: 100) = $0.kind { true } else { false }
            }
        }
    }

    private static let pausedCodings = ConformanceCase(
        "FT-10",
        "keeps at most the high-water mark of a coded body that is not read",
        measuresProcess: true
    ) { context in
        let readers = 8
        let copies = 130_000
        let bomb = GzipZeros.make(copies: copies)
        let server = try LoopbackServer { $0.path == "/" ? coded(bomb, "gzip") : .text("ok") }
        let highWater = 512 << 10
        let transport = try context.transport {
            $0.limits.streamHighWater = highWater
            $0.limits.decompressionRatio = 10_000
            $0.connections.perHost = readers + 1
        }
        let allowed = memoryAllowance / 2 + readers * (highWater + (256 << 10))
        let request = try server.request(.get, "/", delivery: .streamed)
        let other = try server.request(.get, "/other")
        try await context.expectMemory(below: allowed) {
            try await context.within("the slow readers") {
                var bodies: [Response.Body.AsyncIterator] = []
                var counts: [Int] = []
                for _ in 0..<readers {
                    let response = try await transport.send(request, call: Exchange.makeCall(EventRecorder()))
                    var body = response.body.makeAsyncIterator()
                    counts.append(try await body.next()?.count ?? 0)
                    bodies.append(body)
                }
                // Whatever arrived before this response was decoded, up to the high-water mark.
                context.expect(await Exchange.perform(transport, other), gives: 200, "ok")
                for index in bodies.indices {
                    while let chunk = try await bodies[index].next() { counts[index] += chunk.count }
                }
                let whole = Array(repeating: 1 + copies * 258, count: readers)
                context.expectEqual(counts, whole, "bytes of the bodies")
            }
        }
    }

    // MARK: - Fields

    private static let codingFields = ConformanceCase(
        "FT-18",
        "removes Content-Encoding and Content-Length from decoded responses only"
    ) { context in
        let gzip = CodedSample.all["gzip"] ?? Data()
        let length = ServerField("Content-Length", String(gzip.count))
        let field = ServerField("Content-Encoding", "gzip")
        let responses: KeyValuePairs<String, (Request.Method, ServerResponse, [String?], coding: String?)> = [
            "decoded": (.get, .bytes(gzip, [field]), [nil, nil], "gzip"),
            "HEAD": (.head, .status(200, [field, length]), ["gzip", String(gzip.count)], nil),
            "304": (.get, .status(304, [field]), ["gzip", nil], nil),
            "identity": (.get, .text("1234", [ServerField("Content-Encoding", "identity")]), ["identity", "4"], nil),
            "none": (.get, .text("1234"), [nil, "4"], nil),
        ]
        for (name, (method, response, fields, coding)) in responses {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer { _ in response }
                } request: {
                    $0.method = method
                } check: { context, exchange, _ in
                    context.expect(exchange.error == nil, "it failed: \(exchange.ending)")
                    let got = [exchange.headers["Content-Encoding"], exchange.headers["Content-Length"]]
                    context.expectEqual(got, fields, "Content-Encoding and Content-Length")
                    context.expectEqual(exchange.metrics.contentEncoding, coding, "coding in the metrics")
                    if coding != nil {
                        let bytes = exchange.metrics.responseBodyBytes
                        context.expectEqual(bytes, Int64(gzip.count), "coded bytes in the metrics")
                    }
                }
            }
        }
    }
}
