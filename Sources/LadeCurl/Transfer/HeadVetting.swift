import LadeCore

/// The header sections of one HTTP/1.1 or HTTP/2 exchange, vetted line by line as they come off the wire.
///
/// libcurl 7.88 accepts `Http/1.1`, bare LF, folding, contradictory lengths, and `Content-Length` with chunked; the
/// header callback shows the raw lines, so they are judged here and the connection is dropped when one is malformed.
/// A value: lines in, findings out.
struct HeadVetting: Sendable {
    /// What a line completed.
    enum Finding: Sendable {
        /// Nothing yet.
        case more
        /// A whole interim head (RFC 9110 §15.2).
        case interim(Status, Headers)
        /// The whole final head.
        case final(Head)
    }

    /// A final head and what it says about the body.
    struct Head: Sendable {
        var status: Status
        var version: HTTPVersion
        var headers: Headers
        /// The value of `Content-Length`, when it frames the body.
        var contentLength: Int64?
        /// The value of `Content-Encoding`, when there is one.
        var contentEncoding: String?
    }

    /// Why the exchange must end.
    enum Fault: Error, Sendable, Hashable {
        case malformed(MalformedResponse)
        case tooLarge(HeadLimit)
    }

    private enum Section {
        case statusLine
        case fields(Status, HTTPVersion)
        /// The body has begun: what comes now are trailers.
        case trailers
    }

    private let limits: TransportSettings.ResponseLimits
    private let tolerances: TransportSettings.Tolerances
    private var section = Section.statusLine
    private var fields: [Headers.Field] = []
    private var contentLength: String?
    private var transferEncoding: String?
    private var contentEncoding: String?
    /// Bytes of all heads and trailers so far.
    private(set) var bytes = 0
    /// Breaches that were overlooked.
    private(set) var tolerated: [MalformedResponse] = []

    init(limits: TransportSettings.ResponseLimits, tolerances: TransportSettings.Tolerances) {
        self.limits = limits
        self.tolerances = tolerances
    }

    /// The trailer fields, once the body has ended.
    var trailers: Headers {
        if case .trailers = section { Headers(checked: fields) } else { Headers() }
    }

    /// Takes one line with its line end, as the wire library hands it over.
    mutating func take(_ line: UnsafeBufferPointer<UInt8>) throws(Fault) -> Finding {
        bytes += line.count
        guard bytes <= limits.headBytes else { throw .tooLarge(.bytes(limits.headBytes)) }
        let content = try contentOfLine(line)
        switch section {
        case .statusLine:
            let (status, version) = try statusLine(content)
            guard status.code != 101 else { throw malformed(.unaskedUpgrade, content) }
            section = .fields(status, version)
            fields.removeAll(keepingCapacity: true)
            fields.reserveCapacity(12)
            contentLength = nil
            transferEncoding = nil
            contentEncoding = nil
            return .more
        case .fields(let status, let version):
            guard content.isEmpty else {
                try field(content, isTrailer: false)
                return .more
            }
            return try endOfHead(status, version)
        case .trailers:
            if !content.isEmpty { try field(content, isTrailer: true) }
            return .more
        }
    }

    // MARK: - Lines

    private mutating func contentOfLine(_ line: UnsafeBufferPointer<UInt8>) throws(Fault) -> Slice {
        guard line.last == 0x0A else { throw malformed(.lineEnd, line[...]) }
        if line.count >= 2, line[line.count - 2] == 0x0D { return line[...].dropLast(2) }
        let content = line[...].dropLast(1)
        try tolerate(.bareLineFeed, .lineEnd, content)
        return content
    }

    /// `HTTP/1.1 200 OK`, and `HTTP/2 200` as the wire library writes it (RFC 9112 §4).
    ///
    /// The reason may be absent.
    private mutating func statusLine(_ line: Slice) throws(Fault) -> (Status, HTTPVersion) {
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let version = try version(parts[0], line) else { throw malformed(.statusLine, line) }
        let digits = parts[1]
        guard digits.count == 3, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { throw malformed(.statusLine, line) }
        let code = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard code >= 100 else { throw malformed(.statusLine, line) }
        if parts.count == 3, !parts[2].allSatisfy(\.isFieldContent) { throw malformed(.statusLine, line) }
        return (Status(code), version)
    }

    private mutating func version(_ text: Slice, _ line: Slice) throws(Fault) -> HTTPVersion? {
        switch String(decoding: text, as: UTF8.self) {
        case "HTTP/1.1": return .http1_1
        case "HTTP/1.0": return .http1_0
        case "HTTP/2": return .http2
        case "HTTP/3": return .http3
        case let other where other.equalsIgnoringASCIICase("HTTP/1.1"):
            try tolerate(.protocolNameCase, .statusLine, line)
            return .http1_1
        default: return nil
        }
    }

