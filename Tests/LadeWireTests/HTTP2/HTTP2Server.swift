import CNghttp2

@testable import LadeWire

/// A server of HTTP/2 in memory: nghttp2's, which a test drives by hand.
final class HTTP2Server {
    /// What arrived on a stream.
    struct Received: Equatable {
        var fields: [String] = []
        /// The names of the fields that must not be indexed.
        var neverIndexed: [String] = []
        var body: [UInt8] = []
        var trailers: [String] = []
        /// Whether its head has arrived.
        var hasHead = false
        var isComplete = false
        var resetCode: UInt32?
    }

    private final class Body {
        var bytes: ArraySlice<UInt8>
        let trailers: [(String, String)]
        let ends: Bool

        init(_ bytes: [UInt8], _ trailers: [(String, String)], ends: Bool) {
            self.bytes = bytes[...]
            self.trailers = trailers
            self.ends = ends
        }
    }

    private var session: OpaquePointer?
    private(set) var streams: [Int32: Received] = [:]
    /// The streams in the order of their arrival.
    private(set) var order: [Int32] = []
    private(set) var pings = 0
    private(set) var goAway: UInt32?
    /// The settings of the client.
    private(set) var settings: [Int32: UInt32] = [:]
    private var bodies: [Int32: Body] = [:]

    init(settings: [(nghttp2_settings_id, UInt32)] = [], windowsReturn: Bool = true) {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, frame, name, count, value, size, flags, user in
            let server = HTTP2Server.of(user)
            guard let frame = frame?.pointee else { return 0 }
            let name = String(decoding: UnsafeBufferPointer(start: name, count: count), as: UTF8.self)
            let value = String(decoding: UnsafeBufferPointer(start: value, count: size), as: UTF8.self)
            let isTrailer = frame.headers.cat == NGHTTP2_HCAT_HEADERS
            let field = "\(name): \(value)"
            if server.streams[frame.hd.stream_id] == nil { server.order.append(frame.hd.stream_id) }
            if isTrailer {
                server.streams[frame.hd.stream_id, default: Received()].trailers.append(field)
            } else {
                server.streams[frame.hd.stream_id, default: Received()].fields.append(field)
                if UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0 {
                    server.streams[frame.hd.stream_id]?.neverIndexed.append(name)
                }
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, data, size, user in
            HTTP2Server.of(user).streams[stream]?.body += Array(UnsafeBufferPointer(start: data, count: size))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            if let frame { HTTP2Server.of(user).received(frame.pointee) }
            return 0
        }
        var options: OpaquePointer?
        nghttp2_option_new(&options)
        defer { nghttp2_option_del(options) }
        if !windowsReturn { nghttp2_option_set_no_auto_window_update(options, 1) }
        nghttp2_session_server_new2(&session, callbacks, Unmanaged.passUnretained(self).toOpaque(), options)
        submit(settings: settings)
    }

    deinit { nghttp2_session_del(session) }

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Server {
        guard let user else { preconditionFailure("nghttp2 calls back without the server") }
        return Unmanaged<HTTP2Server>.fromOpaque(user).takeUnretainedValue()
    }

