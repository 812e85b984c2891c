/// The server's side of one connection: bytes of the client go in, bytes for it come out.
protocol SimulatedPeer: Sendable {
    /// Takes bytes of the client.
    ///
    /// - Returns: What the server sends.
    mutating func receive(_ bytes: [UInt8]) -> [UInt8]

    /// What the server sends without being asked, when everything before has left it.
    mutating func more() -> [UInt8]

    /// The requests that the server has seen and may have processed.
    var requests: [SimulatedServer.Seen] { get }
    /// Whether the server has closed its direction.
    var hasEnded: Bool { get }
    /// The proxy before the server; nil without one.
    var proxy: SimulatedProxy? { get }
    /// Whether bytes for the server came before the proxy's consent was sent.
    var wasEarly: Bool { get }
    /// Whether it is the proxy that requests are sent to in the absolute form.
    var isForwarder: Bool { get }
}

extension SimulatedPeer {
    mutating func more() -> [UInt8] { [] }

    var proxy: SimulatedProxy? { nil }
    var wasEarly: Bool { false }
    var isForwarder: Bool { false }
}

/// A server of HTTP/1.1 in clear text, as a value: bytes of requests go in, bytes of responses come out.
struct SimulatedServer: SimulatedPeer {
    /// What the server sends for the requests of one target.
    struct Answer {
        /// When a piece of the response is sent.
        enum Moment {
            /// When the head of the request has arrived.
            case head
            /// When the whole request has arrived.
            case whole
        }

        var pieces: [(moment: Moment, bytes: [UInt8])]
        /// Whether the server closes the connection after the response.
        var closes = false

        init(_ text: String, closes: Bool = false) {
            pieces = [(.whole, Array(text.utf8))]
            self.closes = closes
        }

        init(onHead early: String, onWhole late: String = "", closes: Bool = false) {
            pieces = [(.head, Array(early.utf8)), (.whole, Array(late.utf8))]
            self.closes = closes
        }
    }

    /// What the server has seen of one request.
    struct Seen: Equatable {
        var head: String
        var target: String
        var body: [UInt8] = []
        var isWhole = false
    }

    private enum State {
        case head
        case length(Int)
        /// Chunks are read to their end without being checked.
        case chunked
    }

    private let answers: [String: Answer]
    private var state = State.head
    private var input: [UInt8] = []
    private(set) var requests: [Seen] = []
    /// Whether the server has closed its direction.
    private(set) var hasEnded = false
    /// The proxy that is asked for a tunnel before requests; nil without one.
    private(set) var proxy: SimulatedProxy?
    /// Whether bytes for the server came before the proxy's consent was sent.
    private(set) var wasEarly = false

    init(_ answers: [String: Answer], behind proxy: SimulatedProxy? = nil) {
        self.answers = answers
        self.proxy = proxy
    }

    /// Whether it is the proxy that requests are sent to in the absolute form.
    var isForwarder: Bool { if case .forward? = proxy?.kind { true } else { false } }

    /// Whether the whole of the latest request has arrived, and nothing after it.
    var isIdle: Bool { if case .head = state { input.isEmpty } else { false } }

    /// Takes bytes of requests.
    ///
    /// - Returns: What the server sends.
    mutating func receive(_ bytes: [UInt8]) -> [UInt8] {
        guard !hasEnded else { return [] }
        var output: [UInt8] = []
        var isOpening = false
        for byte in bytes {
            guard let proxy, !proxy.isOpen else {
                wasEarly = wasEarly || isOpening
                input.append(byte)
                continue
            }
            isOpening = true
            output += self.proxy?.receive(byte) ?? []
            hasEnded = self.proxy?.hasEnded == true
        }
        while !hasEnded, step(&output) {}
        return output
    }

    private mutating func step(_ output: inout [UInt8]) -> Bool {
        switch state {
        case .head:
            guard let end = Self.endOfHead(input) else { return false }
            let head = String(decoding: input[..<end], as: UTF8.self)
            input.removeFirst(end)
            var target = head.split(separator: " ", maxSplits: 2).dropFirst().first.map(String.init) ?? ""
            if isForwarder, target.hasPrefix("http://") { target = String(target.dropFirst(7).drop { $0 != "/" }) }
            requests.append(Seen(head: head, target: target))
            answer(.head, &output)
            let fields = head.lowercased()
            if fields.contains("transfer-encoding: chunked") {
                state = .chunked
            } else if let field = fields.split(separator: "content-length: ").dropFirst().first,
                let length = Int(field.prefix { $0 != "\r" && $0 != "\r\n" }), length > 0
            {
                state = .length(length)
            } else {
                whole(&output)
            }
            return true
        case .length(let left):
            let count = min(left, input.count)
            guard count > 0 else { return false }
            requests[requests.count - 1].body += input[..<count]
            input.removeFirst(count)
            state = .length(left - count)
            if left == count { whole(&output) }
            return true
        case .chunked:
            requests[requests.count - 1].body += input
            input = []
            let body = requests[requests.count - 1].body
            guard let end = Self.lastChunk(body) else { return false }
            guard body[end...].suffix(4).elementsEqual([13, 10, 13, 10]) else { return false }
            whole(&output)
            return true
        }
    }

    private mutating func whole(_ output: inout [UInt8]) {
        state = .head
        requests[requests.count - 1].isWhole = true
        answer(.whole, &output)
        if answers[requests[requests.count - 1].target]?.closes ?? false { hasEnded = true }
    }

    private func answer(_ moment: Answer.Moment, _ output: inout [UInt8]) {
        let answer =
            answers[requests[requests.count - 1].target] ?? Answer("HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n")
        for piece in answer.pieces where piece.moment == moment { output += piece.bytes }
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 0...(bytes.count - 4)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }

    /// Where the line end of the chunk of no bytes begins.
    private static func lastChunk(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 5 else { return nil }
        for index in stride(from: bytes.count - 3, through: 0, by: -1)
        where bytes[index] == 0x30 && bytes[index + 1] == 13 && bytes[index + 2] == 10 {
            if index == 0 || bytes[index - 1] == 10 { return index + 1 }
        }
        return nil
    }
}