    private mutating func field(_ line: Slice, isTrailer: Bool) throws(Fault) {
        guard let first = line.first, first != 0x20, first != 0x09 else { return try continuation(line) }
        guard fields.count < limits.headFields else { throw .tooLarge(.fields(limits.headFields)) }
        guard let colon = line.firstIndex(of: 0x3A) else { throw malformed(.fieldName, line) }
        var name = line[..<colon]
        if let last = name.last, last == 0x20 || last == 0x09 {
            try tolerate(.spaceBeforeColon, .fieldName, line)
            while let last = name.last, last == 0x20 || last == 0x09 { name.removeLast() }
        }
        guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else { throw malformed(.fieldName, line) }
        let value = Self.trimmed(line[(colon + 1)...])
        guard value.allSatisfy(\.isFieldContent) else { throw malformed(.fieldValue, line) }
        let field = Headers.Field(uncheckedName: String(decoding: name, as: UTF8.self), value: Self.text(value))
        fields.append(field)
        if !isTrailer { try note(field, line) }
    }

    /// A folded line (obs-fold) is joined to the field before it by one space, when that is tolerated at all.
    private mutating func continuation(_ line: Slice) throws(Fault) {
        try tolerate(.foldedFields, .foldedField, line)
        let value = Self.trimmed(line)
        guard let last = fields.popLast(), value.allSatisfy(\.isFieldContent) else {
            throw malformed(.foldedField, line)
        }
        let joined = last.value + " " + Self.text(value)
        fields.append(Headers.Field(uncheckedName: last.name, value: joined))
        // A framing field must not be changed by folding: what the wire library made of it is unknown.
        if last.name.equalsIgnoringASCIICase("Content-Length") || last.name.equalsIgnoringASCIICase("Transfer-Encoding")
        {
            throw malformed(.foldedField, line)
        }
    }

    // MARK: - Framing (RFC 9112 §6)

    private mutating func note(_ field: Headers.Field, _ line: Slice) throws(Fault) {
        switch field.name.utf8.count {
        case 14 where field.name.equalsIgnoringASCIICase("Content-Length"):
            guard !field.value.isEmpty, field.value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), Int64(field.value) != nil
            else { throw malformed(.contentLength, line) }
            if let contentLength, contentLength != field.value { throw malformed(.contentLength, line) }
            contentLength = field.value
        case 17 where field.name.equalsIgnoringASCIICase("Transfer-Encoding"):
            guard transferEncoding == nil, field.value.equalsIgnoringASCIICase("chunked") else {
                throw malformed(.transferCoding, line)
            }
            transferEncoding = field.value
        case 16 where field.name.equalsIgnoringASCIICase("Content-Encoding"):
            contentEncoding = contentEncoding.map { $0 + ", " + field.value } ?? field.value
        default: break
        }
    }

    private mutating func endOfHead(_ status: Status, _ version: HTTPVersion) throws(Fault) -> Finding {
        let headers = Headers(checked: fields)
        if status.statusClass == .informational {
            section = .statusLine
            return .interim(status, headers)
        }
        if transferEncoding != nil {
            let isHTTP1_1 = version == .http1_1
            if !isHTTP1_1 { throw .malformed(MalformedResponse(.transferCoding)) }
            if contentLength != nil {
                guard tolerances.contains(.lengthWithChunked) else {
                    throw .malformed(MalformedResponse(.lengthWithTransferCoding))
                }
                tolerated.append(MalformedResponse(.lengthWithTransferCoding))
                contentLength = nil
            }
        }
        section = .trailers
        fields = []
        return .final(
            Head(
                status: status,
                version: version,
                headers: headers,
                contentLength: contentLength.flatMap { Int64($0) },
                contentEncoding: contentEncoding
            )
        )
    }

    // MARK: - Pieces

    private typealias Slice = Swift.Slice<UnsafeBufferPointer<UInt8>>

    private func malformed(_ rule: MalformedResponse.Rule, _ line: Slice) -> Fault {
        .malformed(MalformedResponse(rule, excerpt: String(decoding: line.prefix(200), as: UTF8.self)))
    }

    private mutating func tolerate(
        _ tolerance: TransportSettings.Tolerances,
        _ rule: MalformedResponse.Rule,
        _ line: Slice
    ) throws(Fault) {
        guard tolerances.contains(tolerance) else { throw malformed(rule, line) }
        tolerated.append(MalformedResponse(rule, excerpt: String(decoding: line.prefix(200), as: UTF8.self)))
    }

    private static func trimmed(_ bytes: Slice) -> Slice {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return bytes
    }

    /// Values are UTF-8 where they can be and ISO-8859-1 otherwise, so that no byte is lost (RFC 9110 §5.5).
    private static func text(_ bytes: Slice) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var result = ""
        for byte in bytes { result.unicodeScalars.append(Unicode.Scalar(byte)) }
        return result
    }
}
