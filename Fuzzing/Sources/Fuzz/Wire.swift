@testable import LadeCore
@testable import LadeExchange
@testable import LadeWire

/// What `LadeWire` reads from the network.
extension Target {
    /// The response of a server of HTTP/1.1: the same whole and in pieces of the size that the first byte chooses.
    static let http1Exchange = Target(name: "http1-exchange") { bytes in
        guard let first = bytes.first else { return }
        let response = Array(bytes.dropFirst())
        let isToHead = first & 0x80 != 0
        let whole = HTTP1Outcome(response, piece: max(response.count, 1), isToHead: isToHead)
        let parts = HTTP1Outcome(response, piece: Int(first & 0x3F) + 1, isToHead: isToHead)
        expect(whole.findings == parts.findings, "other findings in pieces: \(whole.findings), \(parts.findings)")
        expect(whole.isRefused == parts.isRefused, "refused whole or in pieces, but not both")
        // Content before a fault is found in pieces as far as it had arrived.
        let common = min(whole.content.count, parts.content.count)
        expect(whole.content[..<common] == parts.content[..<common], "other content in pieces")
        if !whole.isRefused {
            expect(whole.content == parts.content, "more or less content in pieces")
            expect(whole.end == parts.end, "another end in pieces")
        }
    }

    /// The frames of a server of HTTP/2 with two requests open: one ending for each at most, the same in pieces.
    static let http2Session = Target(name: "http2-session") { bytes in
        guard let first = bytes.first else { return }
        let frames = Array(bytes.dropFirst())
        let whole = HTTP2Outcome(frames, piece: max(frames.count, 1))
        let parts = HTTP2Outcome(frames, piece: Int(first) + 1)
        expect(whole.story == parts.story, "other findings in pieces: \(whole.story), \(parts.story)")
        for (stream, content) in whole.content {
            // Content before a fault is found in pieces as far as it had arrived.
            let other = parts.content[stream] ?? []
            let common = min(content.count, other.count)
            expect(content[..<common] == other[..<common], "other content of \(stream) in pieces")
            if whole.complete.contains(stream) {
                expect(content == other, "more or less content of \(stream) in pieces")
            }
        }
    }

    /// Bytes in place of those of a TLS server: the handshake waits, or fails once, and nothing of it is content.
    static let tlsRecords = Target(name: "tls-records") { bytes in
        guard let first = bytes.first else { return }
        let records = Array(bytes.dropFirst())
        let whole = handshake(with: records, piece: max(records.count, 1))
        let parts = handshake(with: records, piece: Int(first) + 1)
        expect(whole == parts, "\(whole) in one piece, \(parts) in several")
        expect(whole != .done, "bytes that know nothing of the client's keys end a handshake")
    }
}

/// The rules of all targets: limits that short inputs can pass.
private let rules: Exchange.Rules = {
    var settings = TransportSettings()
    settings.limits.headBytes = 256
    settings.limits.headFields = 8
    return Exchange.Rules(settings)
}()

/// What came of the bytes of a server of HTTP/1.1.
private struct HTTP1Outcome {
    var findings: [String] = []
    var content: [UInt8] = []
    var isRefused = false
    var end: HTTP1Exchange.End?

    init(_ response: [UInt8], piece: Int, isToHead: Bool) {
        var exchange = HTTP1Exchange(framing: .none, isToHead: isToHead, rules: rules)
        var vetting = HeadVetting(limits: rules.limits, tolerances: rules.tolerances)
        exchange.headSent(bodyFollows: false, awaitsContinue: false)
        var start = 0
        while start < response.count, !isRefused {
            let end = min(start + piece, response.count)
            response[start..<end].withUnsafeBytes { take($0, &exchange, &vetting) }
            start = end
        }
        if !isRefused { end = exchange.ended() }
        expect(exchange.position <= Int64(response.count), "more was parsed than has arrived")
        expect(Int64(content.count) <= exchange.position, "more content than was parsed")
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer,
        _ exchange: inout HTTP1Exchange,
        _ vetting: inout HeadVetting
    ) {
        var rest = bytes
        do throws(HeadVetting.Fault) {
            while true {
                switch try exchange.next(&rest, &vetting, nil) {
                case .more:
                    expect(exchange.receiving == .done || rest.isEmpty, "bytes are left")
                    return
                case .interim(let status, _): findings.append("\(status.code)")
                case .final(let head): findings.append("\(head.status.code), \(head.headers.count) fields")
                case .content(let count):
                    expect(count > 0 && count <= rest.count, "content of \(count) in \(rest.count) bytes")
                    content += rest[..<count]
                    exchange.took(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .complete:
                    if findings.last != "complete" { findings.append("complete") }
                    return
                }
            }
        } catch {
            isRefused = true
        }
    }
}

/// What came of the frames of a server of HTTP/2.
private struct HTTP2Outcome {
    var story: [String] = []
    var content: [Int32: [UInt8]] = [:]
    private(set) var complete: Set<Int32> = []
    private var endings: Set<Int32> = []
    private var hasFailed = false
    /// Whether a stream was refused that nghttp2 had taken.
    ///
    /// nghttp2 hears of that between pieces, and ignores the stream's further frames, which may break a rule: what follows
    /// is not compared.
    private var hasRefused = false

