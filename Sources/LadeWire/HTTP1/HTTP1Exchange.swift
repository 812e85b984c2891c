import LadeCore
import LadeExchange

/// One exchange of HTTP/1.1 on its connection: two halves, which meet when both have ended.
///
/// A value without I/O: received bytes and what became of sent ones go in; findings come out.
struct HTTP1Exchange {
    /// The half that sends the request.
    enum Sending: Equatable {
        /// The socket has not accepted the whole head.
        case head
        /// The head is sent, and the body waits for 100 (RFC 9110 §10.1.1).
        case awaitingContinue
        case body
        case done
        /// The rest is not sent, so that the connection cannot be used again.
        case stopped

        var hasEnded: Bool { self == .done || self == .stopped }
    }

    /// The half that receives the response.
    enum Receiving: Equatable {
        case head
        case length(Int64)
        case chunked
        case untilClose
        case done
    }

    /// The meaning of the front of the received bytes.
    enum Finding {
        /// More bytes are needed; all were taken.
        case more
        case interim(Response.Status, Headers)
        case final(HeadVetting.Head)
        /// A number of content bytes at the front; ``took(_:)`` records how many were taken.
        case content(Int)
        /// The response is complete, and a number of bytes follows it.
        case complete(surplus: Int)
    }

    /// The meaning of the connection's end for the response.
    enum End: Equatable {
        /// The end completes the body.
        case complete
        /// The body has less than its framing says, after this many bytes of content.
        case incomplete(expected: Int64?)
        /// The head is not complete.
        case lost
        /// The bytes that arrived cannot begin a response.
        case notHTTP
    }

    private(set) var sending = Sending.head
    private(set) var receiving = Receiving.head
    /// The number of bytes of the response that were parsed, interim heads and framing included.
    private(set) var position: Int64 = 0
    /// Where the line began that was parsed last.
    private(set) var lineStart: Int64 = 0
    /// Whether bytes followed the response.
    private(set) var hasSurplus = false
    /// The number of body bytes that the head of the request announces; nil for chunks.
    let framing: RequestFraming

    private let isToHead: Bool
    private let rules: Exchange.Rules
    private var chunks: ChunkParser?
    private var expected: Int64?
    /// The beginning of an incomplete line of a head.
    private var line: [UInt8] = []
    /// Whether the next line of the head is its status line.
    private var awaitsStatusLine = true

    init(framing: RequestFraming, isToHead: Bool, rules: Exchange.Rules) {
        self.framing = framing
        self.isToHead = isToHead
        self.rules = rules
    }

    /// Whether chunks that broke the rule of line ends were tolerated.
    var hasToleratedChunks: Bool { chunks?.hasTolerated ?? false }

    /// Whether both halves have ended.
    var hasEnded: Bool { receiving == .done && sending.hasEnded }

    /// The number of bytes of content that may be received directly into the memory of the body.
    ///
    /// It is nil when framing follows at an unknown place.
    var directContent: Int64? { if case .length(let left) = receiving { left } else { nil } }

    /// Whether the beginning of a line of the head has arrived, and its end has not.
    var hasPartOfLine: Bool { !line.isEmpty }

    // MARK: - Receiving

    /// Classifies the front of the bytes, and removes it unless it is content.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - vetting: Checks the lines of heads and trailers.
    ///   - heads: Receives the lines of heads; nil when they are not recorded.
    /// - Returns: The meaning of the front of the bytes.
    /// - Throws: The part that is malformed or too large.
    mutating func next(
        _ bytes: inout UnsafeRawBufferPointer,
        _ vetting: inout HeadVetting,
        _ heads: HeadRecord?
    ) throws(HeadVetting.Fault) -> Finding {
        while true {
            switch receiving {
            case .done:
                if !bytes.isEmpty { hasSurplus = true }
                return .complete(surplus: bytes.count)
            case .length(let left):
                guard !bytes.isEmpty else { return .more }
                return .content(Int(min(left, Int64(bytes.count))))
            case .untilClose:
                guard !bytes.isEmpty else { return .more }
                return .content(bytes.count)
            case .chunked:
                if let finding = try nextOfChunks(&bytes, &vetting) { return finding }
            case .head:
                guard let finding = try nextLine(&bytes, &vetting, heads) else { return .more }
                awaitsStatusLine = false
                switch finding {
                case .more: continue
                case .interim(let status, let headers):
                    awaitsStatusLine = true
                    if status == 100, sending == .awaitingContinue { sending = .body }
                    return .interim(status, headers)
                case .final(let head):
                    begin(head)
                    return .final(head)
                }
            }
        }
    }

