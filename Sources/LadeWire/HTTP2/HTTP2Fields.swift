#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CNghttp2
import LadeCore
import LadeExchange

/// Fields of HTTP/2 sections, in one memory: each name, and its value directly behind it.
struct HTTP2Fields {
    private struct Mark {
        var start: Int
        /// The length of the name.
        var name: Int
        var end: Int
        /// Whether the value is a credential, which header compression never indexes (RFC 7541 §7.1.3).
        var isSecret: Bool
    }

    private var bytes: [UInt8] = []
    private var marks: [Mark] = []

    /// How many fields there are.
    var count: Int { marks.count }
    /// The number of bytes that the fields would have as lines.
    var lineBytes: Int { bytes.count + 4 * marks.count }

    /// Removes all fields, and keeps the memory of ordinary ones.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
        marks.removeAll(keepingCapacity: true)
    }

    mutating func removeFirst(_ number: Int) {
        guard number < marks.count else { return removeAll() }
        guard number > 0 else { return }
        let start = marks[number].start
        bytes.removeFirst(start)
        marks.removeFirst(number)
        for index in marks.indices {
            marks[index].start -= start
            marks[index].end -= start
        }
    }

    /// Appends a field as it was received.
    mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        marks.append(Mark(start: start, name: name.count, end: bytes.count, isSecret: false))
    }

    // MARK: - Reading

    /// Calls a closure with each field of a section and the length of its name.
    ///
    /// The pieces of a split `cookie` are one field, at the place of the first (RFC 9113 §8.2.3).
    func forEachJoiningCookies(
        in range: Range<Int>,
        _ body: (UnsafeBufferPointer<UInt8>, Int) throws(HeadVetting.Fault) -> Void
    ) throws(HeadVetting.Fault) {
        try bytes.withUnsafeBufferPointer { bytes throws(HeadVetting.Fault) in
            func field(_ mark: Mark) -> UnsafeBufferPointer<UInt8> {
                UnsafeBufferPointer(rebasing: bytes[mark.start..<mark.end])
            }
            func isCookie(_ mark: Mark) -> Bool {
                mark.name == 6 && bytes[mark.start..<(mark.start + 6)].elementsEqual("cookie".utf8)
            }
            var joinsCookies = true
            for mark in marks[range] {
                guard isCookie(mark) else {
                    try body(field(mark), mark.name)
                    continue
                }
                guard joinsCookies else { continue }
                joinsCookies = false
                let values = marks[range].filter(isCookie).map { bytes[($0.start + $0.name)..<$0.end] }
                let joined = Array("cookie".utf8) + values.joined(separator: "; ".utf8)
                try joined.withUnsafeBufferPointer { joined throws(HeadVetting.Fault) in try body(joined, mark.name) }
            }
        }
    }

    // MARK: - Writing

    /// Calls a closure with the fields in the form of nghttp2.
    func withPairs<Result>(_ body: (UnsafeMutablePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            // nghttp2 copies the fields and does not change them.
            let start = UnsafeMutablePointer(mutating: bytes.baseAddress)
            return withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: marks.count) { pairs in
                for (index, mark) in marks.enumerated() {
                    pairs[index] = nghttp2_nv(
                        name: start.map { $0 + mark.start },
                        value: start.map { $0 + mark.start + mark.name },
                        namelen: mark.name,
                        valuelen: mark.end - mark.start - mark.name,
                        flags: UInt8((mark.isSecret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE).rawValue)
                    )
                }
                return body(pairs.baseAddress, marks.count)
            }
        }
    }

    /// Appends the fields of the head of an exchange's request (RFC 9113 §8.3.1), in the order of the caller.
    mutating func append(headOf exchange: Exchange, framing: RequestFraming) {
        let request = exchange.request
        append(":method", request.method.rawValue.utf8)
        append(":scheme", (exchange.isSecure ? "https" : "http").utf8)
        append(":authority") { RequestHead.appendHost(of: exchange, to: &$0) }
        append(":path") { RequestHead.appendTarget(of: exchange, to: &$0) }
        for field in request.headers { append(field, ofRequest: true) }
        let headers = request.headers
        if !headers.contains("Accept"), !request.omitsAccept { append("accept", "*/*".utf8) }
        if exchange.isDecoding { append("accept-encoding", Self.codings.utf8) }
        if let type = request.body?.contentType, !headers.contains("Content-Type") { append("content-type", type.utf8) }
        if case .length(let length) = framing { append("content-length", String(length).utf8) }
    }

    /// The fields of a trailer section.
    init(trailers: Headers) {
        for field in trailers { append(field, ofRequest: false) }
    }

    /// Makes an empty list.
    init() {}

    private static let codings = ContentCoding.allCases.map(\.rawValue).joined(separator: ", ")

    /// The elements of a list in a field, without white space.
    private static func options(_ value: String) -> [String] {
        var elements = [""]
        for byte in value.unicodeScalars where byte != " " && byte != "\t" {
            if byte == "," { elements.append("") } else { elements[elements.count - 1].unicodeScalars.append(byte) }
        }
        return elements
    }

    /// Appends a field of the caller, unless HTTP/2 forbids it or the transport writes it (RFC 9113 §8.2.2).
    ///
    /// `Connection` names no other field: a request whose `Connection` names one is refused earlier.
    private mutating func append(_ field: Headers.Field, ofRequest isRequest: Bool) {
        let name = field.name.asciiLowercased
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings", "host",
            "content-length":
            return
        case "trailer" where !isRequest: return
        case "te":
            // The only value that is allowed.
            let hasTrailers = Self.options(field.value).contains { option in
                option.equalsIgnoringASCIICase("trailers") || option.asciiLowercased.begins(with: "trailers;")
            }
            if isRequest, hasTrailers { append("te", "trailers".utf8) }
        default:
            if let octets = field.unusualOctets {
                append(name, octets, isSecret: field.carriesCredentials)
            } else {
                append(name, field.value.utf8, isSecret: field.carriesCredentials)
            }
        }
    }

    private mutating func append(_ name: String, _ value: some Collection<UInt8>, isSecret: Bool = false) {
        append(name, isSecret: isSecret) { $0.append(contentsOf: value) }
    }

    /// Appends a field whose value a closure writes.
    private mutating func append(_ name: String, isSecret: Bool = false, _ value: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let end = bytes.count
        value(&bytes)
        marks.append(Mark(start: start, name: end - start, end: bytes.count, isSecret: isSecret))
    }
}