    init(_ frames: [UInt8], piece: Int) {
        guard let session = HTTP2Session(rules: rules, at: 0) else { fatalError("nghttp2 has no memory") }
        for address in ["http://a.test/1", "http://a.test/2"] {
            guard let request = try? Request(.get, address),
                let exchange = try? Exchange(request, call: Call(), rules: rules, lane: .direct)
            else { fatalError("no exchange") }
            let number = session.open(exchange, framing: .none, awaitsContinue: false, at: 0)
            expect(number != nil, "no stream")
        }
        send(session)
        // An empty SETTINGS frame opens the connection.
        receive([0, 0, 0, 4, 0, 0, 0, 0, 0], session)
        var start = 0
        while start < frames.count, !hasFailed {
            let end = min(start + piece, frames.count)
            receive(Array(frames[start..<end]), session)
            start = end
        }
        send(session)
        session.ended()
        drain(session, UnsafeRawBufferPointer(start: nil, count: 0))
        expect(endings == [1, 3], "these streams have ended: \(endings.sorted())")
        expect(hasFailed, "the end of the connection is no finding")
    }

    private mutating func receive(_ bytes: [UInt8], _ session: HTTP2Session) {
        bytes.withUnsafeBytes { bytes in
            var units = Int.max
            session.receive(bytes, at: 0, units: &units)
            drain(session, bytes)
        }
    }

    private mutating func send(_ session: HTTP2Session) {
        var output = OutputBuffer()
        session.produce(into: &output, upTo: 1 << 20, at: 0) { _, _ in .nothingYet }
        drain(session, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private mutating func drain(_ session: HTTP2Session, _ bytes: UnsafeRawBufferPointer) {
        while let finding = session.next() {
            expect(!hasFailed, "a finding follows the end of the connection")
            switch finding {
            case .allowed(let count): tell("allowed \(count)")
            case .draining: tell("draining")
            case .interim(let stream, let status, _): note(stream, "\(status.code)")
            case .final(let stream, let head):
                expect(head.headers.count <= rules.limits.headFields, "\(head.headers.count) fields were taken")
                note(stream, "\(head.status.code), \(head.headers.count) fields")
            case .content(let stream, let range):
                expect(!endings.contains(stream), "content follows the end of \(stream)")
                content[stream, default: []] += bytes[range]
            case .trailers(let stream): note(stream, "trailers")
            case .ended(let stream, let ending):
                expect(endings.insert(stream).inserted, "\(stream) ends twice")
                if case .complete = ending, !hasRefused { complete.insert(stream) }
                tell("\(stream) \(ending)")
                if case .malformed(let fault) = ending, fault != Self.framing { hasRefused = true }
            // Which fault is not compared: without open streams, nghttp2 does not look at further frames.
            case .failed: hasFailed = true
            }
        }
    }

    private mutating func note(_ stream: Int32, _ text: String) {
        expect(!endings.contains(stream), "\(text) follows the end of \(stream)")
        tell("\(stream) \(text)")
    }

    private static let framing = HeadVetting.Fault.malformed(LoadingError.MalformedResponse(.http2Framing))

    private mutating func tell(_ text: String) {
        if !hasRefused { story.append(text) }
    }
}

/// A client's settings that read no authorities.
private let context: TLSContext? = {
    var settings = TransportSettings.TLS()
    settings.trustsSystemAuthorities = false
    settings.verification = .unsafelyAcceptEveryCertificate
    let context = try? TLSContext(settings, now: 0)
    context?.load()
    return context
}()

/// What the handshake of a client comes to when a server sends these bytes.
private func handshake(with records: [UInt8], piece: Int) -> TLSLayer.Handshake {
    let peer = TLSPeer(host: "example.com", isAddress: false, sessionKey: "")
    guard let layer = context?.makeLayer(peer, protocols: [.http1_1, .http2], session: nil, now: 0) else {
        fatalError("OpenSSL makes no connection")
    }
    var outcome = layer.handshake()
    var start = 0
    while start < records.count, outcome == .wantsInput {
        let end = min(start + piece, records.count)
        records[start..<end].withUnsafeBytes { bytes in
            layer.feed(bytes)
            outcome = layer.handshake()
            layer.keepInput()
        }
        layer.consumeOutput(layer.outputCount)
        start = end
    }
    return outcome
}