    /// Records that content bytes were taken.
    mutating func took(_ count: Int) {
        position += Int64(count)
        switch receiving {
        case .length(let left): receiving = left == Int64(count) ? .done : .length(left - Int64(count))
        case .chunked: chunks?.take(count)
        case .head, .untilClose, .done: break
        }
    }

    /// Records the end of the connection.
    mutating func ended() -> End {
        switch receiving {
        case .done: return .complete
        case .untilClose:
            receiving = .done
            return .complete
        case .length, .chunked: return .incomplete(expected: expected)
        case .head: return canBeginResponse ? .lost : .notHTTP
        }
    }

    private mutating func begin(_ head: HeadVetting.Head) {
        switch BodyFraming(head, isToHead: isToHead) {
        case .none: receiving = .done
        case .length(let length):
            expected = length
            receiving = .length(length)
        case .chunked:
            chunks = ChunkParser(tolerances: rules.tolerances, limits: rules.limits)
            receiving = .chunked
        case .untilClose: receiving = .untilClose
        }
        // A response that refuses the body ends the upload; with any other, sending continues (RFC 9110 §7.5).
        if sending == .awaitingContinue || (sending == .body && head.status.code >= 300) { sending = .stopped }
    }

    /// Takes one line of a head; nil when it is not complete.
    private mutating func nextLine(
        _ bytes: inout UnsafeRawBufferPointer,
        _ vetting: inout HeadVetting,
        _ heads: HeadRecord?
    ) throws(HeadVetting.Fault) -> HeadVetting.Finding? {
        lineStart = position - Int64(line.count)
        guard let end = bytes.firstIndex(of: 0x0A) else {
            position += Int64(bytes.count)
            line.append(contentsOf: bytes)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[bytes.endIndex...])
            let most = rules.limits.headBytes
            guard vetting.bytes + line.count <= most else { throw .tooLarge(.bytes(most)) }
            // Bytes that cannot become a status line are refused before the end of the line, which may never arrive.
            guard canBeginResponse else {
                let excerpt = String(decoding: line.prefix(200), as: UTF8.self)
                throw .malformed(LoadingError.MalformedResponse(.statusLine, excerpt: excerpt))
            }
            return nil
        }
        let part = UnsafeRawBufferPointer(rebasing: bytes[...end])
        position += Int64(part.count)
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
        guard line.isEmpty else {
            line.append(contentsOf: part)
            defer { line.removeAll(keepingCapacity: true) }
            return try line.withUnsafeBufferPointer { bytes throws(HeadVetting.Fault) in
                heads?.append(bytes)
                return try vetting.take(bytes)
            }
        }
        let whole = part.assumingMemoryBound(to: UInt8.self)
        heads?.append(whole)
        return try vetting.take(whole)
    }

    /// Whether the incomplete line may become one of a response.
    private var canBeginResponse: Bool {
        !awaitsStatusLine || zip(line, "http/".utf8).allSatisfy { $0.lowercasedASCII == $1 }
    }

    private mutating func nextOfChunks(
        _ bytes: inout UnsafeRawBufferPointer,
        _ vetting: inout HeadVetting
    ) throws(HeadVetting.Fault) -> Finding? {
        guard let piece = try nextPiece(&bytes) else { return .more }
        switch piece {
        case .content(let count): return .content(count)
        case .trailer(let line):
            lineStart = position - Int64(line.count)
            _ = try line.withUnsafeBufferPointer { bytes throws(HeadVetting.Fault) in try vetting.take(bytes) }
            return nil
        case .more: return .more
        case .end:
            receiving = .done
            return nil
        }
    }

    private mutating func nextPiece(
        _ bytes: inout UnsafeRawBufferPointer
    ) throws(HeadVetting.Fault) -> ChunkParser.Piece? {
        let before = bytes.count
        defer {
            position += Int64(before - bytes.count)
            lineStart = position - Int64(chunks?.pendingBytes ?? 0)
        }
        return try chunks?.next(&bytes)
    }

    // MARK: - Sending

    /// Records that the socket has accepted the whole head.
    ///
    /// - Parameters:
    ///   - bodyFollows: Whether bytes of the body are still to be sent.
    ///   - awaitsContinue: Whether they wait for 100.
    mutating func headSent(bodyFollows: Bool, awaitsContinue: Bool) {
        guard sending == .head else { return }
        guard bodyFollows else {
            sending = .done
            return
        }
        sending = receiving == .head ? (awaitsContinue ? .awaitingContinue : .body) : .stopped
    }

    /// Records that the server has not responded to the expectation for a second.
    mutating func continueAnyway() {
        if sending == .awaitingContinue { sending = .body }
    }

    mutating func bodySent() {
        if sending == .body { sending = .done }
    }

    /// Records that nothing more can or shall be sent, although everything may have been made ready for it.
    mutating func stopSending() { sending = .stopped }
}
