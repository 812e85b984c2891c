#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CNghttp2
import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

@Suite("A connection of HTTP/2 without sockets", .timeLimit(.minutes(5)))
struct HTTP2SessionTests {
    private static let malformed = HTTP2Stream.Ending.malformed(
        .malformed(LoadingError.MalformedResponse(.http2Framing))
    )
    private static let flooded = HTTP2Stream.Ending.malformed(
        .malformed(LoadingError.MalformedResponse(.http2Framing, redacted: "frames that bring nothing"))
    )
    private static let ok = RawFrame.head([(":status", "200")])
    private static let okAndEnd = RawFrame.head([(":status", "200")], ends: true)

    /// A client with open streams, whose server has sent its settings.
    private static func makeClient(
        streams: Int = 1,
        of exchange: @autoclosure () -> Exchange = HTTP2Client.exchange()
    ) -> HTTP2Client {
        let client = HTTP2Client()
        for _ in 0..<streams { client.open(exchange()) }
        _ = client.send()
        client.receive(RawFrame.settings())
        _ = client.send()
        return client
    }

    private static func data(_ text: String, stream: Int32 = 1, ends: Bool = false) -> [UInt8] {
        RawFrame.bytes(RawFrame.data, flags: ends ? RawFrame.endStream : 0, stream: stream, Array(text.utf8))
    }

    /// What the client has sent, as a server understands it.
    private static func server(of client: HTTP2Client) -> HTTP2Server {
        let server = HTTP2Server()
        _ = client.send()
        server.receive(client.sent)
        return server
    }

    // MARK: - Whole exchanges

    @Test("interim heads, head, content and end of several streams arrive, each on its own")
    func exchanges() throws {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        for _ in 0..<3 { client.open() }
        client.talk(to: server)
        for stream in server.order {
            server.inform(stream, 103, [("link", "</a>")])
            server.respond(stream, 200, [("x-number", "\(stream)")], body: Array("body \(stream)".utf8))
        }
        client.talk(to: server)

        for stream in [1, 3, 5] {
            let own = client.story.filter { $0.hasPrefix("\(stream) ") }
            let expected: [String] = [
                "\(stream) 103 link: </a>", "\(stream) 200 x-number: \(stream)",
                "\(stream) ended complete body \(stream)",
            ]
            #expect(own == expected)
        }
        #expect(client.session.life.streams == 0)
    }

