/// The meaning of a response's body: the whole, a part, the rest, or nothing that could be requested.
///
/// The only place that decides whether a body is complete. Downloads, their resumption within a call and between calls,
/// and the standard output of `lade` ask here; a status alone decides nothing.
///
/// | requested | response | meaning |
/// | --- | --- | --- |
/// | the whole | 206 with a range that is the whole | ``whole(length:)`` |
/// | the whole | 206 with another unit or without a range | ``otherUnit`` |
/// | the whole | 206 with a part, several parts or an unreadable range | ``misfit(_:)`` |
/// | the whole | 416 | ``refused`` |
/// | the whole | another status with a range of bytes that is a part, or does not fit its length | ``misfit(_:)`` |
/// | the whole | another status | ``whole(length:)`` |
/// | the caller's own range | 206 with a range that begins elsewhere | ``misfit(_:)`` |
/// | the caller's own range | anything else | ``requested`` |
/// | the rest | 206 with the next bytes of the same version, coding and length | ``rest(_:)`` |
/// | the rest | another 206 | ``misfit(_:)`` |
/// | the rest | 200 or 203 of the known length or of another version, without a range | ``whole(length:)`` |
/// | the rest | another 200 or 203, another 2xx | ``misfit(_:)`` |
/// | the rest | 416 for which the existing bytes are all, by its range or by the known length | ``complete`` |
/// | the rest | another 416 | ``misfit(_:)`` |
/// | the rest | another status | ``refused`` |
package enum BodyMeaning: Sendable, Hashable {
    /// The part that a request asked for.
    package enum Question: Sendable, Hashable {
        /// The whole body: there is no `Range`.
        case whole
        /// The part of the caller's own `Range`.
        case ownRange
        /// The rest after known bytes.
        case rest(Known)
    }

    /// The whole body from the first byte, and its length if the head says it.
    case whole(length: Int64?)
    /// The part of the caller's own `Range`, or the bytes that the server sends in place of that part.
    case requested
    /// A page of a service that counts something other than bytes: whole for a reader of pages, and never a file.
    case otherUnit
    /// The bytes after the known ones, or a part of them.
    case rest(Range)
    /// The known bytes are the complete body of the same version.
    case complete
    /// The fields contradict the request or the known facts. The clause says how.
    case misfit(String)
    /// The status is no response to this request.
    case refused

    /// The bytes that a request for the rest begins with.
    package typealias Known = ResumePoint
    /// The range of a response.
    package typealias Range = ContentRange

    /// The meaning of a response to a question; a pure function of its head.
    package init(of response: Response, to question: Question) {
        guard response.request.method != .head else {
            self = .whole(length: nil)
            return
        }
        switch question {
        case .whole: self = Self.whole(response)
        case .ownRange: self = Self.own(response)
        case .rest(let known): self = Self.rest(response, known)
        }
    }

    // MARK: - The whole

    private static func whole(_ response: Response) -> BodyMeaning {
        guard response.status != 416 else { return .refused }
        let fields = response.headers.all("Content-Range")
        if response.status == 206 {
            if isMultipart(response) {
                return .misfit("the server sent several parts of a body that was asked for as a whole")
            }
            guard fields.contains(where: isOfBytes) else { return .otherUnit }
        }
        guard fields.contains(where: isOfBytes) else { return .whole(length: response.bodyLength) }
        guard let range = soleRange(response) else {
            // Without 206 or 416 the field has no meaning (RFC 9110 §14.4); what cannot be read says nothing.
            return response.status == 206
                ? .misfit("the server sent a part of unknown place") : .whole(length: response.bodyLength)
        }
        guard range.first == 0, range.whole == range.last + 1 else {
            return .misfit(
                "the server sent bytes \(range.first) to \(range.last) of a body that was asked for as a whole"
            )
        }
        if let length = response.bodyLength, length != range.whole { return .misfit(wrongLength) }
        return .whole(length: response.headers.contains("Content-Encoding") ? response.bodyLength : range.whole)
    }

    // MARK: - A range of the caller

    private static func own(_ response: Response) -> BodyMeaning {
        guard response.status == 206, !isMultipart(response), let range = soleRange(response),
            let first = response.request.headers.value(SingleField(text: "Range")).flatMap(firstByte)
        else { return .requested }
        guard range.first == first else { return .misfit(otherRange) }
        if let length = response.bodyLength, length != range.last - range.first + 1 { return .misfit(wrongLength) }
        return .requested
    }

    /// The first byte of a `Range` that asks for one range of bytes and names its beginning: `bytes=5-`.
    private static func firstByte(of field: String) -> Int64? {
        let text = Array(field.utf8)
        let unit = Array("bytes=".utf8)
        guard text.count > unit.count, zip(text, unit).allSatisfy({ $0.0 | 0x20 == $0.1 | 0x20 }) else { return nil }
        let digits = text.dropFirst(unit.count).prefix { (0x30...0x39).contains($0) }
        let rest = text[digits.endIndex...]
        guard !digits.isEmpty, rest.first == UInt8(ascii: "-"), !rest.contains(UInt8(ascii: ",")) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    // MARK: - The rest

    private static func rest(_ response: Response, _ known: Known) -> BodyMeaning {
        switch response.status.code {
        case 206: partial(response, known)
        case 200, 203: anew(response, known)
        case 200..<300: .misfit("the server responded with \(response.status) to the request for the rest")
        case 416: unsatisfied(response, known)
        default: .refused
        }
    }

    private static func partial(_ response: Response, _ known: Known) -> BodyMeaning {
        guard !isMultipart(response), let range = soleRange(response), range.first == known.offset else {
            return .misfit(otherRange)
        }
        // Without the length of the whole body, its end could not be distinguished from another truncation.
        guard let whole = range.whole, known.length == nil || known.length == whole else {
            return .misfit("the length of the whole body has changed, or is unknown")
        }
        if response.headers.contains("Content-Length") {
            guard response.headers.contentLength == range.last - range.first + 1 else { return .misfit(wrongLength) }
        }
        // Offsets of coded and uncoded bytes differ, also where a server gives both the same entity tag.
        guard isSameCoding(response, known) else { return .misfit("the range has another content coding") }
        // A server that ignores If-Range sends a range of any version, and a redirect may lead to another file.
        guard known.version.isSame(in: response) else { return .misfit("the range is of another version") }
        return .rest(range)
    }

    /// A body that a server sends in place of the rest.
    private static func anew(_ response: Response, _ known: Known) -> BodyMeaning {
        // Some servers send the rest with this status, and their range says so.
        guard !response.headers.all("Content-Range").contains(where: isOfBytes) else {
            guard case .whole(let length) = whole(response), soleRange(response) != nil else {
                return .misfit("the server sent a part of the body as if it were the whole")
            }
            return .whole(length: length)
        }
        // The response does not contradict the known length, and has no fewer bytes than are there. More bytes than the known
        // length are no rest, so they are of another version unless they name this one.
        if let length = response.bodyLength, known.version.isSame(in: response), isSameCoding(response, known) {
            let least = known.length ?? known.offset
            let isLonger = length > least && known.length != nil && known.version.isNamed(in: response)
            if length < least || isLonger {
                return .misfit("the server sent \(length) bytes as if they were the whole body")
            }
        }
        return .whole(length: response.bodyLength)
    }

    private static func unsatisfied(_ response: Response, _ known: Known) -> BodyMeaning {
        let isSame = known.offset > 0 && known.version.isSame(in: response)
        let fields = response.headers.all("Content-Range")
        // A server that has another version by now ignores the range, because `If-Range` does not match (RFC 9110
        // §13.1.5).
        let whole =
            fields.isEmpty
            ? known.length
            : response.headers.value(.contentRange).flatMap(ContentRange.unsatisfiedLength)
        let isAll = whole == known.offset && (known.length == nil || known.length == whole)
        return isSame && isAll ? .complete : .misfit("the server has no such range")
    }

    // MARK: - Fields

    private static let otherRange = "the server sent another range than requested"
    private static let wrongLength = "the length of the response does not match its range"

    private static func isMultipart(_ response: Response) -> Bool {
        response.headers.all("Content-Type").contains { $0.asciiLowercased.begins(with: "multipart/byteranges") }
    }

    private static func isOfBytes(_ field: String) -> Bool { field.asciiLowercased.begins(with: "bytes") }

    private static func soleRange(_ response: Response) -> ContentRange? {
        response.headers.value(.contentRange).flatMap(ContentRange.init)
    }

    /// Whether the response does not name another content coding; a response to `If-Range` may leave it out (RFC 9110
    /// §15.3.7).
    private static func isSameCoding(_ response: Response, _ known: Known) -> Bool {
        !response.headers.contains("Content-Encoding")
            || response.headers.contentCodings == Headers.codings(in: known.coding.map { [$0] } ?? [])
    }
}