    private func received(_ frame: nghttp2_frame) {
        let stream = frame.hd.stream_id
        let isLast = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            if frame.hd.type == NGHTTP2_HEADERS.rawValue { streams[stream]?.hasHead = true }
            if isLast { streams[stream]?.isComplete = true }
        case NGHTTP2_RST_STREAM: streams[stream]?.resetCode = frame.rst_stream.error_code
        case NGHTTP2_PING: if UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { pings += 1 }
        case NGHTTP2_GOAWAY: goAway = frame.goaway.error_code
        case NGHTTP2_SETTINGS:
            for index in 0..<frame.settings.niv {
                settings[frame.settings.iv[index].settings_id] = frame.settings.iv[index].value
            }
        default: break
        }
    }

    func submit(settings: [(nghttp2_settings_id, UInt32)]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        nghttp2_submit_settings(session, 0, entries, entries.count)
    }

    /// Allows the client to send more on the connection.
    func raiseWindow(by count: Int32) { nghttp2_submit_window_update(session, 0, 0, count) }

    /// Takes bytes of the client.
    ///
    /// - Returns: Whether nghttp2 accepts them.
    @discardableResult
    func receive(_ bytes: [UInt8]) -> Bool { nghttp2_session_mem_recv(session, bytes, bytes.count) == bytes.count }

    /// The bytes that the server sends now.
    func send() -> [UInt8] {
        var all: [UInt8] = []
        var data: UnsafePointer<UInt8>?
        while case let count = nghttp2_session_mem_send(session, &data), count > 0 {
            all += UnsafeBufferPointer(start: data, count: count)
        }
        return all
    }

    /// Submits an interim head.
    func inform(_ stream: Int32, _ status: Int, _ fields: [(String, String)] = []) {
        Self.withPairs([(":status", "\(status)")] + fields) { pairs, count in
            _ = nghttp2_submit_headers(session, 0, stream, nil, pairs, count, nil)
        }
    }

    /// Submits a response; without a body, the head ends it.
    func respond(
        _ stream: Int32,
        _ status: Int = 200,
        _ fields: [(String, String)] = [],
        body: [UInt8]? = nil,
        trailers: [(String, String)] = [],
        ends: Bool = true
    ) {
        var provider = nghttp2_data_provider()
        provider.read_callback = { session, stream, buffer, size, flags, _, user in
            guard let body = HTTP2Server.of(user).bodies[stream] else { return 0 }
            let part = body.bytes.prefix(size)
            if part.isEmpty, !body.ends { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
            part.withUnsafeBufferPointer {
                if let start = $0.baseAddress { buffer?.update(from: start, count: $0.count) }
            }
            body.bytes = body.bytes.dropFirst(part.count)
            guard body.bytes.isEmpty, body.ends else { return part.count }
            flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            guard !body.trailers.isEmpty else { return part.count }
            flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            HTTP2Server.withPairs(body.trailers) { pairs, count in
                _ = nghttp2_submit_trailer(session, stream, pairs, count)
            }
            return part.count
        }
        bodies[stream] = body.map { Body($0, trailers, ends: ends) }
        Self.withPairs([(":status", "\(status)")] + fields) { pairs, count in
            withUnsafePointer(to: &provider) { provider in
                _ = nghttp2_submit_response(session, stream, pairs, count, body == nil ? nil : provider)
            }
        }
    }

    func reset(_ stream: Int32, _ code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
    }

    func goAway(last: Int32, _ code: nghttp2_error_code = NGHTTP2_NO_ERROR) {
        nghttp2_submit_goaway(session, 0, last, code.rawValue, nil, 0)
    }

    func ping() { nghttp2_submit_ping(session, 0, nil) }

    private static func withPairs(
        _ fields: [(String, String)],
        _ body: (UnsafeMutablePointer<nghttp2_nv>?, Int) -> Void
    ) {
        var texts: [[UInt8]] = fields.flatMap { [Array($0.0.utf8) + [0], Array($0.1.utf8) + [0]] }
        var pairs: [nghttp2_nv] = []
        for index in fields.indices {
            let name = texts[2 * index].withUnsafeMutableBufferPointer { Self.copy($0) }
            let value = texts[2 * index + 1].withUnsafeMutableBufferPointer { Self.copy($0) }
            pairs.append(
                nghttp2_nv(
                    name: name,
                    value: value,
                    namelen: texts[2 * index].count - 1,
                    valuelen: texts[2 * index + 1].count - 1,
                    flags: 0
                )
            )
        }
        pairs.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
        for pair in pairs {
            pair.name.deallocate()
            pair.value.deallocate()
        }
    }

    private static func copy(_ bytes: UnsafeMutableBufferPointer<UInt8>) -> UnsafeMutablePointer<UInt8> {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        if let start = bytes.baseAddress { copy.initialize(from: start, count: bytes.count) }
        return copy
    }
}

/// Frames of HTTP/2 as bytes, for what no server of nghttp2 sends.
enum RawFrame {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8

    static func bytes(_ type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = [UInt8(payload.count >> 16 & 255), UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255)]
        return length + [type, flags] + number(UInt32(stream)) + payload
    }

    static func head(_ fields: [(String, String)], stream: Int32 = 1, ends: Bool = false) -> [UInt8] {
        bytes(headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, literals(fields))
    }

    static func reset(_ code: nghttp2_error_code, stream: Int32 = 1) -> [UInt8] {
        bytes(reset, stream: stream, number(code.rawValue))
    }

    static func goAway(last: Int32, _ code: nghttp2_error_code = NGHTTP2_NO_ERROR) -> [UInt8] {
        bytes(goAway, number(UInt32(last)) + number(code.rawValue))
    }

    static func settings(_ entries: [(nghttp2_settings_id, UInt32)] = []) -> [UInt8] {
        bytes(settings, entries.flatMap { [UInt8($0.0.rawValue >> 8), UInt8($0.0.rawValue & 255)] + number($0.1) })
    }

    /// The streams of the HEADERS frames among the bytes of a client.
    static func requests(in bytes: [UInt8]) -> [Int32] {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        var rest = bytes.starts(with: preface) ? bytes.dropFirst(preface.count) : bytes[...]
        var streams: [Int32] = []
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            if head[3] == headers { streams.append(head[5...].reduce(0) { $0 << 8 | Int32($1) }) }
            rest = rest.dropFirst(9 + head[..<3].reduce(0) { $0 << 8 | Int($1) })
        }
        return streams
    }

    static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    /// Literal fields without indexing, without Huffman (RFC 7541 §6.2.2).
    static func literals(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    private static func text(_ text: String) -> [UInt8] {
        var length: [UInt8] = []
        var rest = text.utf8.count
        if rest < 127 {
            length = [UInt8(rest)]
        } else {
            length = [127]
            rest -= 127
            while rest >= 128 {
                length.append(UInt8(rest % 128) | 128)
                rest /= 128
            }
            length.append(UInt8(rest))
        }
        return length + Array(text.utf8)
    }
}
