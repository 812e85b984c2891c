import CNghttp2
import LadeCore
import LadeExchange

@testable import LadeWire

/// A session with what a loop would do for it: it records what the session finds, and gives it the bodies.
final class HTTP2Client {
    let session: HTTP2Session
    /// The virtual time in nanoseconds.
    var now: Int64 = 0
    /// What was found, in order; content is joined.
    private(set) var story: [String] = []
    /// All bytes that the session has sent.
    private(set) var sent: [UInt8] = []
    private(set) var content: [Int32: [UInt8]] = [:]
    private(set) var heads: [Int32: Headers] = [:]
    private(set) var trailers: [Int32: Headers] = [:]
    private(set) var endings: [Int32: HTTP2Stream.Ending] = [:]
    /// The senders of bodies.
    var sources: [Int32: (UnsafeMutableRawBufferPointer) -> HTTP2Session.Portion] = [:]

    init(_ change: (inout TransportSettings) -> Void = { _ in }) {
        var settings = TransportSettings()
        change(&settings)
        guard let session = HTTP2Session(rules: Exchange.Rules(settings), at: 0) else {
            preconditionFailure("nghttp2 has no memory")
        }
        self.session = session
    }

    /// Makes an exchange for a request.
    static func exchange(
        _ address: String = "http://a.test/x",
        _ method: Request.Method = .get,
        headers: Headers = Headers(),
        body: Request.Body? = nil,
        isStreamed: Bool = false
    ) -> Exchange {
        let rules = Exchange.Rules(TransportSettings())
        guard var request = try? Request(method, address, headers: headers, body: body) else {
            preconditionFailure("no request for \(address)")
        }
        if isStreamed { request.delivery = .streamed }
        guard let exchange = try? Exchange(request, call: Call(), rules: rules, lane: .direct) else {
            preconditionFailure("no exchange for \(address)")
        }
        return exchange
    }

    /// Opens a stream; nil when the session takes none.
    @discardableResult
    func open(_ exchange: Exchange = exchange(), awaitsContinue: Bool = false) -> Int32? {
        let framing = RequestFraming(exchange.request)
        guard let stream = session.open(exchange, framing: framing, awaitsContinue: awaitsContinue, at: now) else {
            return nil
        }
        if case .bytes(let data)? = exchange.request.body?.content {
            sources[stream] = Self.source(Array(data), trailers: exchange.request.body?.trailers?() ?? Headers())
        }
        return stream
    }

    /// A sender that has all of its bytes.
    static func source(
        _ bytes: [UInt8],
        trailers: Headers = Headers()
    ) -> (UnsafeMutableRawBufferPointer) -> HTTP2Session.Portion {
        var rest = bytes[...]
        return { space in
            guard !rest.isEmpty else { return .end(trailers: trailers) }
            let part = rest.prefix(space.count)
            space.copyBytes(from: part)
            rest = rest.dropFirst(part.count)
            return .bytes(part.count, isLast: rest.isEmpty && trailers.isEmpty)
        }
    }

    func receive(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var units = Int.max
            session.receive(bytes, at: now, units: &units)
            drain(bytes)
        }
    }

    /// The bytes that the session sends now.
    func send() -> [UInt8] {
        var output = OutputBuffer()
        session.produce(into: &output, upTo: 1 << 20, at: now) { stream, space in
            sources[stream]?(space) ?? .nothingYet
        }
        drain(UnsafeRawBufferPointer(start: nil, count: 0))
        let bytes = output.withUnsent { Array($0) }
        sent += bytes
        return bytes
    }

    /// Lets time pass, and does what is due in it.
    func advance(seconds: Int) {
        now += Int64(seconds) * 1_000_000_000
        session.expire(at: now)
        drain(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Records the end of the connection.
    func end() {
        session.ended()
        drain(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Lets client and server exchange bytes until both have sent all, in pieces of a size.
    func talk(to server: HTTP2Server, piece: Int = .max) {
        while true {
            let (sent, answered) = (send(), server.send())
            guard !sent.isEmpty || !answered.isEmpty else { return }
            server.receive(sent)
            var rest = answered[...]
            while !rest.isEmpty {
                receive(Array(rest.prefix(piece)))
                rest = rest.dropFirst(piece)
            }
        }
    }

    private func drain(_ bytes: UnsafeRawBufferPointer) {
        while let finding = session.next() {
            switch finding {
            case .allowed(let count): story.append("allowed \(count)")
            case .draining: story.append("draining")
            case .interim(let stream, let status, let headers): note(stream, "\(status.code)", headers)
            case .final(let stream, let head):
                heads[stream] = head.headers
                note(stream, "\(head.status.code)", head.headers)
            case .content(let stream, let range): content[stream, default: []] += bytes[range]
            case .trailers(let stream):
                var vetting = session.stream(stream)?.vetting
                trailers[stream] = vetting?.takeTrailers()
            case .ended(let stream, let ending):
                endings[stream] = ending
                let text = content[stream].map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
                let trailers = trailers[stream, default: Headers()].map { " | \($0.description)" }.joined()
                story.append("\(stream) ended \(ending)\(text)\(trailers)")
            case .failed(let fault): story.append("failed \(fault)")
            }
        }
    }

    private func note(_ stream: Int32, _ text: String, _ headers: Headers) {
        story.append("\(stream) \(text)" + headers.map { " \($0.description)" }.joined())
    }
}
