package import LadeCore

/// Checks the header sections of one HTTP/1.1 or HTTP/2 exchange as they arrive: line by line, or field by field.
///
/// The connection is closed when a line or field is malformed. Over libcurl, which accepts `Http/1.1`, bare LF, folding,
/// contradictory lengths, and `Content-Length` with chunked (7.88), the lines are those of its header callback. A value:
/// lines or fields go in, findings come out.
package struct HeadVetting: Sendable {
    /// The part of a head that a line completed.
    package enum Finding: Sendable {
        /// Nothing yet.
        case more
        /// A complete interim head (RFC 9110 §15.2).
        case interim(Response.Status, Headers)
        /// The complete final head.
        case final(Head)
    }

    /// A final head and its description of the body.
    package struct Head: Sendable {
        package var status: Response.Status
        package var version: Response.Version
        package var headers: Headers
        /// The value of `Content-Length`, when it frames the body.
        package var contentLength: Int64?
        /// The value of `Content-Encoding`; nil without the field.
        package var contentEncoding: String?
        /// Whether the body is framed in chunks.
        package var isChunked: Bool
    }

    /// Why the exchange must end.
    package enum Fault: Error, Sendable, Hashable {
        case malformed(LoadingError.MalformedResponse)
        case tooLarge(LoadingError.HeadLimit)
    }

    private enum Section {
        case statusLine
        case fields(Response.Status, Response.Version)
        /// The body has begun, so further lines are trailers.
        case trailers
    }

    private let limits: TransportSettings.ResponseLimits
    private let tolerances: TransportSettings.Tolerances
    private var section = Section.statusLine
    private var fields = HeaderBlock.Builder()
    private var contentLength: Int64?
    private var isChunked = false
    private var lastIsFraming = false
    private var contentEncoding: String?
    /// The number of bytes in all heads and trailers so far.
    package private(set) var bytes = 0
    /// The number of lines of the present section so far.
    package private(set) var lines = 0
    /// The malformations that were tolerated.
    package private(set) var tolerated: [LoadingError.MalformedResponse] = []

    package init(limits: TransportSettings.ResponseLimits, tolerances: TransportSettings.Tolerances) {
        self.limits = limits
        self.tolerances = tolerances
    }

    /// Whether the next line is the first after a status line.
    package var awaitsFirstField: Bool {
        if case .fields = section { fields.count == 0 } else { false }
    }

    /// Removes and returns the trailer fields after the end of the body.
    package mutating func takeTrailers() -> Headers {
        guard case .trailers = section, fields.count > 0 else { return Headers() }
        defer { fields = HeaderBlock.Builder() }
        return Headers(checked: fields.block)
    }

    /// Checks one line with its line end.
    package mutating func take(_ line: UnsafeBufferPointer<UInt8>) throws(Fault) -> Finding {
        try count(line.count)
        let content = try contentOfLine(line)
        lines += 1
        switch section {
        case .statusLine:
            lines = 1
            let (status, version) = try statusLine(content)
            guard status.code != 101 else { throw malformed(.unaskedUpgrade, content) }
            beginFields(status, version)
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

    // MARK: - Fields of HTTP/2 (RFC 9113 §8.2)

    /// Begins a head with the value of `:status`.
    package mutating func begin(status value: UnsafeBufferPointer<UInt8>) throws(Fault) {
        lines = 1
        // Counted as the status line that HTTP/1.1 would have.
        try count(Self.statusLineOfHTTP2)
        guard value.count == 3, value.allSatisfy({ 0x30...0x39 ~= $0 }), value[0] != 0x30 else {
            throw malformed(.statusLine, value)
        }
        let code = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard code != 101 else { throw malformed(.unaskedUpgrade, value) }
        beginFields(Response.Status(code), .http2)
    }

    /// Takes a field of a head or trailer section, without building its line.
    ///
    /// - Parameters:
    ///   - field: The name, and the value directly behind it.
    ///   - name: The length of the name.
    /// - Throws: The part that is malformed or too large.
    package mutating func take(field: UnsafeBufferPointer<UInt8>, name: Int) throws(Fault) {
        lines += 1
        try count(field.count + 4)
        let isTrailer =
            switch section {
            case .statusLine: throw malformed(.statusLine, field)
            case .fields: false
            case .trailers: true
            }
        guard fields.count < limits.headFields else { throw .tooLarge(.fields(limits.headFields)) }
        let text = Bytes(rebasing: field[..<name])
        guard name > 0, text.tokenPrefixLength == name, text.allSatisfy({ $0 == $0.lowercasedASCII }) else {
            throw malformed(.fieldName, field)
        }
        let value = Bytes(rebasing: field[name...])
        guard value.areFieldContent, Self.trimmed(value, from: 0).count == value.count else {
            throw malformed(.fieldValue, text)
        }
        fields.append(field, name: name, value: name..<field.count)
        lastIsFraming = false
        if !isTrailer { try note(text, value, text) }
    }

    /// Ends a head or trailer section.
    package mutating func endFields() throws(Fault) -> Finding {
        lines += 1
        try count(2)
        switch section {
        case .statusLine: throw .malformed(LoadingError.MalformedResponse(.statusLine))
        case .fields(let status, let version): return try endOfHead(status, version)
        case .trailers: return .more
        }
    }

    /// The length of the status line `HTTP/2 200 ` with its line end.
    private static let statusLineOfHTTP2 = 13

    // MARK: - Lines

    private mutating func count(_ more: Int) throws(Fault) {
        bytes += more
        guard bytes <= limits.headBytes else { throw .tooLarge(.bytes(limits.headBytes)) }
    }

    private mutating func beginFields(_ status: Response.Status, _ version: Response.Version) {
        section = .fields(status, version)
        fields = HeaderBlock.Builder()
        contentLength = nil
        isChunked = false
        contentEncoding = nil
    }

    // Rebased buffers, and not slices, strings or collections, because this runs for each line of each response.
    private typealias Bytes = UnsafeBufferPointer<UInt8>

    private mutating func contentOfLine(_ line: Bytes) throws(Fault) -> Bytes {
        let count = line.count
        guard count > 0, line[count - 1] == 0x0A else { throw malformed(.lineEnd, line) }
        if count >= 2, line[count - 2] == 0x0D { return Bytes(rebasing: line[..<(count - 2)]) }
        let content = Bytes(rebasing: line[..<(count - 1)])
        try tolerate(.bareLineFeed, .lineEnd, content)
        return content
    }

    /// The status line (RFC 9112 §4), whose reason may be absent; libcurl makes one for HTTP/2 too.
    private mutating func statusLine(_ line: Bytes) throws(Fault) -> (Response.Status, Response.Version) {
        guard let space = line.firstIndex(of: 0x20),
            let version = try version(Bytes(rebasing: line[..<space]), line)
        else { throw malformed(.statusLine, line) }
        let digits = line[(space + 1)...].prefix(3)
        let afterDigits = space + 4
        guard digits.count == 3, digits.allSatisfy({ 0x30...0x39 ~= $0 }),
            afterDigits == line.count || line[afterDigits] == 0x20
        else { throw malformed(.statusLine, line) }
        let code = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard code >= 100, line[afterDigits...].allSatisfy(\.isFieldContent) else { throw malformed(.statusLine, line) }
        return (Response.Status(code), version)
    }

    private mutating func version(_ text: Bytes, _ line: Bytes) throws(Fault) -> Response.Version? {
        if Self.equals(text, "HTTP/1.1") { return .http1_1 }
        if Self.equals(text, "HTTP/1.0") { return .http1_0 }
        if Self.equals(text, "HTTP/2") { return .http2 }
        if Self.equals(text, "HTTP/3") { return .http3 }
        guard Self.equalsIgnoringCase(text, "http/1.1") else { return nil }
        try tolerate(.protocolNameCase, .statusLine, line)
        return .http1_1
    }

    private mutating func field(_ line: Bytes, isTrailer: Bool) throws(Fault) {
        guard line[0] != 0x20, line[0] != 0x09 else { return try continuation(line) }
        guard fields.count < limits.headFields else { throw .tooLarge(.fields(limits.headFields)) }
        let end = line.tokenPrefixLength
        var colon = end
        while colon < line.count, line[colon] == 0x20 || line[colon] == 0x09 { colon += 1 }
        guard end > 0, colon < line.count, line[colon] == 0x3A else { throw malformed(.fieldName, line) }
        if colon > end { try tolerate(.spaceBeforeColon, .fieldName, line) }
        let value = Self.trimmed(line, from: colon + 1)
        guard Bytes(rebasing: line[value]).areFieldContent else { throw malformed(.fieldValue, line) }
        fields.append(line, name: end, value: value)
        lastIsFraming = false
        if !isTrailer { try note(Bytes(rebasing: line[..<end]), Bytes(rebasing: line[value]), line) }
    }

    /// Joins a folded line (obs-fold) to the previous field with one space, when folding is tolerated.
    private mutating func continuation(_ line: Bytes) throws(Fault) {
        try tolerate(.foldedFields, .foldedField, line)
        let value = Bytes(rebasing: line[Self.trimmed(line, from: 0)])
        // A framing field must not be folded, because libcurl may have read it differently.
        guard fields.count > 0, !lastIsFraming, value.areFieldContent else {
            throw malformed(.foldedField, line)
        }
        fields.extendLast(value)
    }

    // MARK: - Framing (RFC 9112 §6)

    private mutating func note(_ name: Bytes, _ value: Bytes, _ line: Bytes) throws(Fault) {
        switch name.count {
        case 14 where Self.equalsIgnoringCase(name, "content-length"):
            // Several lines mean the list of their values, and a list of equal lengths is that length (RFC 9112 §6.3).
            for part in value.split(separator: 0x2C, omittingEmptySubsequences: false) {
                let member = Bytes(rebasing: part)
                guard let length = Self.number(Bytes(rebasing: member[Self.trimmed(member, from: 0)])),
                    contentLength == nil || contentLength == length
                else { throw malformed(.contentLength, line) }
                contentLength = length
            }
            lastIsFraming = true
        case 17 where Self.equalsIgnoringCase(name, "transfer-encoding"):
            guard !isChunked, Self.equalsIgnoringCase(value, "chunked") else { throw malformed(.transferCoding, line) }
            isChunked = true
            lastIsFraming = true
        case 16 where Self.equalsIgnoringCase(name, "content-encoding"):
            let text = String(decoding: value, as: UTF8.self)
            contentEncoding = contentEncoding.map { $0 + ", " + text } ?? text
        default: break
        }
    }

    private mutating func endOfHead(_ status: Response.Status, _ version: Response.Version) throws(Fault) -> Finding {
        let headers = Headers(checked: fields.block)
        if status.statusClass == .informational {
            section = .statusLine
            return .interim(status, headers)
        }
        if isChunked {
            guard version == .http1_1 else { throw .malformed(LoadingError.MalformedResponse(.transferCoding)) }
            if contentLength != nil {
                let fault = LoadingError.MalformedResponse(.lengthWithTransferCoding)
                guard tolerances.contains(.lengthWithChunked) else { throw .malformed(fault) }
                tolerated.append(fault)
                contentLength = nil
            }
        }
        section = .trailers
        fields = HeaderBlock.Builder()
        return .final(
            Head(
                status: status,
                version: version,
                headers: headers,
                contentLength: contentLength,
                contentEncoding: contentEncoding,
                isChunked: isChunked
            )
        )
    }

    // MARK: - Pieces

    private func malformed(_ rule: LoadingError.MalformedResponse.Rule, _ line: Bytes) -> Fault {
        .malformed(LoadingError.MalformedResponse(rule, excerpt: String(decoding: line.prefix(200), as: UTF8.self)))
    }

    private mutating func tolerate(
        _ tolerance: TransportSettings.Tolerances,
        _ rule: LoadingError.MalformedResponse.Rule,
        _ line: Bytes
    ) throws(Fault) {
        guard tolerances.contains(tolerance) else { throw malformed(rule, line) }
        tolerated.append(
            LoadingError.MalformedResponse(rule, excerpt: String(decoding: line.prefix(200), as: UTF8.self))
        )
    }

    private static func equals(_ bytes: Bytes, _ text: StaticString) -> Bool {
        bytes.count == text.utf8CodeUnitCount && bytes.elementsEqual(Bytes(start: text.utf8Start, count: bytes.count))
    }

    /// Whether the bytes equal the text, ignoring case; the text must be in lower case.
    private static func equalsIgnoringCase(_ bytes: Bytes, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index].lowercasedASCII != text.utf8Start[index] { return false }
        return true
    }

    private static func trimmed(_ bytes: Bytes, from start: Int) -> Range<Int> {
        var start = start
        var end = bytes.count
        while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }

    /// The decimal number in the bytes; nil when it is invalid or too large.
    private static func number(_ bytes: Bytes) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in bytes {
            guard 0x30...0x39 ~= byte else { return nil }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(Int64(byte - 0x30))
            guard !isTooLarge, !overflows else { return nil }
            value = sum
        }
        return value
    }
}