    @Test("received bytes in pieces give what they give in one piece, wherever they are cut")
    func splits() {
        var bytes = RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 7)])
        bytes += RawFrame.settings()
        bytes += RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 9)])
        bytes += RawFrame.head([(":status", "103"), ("link", "x")])
        bytes += Self.ok
        bytes += Self.data("hel")
        bytes += RawFrame.bytes(RawFrame.data, flags: RawFrame.padded, stream: 1, [2, 0x6C, 0x6F, 0, 0])
        bytes += RawFrame.bytes(77, stream: 1, [1, 2])
        bytes += RawFrame.bytes(RawFrame.ping, Array(repeating: 7, count: 8))
        let trailers = RawFrame.literals([("x-a", "1")])
        bytes += RawFrame.bytes(RawFrame.headers, flags: RawFrame.endStream, stream: 1, trailers)
        let more = RawFrame.literals([("x-b", "2")])
        bytes += RawFrame.bytes(RawFrame.continuation, flags: RawFrame.endHeaders, stream: 1, more)
        bytes += Self.ok.withStream(3)
        bytes += Self.data("cut", stream: 3)
        bytes += RawFrame.reset(NGHTTP2_NO_ERROR, stream: 3)
        bytes += RawFrame.goAway(last: 5)
        bytes += RawFrame.settings()
        func story(_ pieces: [[UInt8]]) -> [String] {
            let client = HTTP2Client()
            for _ in 0..<4 { client.open() }
            _ = client.send()
            for piece in pieces { client.receive(piece) }
            client.end()
            return client.story
        }
        let whole = story([bytes])
        let expected: [String] = [
            "allowed 7", "allowed 7", "allowed 9", "1 103 link: x", "1 200", "1 ended complete hello | x-a: 1 | x-b: 2",
            "3 200",
            "3 ended reset(code: 0) cut", "draining", "7 ended unprocessed", "5 ended lost", "failed ended",
        ]
        #expect(whole == expected)

        for cut in bytes.indices.dropFirst() {
            #expect(story([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole, "cut at \(cut)")
        }
        #expect(story(bytes.map { [$0] }) == whole, "byte by byte")
    }

    // MARK: - Endings

    @Test(
        "wire WR-52 only the end of the stream that the peer has set completes a response, whatever the code",
        arguments: [
            (NGHTTP2_NO_ERROR, false), (NGHTTP2_NO_ERROR, true), (NGHTTP2_INTERNAL_ERROR, false),
            (NGHTTP2_CANCEL, true), (NGHTTP2_REFUSED_STREAM, false), (NGHTTP2_HTTP_1_1_REQUIRED, false),
        ]
    )
    func resets(code: nghttp2_error_code, isEnded: Bool) {
        // The upload keeps the stream open when the response has ended.
        let client = Self.makeClient(of: HTTP2Client.exchange("http://a.test/", .post, body: .writer { _ in }))
        client.receive(Self.ok + Self.data("part", ends: isEnded))
        #expect(client.endings[1] == nil)
        client.receive(RawFrame.reset(code))

        let expected: HTTP2Stream.Ending = isEnded ? .complete : .reset(code: code.rawValue)
        #expect(client.endings[1] == expected)
        #expect(client.session.life.streams == 0)
    }

    private static let partsOfResponses: [([UInt8], Bool)] = [
        ([], false), (ok, false), (ok + data("part"), false), (ok + data("all", ends: true), true),
    ]

    @Test(
        "wire WR-52 the end of the connection completes no response that its stream has not",
        arguments: partsOfResponses
    )
    func ends(bytes: [UInt8], isComplete: Bool) {
        let client = Self.makeClient(of: HTTP2Client.exchange("http://a.test/", .post, body: .writer { _ in }))
        client.receive(bytes)
        client.end()

        let expected: HTTP2Stream.Ending = isComplete ? .complete : .lost
        #expect(client.endings[1] == expected)
        #expect(client.story.last == "failed ended")
    }

    @Test(
        "wire WR-48 WR-50 a refused stream was not processed, and another code names the version, before a head",
        arguments: [
            (NGHTTP2_REFUSED_STREAM, HTTP2Stream.Ending.refused), (NGHTTP2_HTTP_1_1_REQUIRED, .needsHTTP1),
            (NGHTTP2_CANCEL, .reset(code: 8)),
        ]
    )
    func refuses(code: nghttp2_error_code, ending: HTTP2Stream.Ending) {
        let client = Self.makeClient()
        client.receive(RawFrame.head([(":status", "103")]) + RawFrame.reset(code))

        #expect(client.endings[1] == ending)
        #expect(client.open() == 3, "the connection stays")
    }

    // MARK: - Limits of streams

    @Test("wire WR-53 a hundred requests are sent before the settings, and the connection is open with them")
    func opensBeforeSettings() {
        let client = HTTP2Client()
        let opened = (0..<101).compactMap { _ in client.open() }
        #expect(opened.count == 100)
        #expect(client.session.life.isConnecting)
        #expect(Self.server(of: client).order.count == 100)

        client.receive(RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0)]))
        #expect(client.story == ["allowed 0"])
        #expect(client.session.life.isConnecting)
        client.receive(RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 101)]))
        #expect(!client.session.life.isConnecting)
    }

    @Test("wire WR-54 never more streams than the peer allows are open, and nghttp2 keeps no request back")
    func keepsToTheLimit() {
        let client = HTTP2Client()
        client.receive(RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 2)]))
        let opened: [Int32?] = (0..<4).map { _ in client.open() }
        let expected: [Int32?] = [1, 3, nil, nil]
        #expect(opened == expected)
        #expect(RawFrame.requests(in: client.send()) == [1, 3])

        client.receive(RawFrame.settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1)]) + Self.okAndEnd)
        #expect(client.endings == [1: .complete], "a lower limit cancels nothing")
        #expect(client.open() == nil)
        client.receive(Self.okAndEnd.withStream(3))
        #expect(client.open() == 5)
        #expect(RawFrame.requests(in: client.send()) == [5])
    }

    // MARK: - GOAWAY

    @Test("wire WR-55 GOAWAY without a last stream ends none, and takes no new one")
    func drains() {
        let client = Self.makeClient(streams: 2)
        client.receive(RawFrame.goAway(last: .max))
        #expect(client.story.last == "draining")
        #expect(client.open() == nil)
        client.receive(Self.okAndEnd + Self.okAndEnd.withStream(3))

        #expect(client.endings == [1: .complete, 3: .complete])
    }

    @Test(
        "wire WR-49 WR-55 streams above the last of GOAWAY were not processed; the others continue until the end",
        arguments: [NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR]
    )
    func refusesAbove(code: nghttp2_error_code) {
        let client = Self.makeClient(streams: 3)
        client.receive(Self.ok + RawFrame.goAway(last: 3, code))
        #expect(client.endings == [5: .unprocessed])
        client.receive(Self.data("x", ends: true))
        client.end()

        #expect(client.endings == [1: .complete, 3: .lost, 5: .unprocessed])
    }

    @Test("wire WR-49 a request that GOAWAY finds in the buffers was not processed")
    func refusesUnsent() {
        let client = Self.makeClient()
        #expect(client.open() == 3)
        client.receive(RawFrame.goAway(last: .max))
        let server = Self.server(of: client)

        #expect(client.endings == [3: .unprocessed])
        #expect(server.order == [1])
        #expect(client.session.life.streams == 1)
    }

    @Test("wire WR-49 says where the head of each request begins in the bytes of the connection")
    func placesHeads() throws {
        let client = HTTP2Client()
        let preface = client.send()
        client.open()
        client.open()
        let heads = client.send()

        let first = try #require(client.session.stream(1)?.start)
        let second = try #require(client.session.stream(3)?.start)
        let type = heads[second - preface.count + 3]
        #expect(first == preface.count)
        #expect(type == RawFrame.headers)
        let written = preface.count + heads.count
        #expect(client.session.written == written)
    }

    // MARK: - Windows

    @Test(
        "wire WR-56 WR-57 four stopped readers stop no fifth stream, and hold no more than their windows",
        arguments: [1, 100, 16 << 10, 1 << 20]
    )
    func stoppedReaders(piece: Int) throws {
        let size = piece == 1 ? 40 << 10 : 3 << 20
        let client = HTTP2Client { $0.limits.streamHighWater = piece == 1 ? 32 << 10 : 2 << 20 }
        let server = HTTP2Server()
        for _ in 0..<5 { client.open(HTTP2Client.exchange(isStreamed: true)) }
        client.talk(to: server)
        for stream in server.order.prefix(4) { server.respond(stream, body: Array(repeating: 1, count: size)) }
        client.talk(to: server, piece: piece)

        let window = piece == 1 ? 16 << 10 : 1 << 20
        for stream: Int32 in [1, 3, 5, 7] { #expect(client.content[stream]?.count == window) }

        server.respond(9, body: Array(repeating: 2, count: window / 2))
        client.talk(to: server, piece: piece)
        #expect(client.endings == [9: .complete])

        // The window follows the reader.
        client.session.taken(window, by: 1)
        client.talk(to: server, piece: piece)
        let read = min(2 * window, size)
        #expect(client.content[1]?.count == read)
        #expect(client.content[3]?.count == window)
    }

    @Test("wire WR-56 the windows of buffered responses return on arrival")
    func bufferedResponses() {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        for _ in 0..<2 { client.open() }
        client.talk(to: server)
        for stream in server.order { server.respond(stream, body: Array(repeating: 1, count: 9 << 20)) }
        client.talk(to: server, piece: 64 << 10)

        for stream: Int32 in [1, 3] { #expect(client.content[stream]?.count == 9 << 20) }
        #expect(client.endings == [1: .complete, 3: .complete])
    }

    @Test("wire WR-58 cancelling ends the stream with CANCEL, keeps the connection and returns what is in flight")
    func cancels() throws {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        for _ in 0..<2 { client.open(HTTP2Client.exchange(isStreamed: true)) }
        client.talk(to: server)
        // Sixteen times the connection's window in all, so that lost credit would stop the second stream.
        for round in 0..<20 {
            let stream = Int32(4 * round + 1)
            server.respond(stream, body: Array(repeating: 1, count: 1 << 20))
            let inFlight = server.send()
            client.session.cancel(stream)
            server.receive(client.send())
            #expect(server.streams[stream]?.resetCode == NGHTTP2_CANCEL.rawValue)
            #expect(client.session.life.streams == 1, "its place is free")
            client.receive(inFlight)
            client.talk(to: server)
            #expect(client.endings[stream] == nil)
            if round < 19 { for _ in 0..<2 { client.open(HTTP2Client.exchange(isStreamed: true)) } }
            if round < 19 { client.session.cancel(Int32(4 * round + 7)) }
            client.talk(to: server)
        }
        server.respond(3, body: Array(repeating: 2, count: 1 << 20))
        client.talk(to: server)

        #expect(client.endings == [3: .complete])
    }

    @Test("wire WR-58 a request that is cancelled before it is sent is not sent")
    func cancelsUnsent() {
        let client = Self.makeClient()
        #expect(client.open() == 3)
        client.session.cancel(3)
        let server = Self.server(of: client)

        #expect(server.order == [1])
        #expect(client.session.life.streams == 1)
        #expect(client.open() == 5)
    }

    // MARK: - Malformed and hostile

    private static let malformedHeads: [(String, [UInt8])] = [
        ("upper case", RawFrame.head([(":status", "200"), ("X-A", "1")])),
        ("no status", RawFrame.head([("a", "1")])),
        ("bad status", RawFrame.head([(":status", "2x0")])), ("101", RawFrame.head([(":status", "101")])),
        ("a connection field", RawFrame.head([(":status", "200"), ("connection", "close")])),
        ("a bad value", RawFrame.head([(":status", "200"), ("a", "b\u{0}")])),
        ("a bad name", RawFrame.head([(":status", "200"), ("a b", "1")])),
        ("two lengths", RawFrame.head([(":status", "200"), ("content-length", "1, 1")])),
        ("too long", RawFrame.head([(":status", "200"), ("content-length", "1")]) + data("ab")),
        ("too short", RawFrame.head([(":status", "200"), ("content-length", "3")]) + data("ab", ends: true)),
        ("pseudo trailers", ok + RawFrame.head([(":status", "200")], ends: true)),
    ]

    @Test(
        "finding FH-11 wire WR-60 a malformed response ends its stream alone",
        arguments: malformedHeads
    )
    func malformedStreams(name: String, bytes: [UInt8]) throws {
        let client = Self.makeClient(streams: 2)
        client.receive(bytes)
        let server = Self.server(of: client)

        guard case .malformed(.malformed)? = client.endings[1] else {
            Issue.record("\(name): \(String(describing: client.endings[1]))")
            return
        }
        #expect(server.goAway == nil)
        #expect(client.session.life.streams == 1)
        client.receive(Self.okAndEnd.withStream(3))
        #expect(client.endings[3] == .complete)
    }

    @Test(
        "wire WR-60 a head above its limits ends its stream as too large, and no other",
        arguments: [("bytes", HeadVetting.Fault.tooLarge(.bytes(4_000))), ("fields", .tooLarge(.fields(20)))]
    )
    func largeHeads(limit: String, fault: HeadVetting.Fault) {
        let client = HTTP2Client {
            $0.limits.headBytes = 4_000
            $0.limits.headFields = 20
        }
        let server = HTTP2Server()
        for _ in 0..<2 { client.open() }
        client.talk(to: server)
        let fields: [(String, String)] =
            limit == "bytes"
            ? (0..<10).map { ("x-\($0)", String(repeating: "a", count: 500)) } : (0..<21).map { ("x-\($0)", "") }
        server.respond(1, 200, fields, body: Array("x".utf8))
        server.respond(3, 200, fields.dropLast(limit == "bytes" ? 5 : 1), body: Array("y".utf8))
        client.talk(to: server)

        #expect(client.endings == [1: .malformed(fault), 3: .complete])
        #expect(server.streams[1]?.resetCode != nil)
    }

    @Test("wire WR-60 interim heads count against the limit of bytes")
    func manyInterimHeads() {
        let client = HTTP2Client { $0.limits.headBytes = 4_000 }
        let server = HTTP2Server()
        client.open()
        client.talk(to: server)
        for _ in 0..<9 {
            server.inform(1, 103, [("link", String(repeating: "a", count: 500))])
            client.talk(to: server)
        }

        #expect(client.endings[1] == .malformed(.tooLarge(.bytes(4_000))))
    }

    private static let faults: [(String, [UInt8])] = [
        (
            "compression",
            RawFrame.bytes(RawFrame.headers, flags: RawFrame.endHeaders, stream: 1, [0xFF, 0xFF, 0xFF])
        ),
        (
            "a push",
            RawFrame.bytes(RawFrame.pushPromise, flags: RawFrame.endHeaders, stream: 1, [0, 0, 0, 2, 0x88])
        ),
        ("content without a head", data("ab")), ("an unopened stream", RawFrame.head([(":status", "200")], stream: 99)),
        ("a long frame", [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
        ("a wide window", RawFrame.bytes(RawFrame.windowUpdate, [0x7F, 0xFF, 0xFF, 0xFF])),
        ("another version", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
    ]

    @Test(
        "wire WR-63 WR-60 a fault of the connection ends it with all of its streams",
        arguments: faults
    )
    func connectionFaults(name: String, bytes: [UInt8]) {
        let client = Self.makeClient(streams: 2)
        client.receive(bytes)
        let server = Self.server(of: client)

        #expect(client.endings == [1: Self.malformed, 3: Self.malformed], "\(name)")
        #expect(client.story.last?.hasPrefix("failed framing") == true, "\(name)")
        #expect(server.goAway != nil, "\(name)")
        #expect(client.open() == nil)
    }

    @Test(
        "wire WR-60 nothing counts that follows a fault of the connection, in the same bytes or later",
        arguments: faults
    )
    func afterConnectionFaults(name: String, bytes: [UInt8]) {
        for isTogether in [true, false] {
            let client = Self.makeClient(streams: 2)
            for part in isTogether ? [bytes + Self.okAndEnd] : [bytes, Self.okAndEnd] {
                client.receive(part)
                _ = client.send()
            }

            #expect(client.endings == [1: Self.malformed, 3: Self.malformed], "\(name), together: \(isTogether)")
            #expect(client.heads.isEmpty, "\(name), together: \(isTogether)")
            #expect(client.content.isEmpty, "\(name), together: \(isTogether)")
        }
    }

    @Test("wire WR-53 what is not HTTP/2 from the start is malformed")
    func anotherProtocol() {
        let client = HTTP2Client()
        client.open()
        _ = client.send()
        client.receive(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8))
        _ = client.send()

        #expect(client.endings == [1: Self.malformed])
    }

    private static let emptyFrames: [(String, [UInt8])] = [
        ("PING", RawFrame.bytes(RawFrame.ping, Array(repeating: 0, count: 8))), ("SETTINGS", RawFrame.settings()),
        ("WINDOW_UPDATE", RawFrame.bytes(RawFrame.windowUpdate, [0, 0, 0, 1])),
        ("PRIORITY", RawFrame.bytes(RawFrame.priority, stream: 3, [0, 0, 0, 0, 1])),
        ("empty DATA", RawFrame.bytes(RawFrame.data, stream: 3)), ("unknown", RawFrame.bytes(77, [1])),
    ]

    @Test(
        "wire WR-59 a flood ends the connection and says so, after what came before it",
        arguments: emptyFrames
    )
    func floods(name: String, frame: [UInt8]) {
        let client = Self.makeClient(streams: 2)
        let flood = Array((0..<1_020).map { _ in frame }.joined())
        if name == "empty DATA" { client.receive(Self.ok.withStream(3)) }
        client.receive(Self.okAndEnd + flood)
        let server = Self.server(of: client)

        #expect(client.endings == [1: .complete, 3: Self.flooded])
        #expect(client.story.last == "failed flood")
        #expect(server.goAway == NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
    }

    // MARK: - PING

    @Test("wire WR-61 silent streams bring a PING, and a peer that stays silent is lost")
    func pings() {
        let client = Self.makeClient()
        client.advance(seconds: 15)
        #expect(Self.server(of: client).pings == 1)
        #expect(client.session.life.isDoubtful)
        client.advance(seconds: 15)

        #expect(client.endings == [1: .lost])
        #expect(client.story.last == "failed silent")
    }

    @Test("wire WR-61 the answer to a PING, or any other frame, keeps the connection")
    func pongs() {
        let client = Self.makeClient()
        client.advance(seconds: 15)
        _ = client.send()
        client.receive(RawFrame.bytes(RawFrame.ping, flags: 1, Array(repeating: 0, count: 8)))
        client.advance(seconds: 600)
        #expect(client.send().isEmpty, "no second PING without a frame of a stream")
        client.receive(Self.okAndEnd)

        #expect(client.endings == [1: .complete])
    }

    // MARK: - Uploads

    /// A client whose upload has sent a part of its body.
    private static func makeUpload(awaitsContinue: Bool = false) -> (client: HTTP2Client, server: HTTP2Server) {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        let exchange = HTTP2Client.exchange("http://a.test/", .post, body: .writer { _ in })
        client.open(exchange, awaitsContinue: awaitsContinue)
        var isFirst = true
        client.sources[1] = { space in
            guard isFirst else { return .nothingYet }
            isFirst = false
            space.copyBytes(from: Array("part".utf8))
            return .bytes(4, isLast: false)
        }
        client.talk(to: server)
        return (client, server)
    }

    @Test("a body is sent as its sender has bytes, within the windows of the server")
    func uploads() throws {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let stream = try #require(
            client.open(HTTP2Client.exchange("http://a.test/", .put, body: .bytes(Data(bytes))))
        )
        client.talk(to: server)

        #expect(server.streams[stream]?.body == bytes)
        #expect(server.streams[stream]?.isComplete == true)
        #expect(client.session.stream(stream)?.sending == .done)
    }

    @Test("a sender that had nothing is asked again, and its end ends the request")
    func resumes() {
        let (client, server) = Self.makeUpload()
        #expect(server.streams[1]?.body == Array("part".utf8))
        client.sources[1] = HTTP2Client.source(Array(" and rest".utf8))
        client.talk(to: server)
        #expect(server.streams[1]?.isComplete == false, "it waits to be resumed")
        client.session.resume(1)
        client.talk(to: server)

        #expect(server.streams[1]?.body == Array("part and rest".utf8))
        #expect(server.streams[1]?.isComplete == true)
    }

    @Test("wire WR-41 a final status from 300 stops the upload, the response is delivered, then the stream is reset")
    func stopsUploads() {
        let (client, server) = Self.makeUpload()
        server.respond(1, 413, body: Array("no".utf8), ends: false)
        client.talk(to: server)
        #expect(client.session.stream(1)?.sending == .stopped)
        #expect(server.streams[1]?.resetCode == nil, "the response is not complete")
        client.sources[1] = HTTP2Client.source(Array("rest".utf8))
        client.session.resume(1)
        client.talk(to: server)
        #expect(server.streams[1]?.body == Array("part".utf8), "nothing more is sent")

        client.receive(Self.data("!", ends: true))
        client.talk(to: server)
        #expect(client.endings == [1: .complete])
        #expect(client.content[1] == Array("no!".utf8))
        #expect(server.streams[1]?.resetCode == NGHTTP2_CANCEL.rawValue)
        #expect(server.streams[1]?.isComplete == false)
    }

    @Test("wire WR-41 below 300 sending continues, and the exchange ends when both halves have")
    func continuesUploads() {
        let (client, server) = Self.makeUpload()
        server.respond(1, 200, body: Array("early".utf8))
        client.talk(to: server)
        #expect(client.content[1] == Array("early".utf8))
        #expect(client.endings.isEmpty)
        client.sources[1] = HTTP2Client.source(Array("rest".utf8))
        client.session.resume(1)
        client.talk(to: server)

        #expect(client.endings == [1: .complete])
        #expect(server.streams[1]?.body == Array("partrest".utf8))
    }

    @Test("a sender that fails resets the stream")
    func failsUploads() {
        let (client, server) = Self.makeUpload()
        client.sources[1] = { _ in .failed }
        client.session.resume(1)
        client.talk(to: server)

        #expect(client.endings == [1: .uploadFailed])
        #expect(server.streams[1]?.resetCode != nil)
        #expect(server.streams[1]?.isComplete == false)
    }

    @Test(
        "wire WR-40 a body that waits for 100 is sent after it or after a second, and not after a final status",
        arguments: ["100", "103", "417", "a second"]
    )
    func expectations(answer: String) {
        let (client, server) = Self.makeUpload(awaitsContinue: true)
        #expect(server.streams[1]?.fields.isEmpty == false)
        #expect(server.streams[1]?.body.isEmpty == true)
        switch answer {
        case "100": server.inform(1, 100)
        case "103": server.inform(1, 103)
        case "417": server.respond(1, 417)
        default: client.session.continueAnyway(1)
        }
        client.talk(to: server)

        let isSent = answer == "100" || answer == "a second"
        let body = isSent ? Array("part".utf8) : []
        let endings: [Int32: HTTP2Stream.Ending] = answer == "417" ? [1: .complete] : [:]
        #expect(server.streams[1]?.body == body)
        #expect(client.endings == endings)
    }
}

extension [UInt8] {
    /// The same frame for another stream.
    fileprivate func withStream(_ stream: Int32) -> [UInt8] {
        var frame = self
        frame.replaceSubrange(5..<9, with: RawFrame.number(UInt32(stream)))
        return frame
    }
}
