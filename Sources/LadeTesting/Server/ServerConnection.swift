#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeCore

/// One connection of a ``LoopbackServer``, used on the thread that serves it.
///
/// Scripts and handlers receive it and may block for any time; stopping the server ends every wait. Methods throw
/// ``Ended`` once the connection has ended; scripts need not catch it.
package final class ServerConnection {
    /// How a connection ended.
    package enum Ended: Error, Sendable, Hashable {
        /// The client closed its side.
        case byClient
        /// The client reset the connection, or sent something that is not HTTP.
        case resetByClient
        /// The script closed it.
        case byServer
        /// The script reset it.
        case resetByServer
        /// The server was stopped.
        case stopped
    }

    /// The number of the connection, counted from 0.
    package let index: Int
    /// The request whose head was read last.
    package private(set) var request: ServerRequest?

    private let descriptor: Int32
    private let core: ServerCore
    private var buffer = ByteQueue()
    private var remaining: BodyFraming = .none
    private var requestCount = 0
    private var recordIndex: Int?
    private var ended: Ended?
    // Reused for every receive; freed with the connection.
    private let scratch: UnsafeMutableRawBufferPointer

    private static let scratchSize = 64 << 10
    private static let headLimit = 4 << 20
    // A chunk is in memory as a whole.
    private static let chunkLimit = 64 << 20

    init(index: Int, descriptor: Int32, core: ServerCore) {
        self.index = index
        self.descriptor = descriptor
        self.core = core
        scratch = .allocate(byteCount: Self.scratchSize, alignment: 16)
    }

    deinit {
        scratch.deallocate()
    }

    // MARK: - Reading

    /// Reads a request with its body.
    @discardableResult
    package func readRequest() throws(Ended) -> ServerRequest {
        try readHead()
        return try readBody()
    }

    /// Reads the head of a request and leaves its body to ``readBody()`` or ``readBodyPiece()``.
    @discardableResult
    package func readHead() throws(Ended) -> ServerRequest {
        var searched = 0
        while true {
            if let end = buffer.endOfHead(from: searched) {
                let head = buffer.take(end)
                guard let request = ServerRequest(head: head, connection: index, position: requestCount) else {
                    throw ending(as: .resetByClient)
                }
                requestCount += 1
                remaining = request.framing
                self.request = request
                recordIndex = core.recordHead(request)
                if case .none = remaining { completeRequest() }
                return self.request ?? request
            }
            searched = max(0, buffer.count - 3)
            guard buffer.count < Self.headLimit else { throw ending(as: .resetByClient) }
            try fill()
        }
    }

    /// Reads the rest of the body of the request whose head was read last.
    @discardableResult
    package func readBody() throws(Ended) -> ServerRequest {
        while try readBodyPiece() != nil {}
        guard let request else { throw ending(as: .byServer) }
        return request
    }

    /// The next bytes of the request's body without framing; nil at its end.
    package func readBodyPiece() throws(Ended) -> Data? {
        switch remaining {
        case .none:
            return nil
        case .length(let count):
            guard count > 0 else {
                finishBody()
                return nil
            }
            if buffer.isEmpty { try fill() }
            let piece = buffer.take(Int(min(count, Int64(buffer.count))))
            remaining = .length(count - Int64(piece.count))
            note(piece)
            return piece
        case .chunked:
            return try readChunk()
        }
    }

    /// The bytes that have arrived, at least one, including framing.
    package func receive() throws(Ended) -> Data {
        if buffer.isEmpty { try fill() }
        return buffer.take(buffer.count)
    }

    private func readChunk() throws(Ended) -> Data? {
        let line = try readLine()
        guard let size = Int(line.prefix { $0 != ";" && $0 != " " }, radix: 16),
            (0...Self.chunkLimit).contains(size)
        else {
            throw ending(as: .resetByClient)
        }
        guard size > 0 else {
            var lines: [Substring] = []
            while case let line = try readLine(), !line.isEmpty { lines.append(line[...]) }
            request?.trailers = ServerRequest.fields(lines)
            finishBody()
            return nil
        }
        request?.chunkSizes.append(size)
        while buffer.count < size + 2 { try fill() }
        let chunk = buffer.take(size)
        guard buffer.take(2).elementsEqual([13, 10]) else { throw ending(as: .resetByClient) }
        note(chunk)
        return chunk
    }

    private func readLine() throws(Ended) -> String {
        while true {
            if let end = buffer.endOfLine() {
                return String(decoding: buffer.take(end).dropLast(2), as: UTF8.self)
            }
            guard buffer.count < Self.headLimit else { throw ending(as: .resetByClient) }
            try fill()
        }
    }

    private func note(_ piece: Data) {
        request?.digest.update(piece)
        let kept = request?.body.count ?? 0
        if kept < core.options.keptBodyBytes { request?.body.append(piece.prefix(core.options.keptBodyBytes - kept)) }
    }

    private func finishBody() {
        remaining = .none
        completeRequest()
    }

    private func completeRequest() {
        request?.isComplete = true
        if let request, let recordIndex { core.completeRecord(recordIndex, request) }
    }

    /// Waits for bytes and appends them to the buffer.
    private func fill() throws(Ended) {
        try check()
        while true {
            let count = recv(descriptor, scratch.baseAddress, scratch.count, 0)
            if count > 0, let base = scratch.baseAddress {
                let bytes = UnsafeRawBufferPointer(start: base, count: count)
                core.recordReceived(bytes, index)
                buffer.append(bytes)
                return
            }
            if count == 0 { throw ending(as: .byClient) }
            guard Sockets.currentErrno == EINTR else { throw ending(as: .resetByClient) }
        }
    }

    // MARK: - Sending

    /// Sends a text as UTF-8, unchanged.
    package func send(_ text: String) throws(Ended) {
        try send(Data(text.utf8))
    }

    /// Sends bytes, unchanged; blocks until the client has room for them.
    package func send(_ bytes: Data) throws(Ended) {
        try check()
        let wasSent = bytes.withUnsafeBytes { bytes -> Bool in
            var offset = 0
            while offset < bytes.count, let base = bytes.baseAddress {
                let count = systemSend(base + offset, bytes.count - offset)
                if count > 0 {
                    offset += count
                    core.recordSent(count, index)
                } else if Sockets.currentErrno != EINTR {
                    return false
                }
            }
            return true
        }
        guard wasSent else { throw ending(as: .resetByClient) }
    }

    /// Sends bytes in pieces, each with a separate system call; waits for `signal` before each but the first.
    package func send(_ bytes: Data, inPiecesOf size: Int, pacedBy signal: Signal? = nil) throws(Ended) {
        precondition(size > 0, "A piece has at least one byte")
        var rest = bytes[...]
        while true {
            try send(Data(rest.prefix(size)))
            rest = rest.dropFirst(size)
            guard !rest.isEmpty else { return }
            if let signal { try wait(for: signal) } else { sched_yield() }
        }
    }

    /// Sends one chunk of a chunked body.
    ///
    /// Empty data send nothing, because an empty chunk would end the body.
    package func sendChunk(_ bytes: Data) throws(Ended) {
        guard !bytes.isEmpty else { return }
        var framed = Data(String(bytes.count, radix: 16).utf8)
        framed.append(contentsOf: [13, 10])
        framed.append(bytes)
        framed.append(contentsOf: [13, 10])
        try send(framed)
    }

    /// Ends a chunked body.
    package func endChunks(trailers: [ServerField] = []) throws(Ended) {
        try send("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n")
    }

    /// Sends the head of a response, with exactly these fields.
    package func sendHead(status: Int, reason: String = "", fields: [ServerField]) throws(Ended) {
        var head = "HTTP/1.1 \(status) \(reason.isEmpty ? Self.reason(status) : reason)\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        try send(head + "\r\n")
    }

    /// Responds to the request that was read last.
    package func respond(_ response: ServerResponse) throws {
        for interim in response.interim { try sendHead(status: interim.status, fields: interim.fields) }
        let mayHaveBody = response.status >= 200 && response.status != 204 && response.status != 304
        let sendsBody = mayHaveBody && request?.method != "HEAD"
        var fields = response.fields
        if mayHaveBody, !response.fields.contains(where: { $0.isFraming }) {
            switch response.body {
            case .none: fields.append(ServerField("Content-Length", "0"))
            case .bytes(let bytes): fields.append(ServerField("Content-Length", String(bytes.count)))
            case .chunks, .stream: fields.append(ServerField("Transfer-Encoding", "chunked"))
            case .raw: break
            }
        }
        if response.closesConnection { fields.append(ServerField("Connection", "close")) }
        if sendsBody, case .bytes(let bytes) = response.body, bytes.count <= Self.scratchSize {
            // Head and body in one segment, as real servers do.
            var whole = Data("HTTP/1.1 \(response.status) \(response.reasonOrStandard)\r\n".utf8)
            for field in fields { whole.append(contentsOf: "\(field.name): \(field.value)\r\n".utf8) }
            whole.append(contentsOf: [13, 10])
            whole.append(bytes)
            try send(whole)
        } else {
            try sendHead(status: response.status, reason: response.reason, fields: fields)
            if sendsBody { try sendBody(of: response) }
        }
        if response.closesConnection { try close() }
    }

    /// Reads requests and has each responded to, until the client wants no other.
    ///
    /// - Parameters:
    ///   - onHead: Called when only the head of a request has arrived. A response that it returns is sent before the body is read.
    ///   - respond: Responds to a request that has arrived completely.
    /// - Throws: The error of a closure, or ``Ended`` when the connection has ended.
    func serveRequests(
        onHead: (ServerRequest) throws -> ServerResponse? = { _ in nil },
        respond: (ServerRequest) throws -> Void
    ) throws {
        while true {
            let head = try readHead()
            if let early = try onHead(head) {
                try self.respond(early)
                // A client that was refused in the middle of its body may or may not send the rest (RFC 9110
                // §10.1.1).
                if request?.isComplete != true {
                    guard head["Expect"] == nil else { try close() }
                    try readBody()
                }
            } else {
                if head["Expect"]?.lowercased() == "100-continue" { try sendHead(status: 100, fields: []) }
                try respond(try readBody())
            }
            let asked = head["Connection"]?.lowercased()
            if asked == "close" || (head.version == "HTTP/1.0" && asked != "keep-alive") { return }
        }
    }

    private func sendBody(of response: ServerResponse) throws {
        switch response.body {
        case .none: break
        case .bytes(let bytes): try send(bytes)
        case .chunks(let chunks):
            for chunk in chunks { try sendChunk(chunk) }
            try endChunks(trailers: response.trailers)
        case .stream(let write):
            try write(self)
            try endChunks(trailers: response.trailers)
        case .raw(let write):
            try write(self)
            try close()
        }
    }

    private func systemSend(_ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.send(descriptor, bytes, count, Sockets.sendFlags)
        #elseif canImport(Musl)
            Musl.send(descriptor, bytes, count, Sockets.sendFlags)
        #else
            Darwin.send(descriptor, bytes, count, Sockets.sendFlags)
        #endif
    }

    // MARK: - Waiting and ending

    /// Blocks until the test raises the signal.
    package func wait(for signal: Signal) throws(Ended) {
        try check()
        guard core.wait(for: signal) else { throw ending(as: .stopped) }
    }

    /// Blocks for a duration of a clock, or until the server stops.
    func wait(for duration: Duration, in time: any TimeSource) throws(Ended) {
        let isOver = Signal()
        // Owned by this method, which cancels it when the server stops.
        let sleep = Task {
            // The sleep throws only when it is cancelled, and no thread waits then.
            try? await time.sleep(for: duration)
            isOver.raise()
        }
        defer { sleep.cancel() }
        try wait(for: isOver)
    }

    /// Blocks until the client closes or the server stops; bytes that arrive meanwhile are only recorded.
    package func stall() throws(Ended) {
        while true {
            try fill()
            buffer.removeAll()
        }
    }

    /// Resets the connection (RST).
    package func reset() throws(Ended) -> Never {
        Sockets.resetOnClose(descriptor)
        throw ending(as: .resetByServer)
    }

    /// Closes the connection.
    ///
    /// Unread bytes of the client are received first: otherwise the system would reset the connection, and the client
    /// could lose the end of the response.
    package func close() throws(Ended) -> Never {
        while recv(descriptor, scratch.baseAddress, scratch.count, Sockets.dontWait) > 0 {}
        throw ending(as: .byServer)
    }

    /// Ends only the sending direction; the client may continue to send.
    package func halfClose() throws(Ended) {
        try check()
        shutdown(descriptor, Sockets.shutWrite)
    }

    /// How it ended, for the code that closes the descriptor.
    var ending: Ended { ended ?? .byServer }

    private func check() throws(Ended) {
        if let ended { throw ended }
    }

    private func ending(as reason: Ended) -> Ended {
        let ending = ended ?? (core.isStopped ? .stopped : reason)
        ended = ending
        return ending
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}

extension ServerResponse {
    fileprivate var reasonOrStandard: String { reason.isEmpty ? ServerConnection.reason(status) : reason }
}

extension ServerField {
    fileprivate var isFraming: Bool {
        let name = name.lowercased()
        return name == "content-length" || name == "transfer-encoding"
    }
}

extension ServerConnection.Ended: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var errorDescription: String? { "The connection has ended: \(self)." }
}
