/// The part of a representation that a response contains: `bytes 5-10/11` (RFC 9110 §14.4).
package struct ContentRange: Sendable, Hashable {
    /// The position of the first byte.
    let first: Int64
    /// The position of the last byte.
    let last: Int64
    /// The length of the whole representation; nil when the server does not know it.
    let whole: Int64?

    /// Reads the field; nil for an impossible range, or another unit than bytes.
    init?(_ field: String) {
        let parts = field.parts(at: " ", omitsEmpty: true)
        guard parts.count == 2, parts[0].asciiLowercased == "bytes" else { return nil }
        let halves = parts[1].parts(at: "/")
        guard halves.count == 2 else { return nil }
        let ends = halves[0].parts(at: "-")
        guard ends.count == 2, let first = Self.position(ends[0]), let last = Self.position(ends[1]), first <= last
        else { return nil }
        self.first = first
        self.last = last
        guard halves[1] != "*" else {
            whole = nil
            return
        }
        guard let whole = Self.position(halves[1]), last < whole else { return nil }
        self.whole = whole
    }

    /// The length of the whole representation in a 416 response: `bytes */11`; nil for anything else.
    static func unsatisfiedLength(_ field: String) -> Int64? {
        let parts = field.parts(at: " ", omitsEmpty: true)
        guard parts.count == 2, parts[0].asciiLowercased == "bytes", parts[1].begins(with: "*/") else { return nil }
        return position(Substring(parts[1].utf8.dropFirst(2)))
    }

    /// Accepts only digits: `Int64` would accept a sign.
    static func position(_ text: Substring) -> Int64? {
        Whole.count(text).flatMap { $0 == .max ? nil : $0 }
    }
}

extension Response {
    /// Whether the body is a part of the representation although the request has no `Range`; see ``BodyMeaning``.
    ///
    /// Services with pages of items use 206 too, with a range unit of their own or without the field. Their body is a
    /// whole page.
    package var isUnrequestedPart: Bool {
        guard status == 206, !request.headers.contains("Range") else { return false }
        // The transport has compared the length with the body.
        var head = self
        head.headers.remove("Content-Length")
        return if case .misfit = BodyMeaning(of: head, to: .whole) { true } else { false }
    }

    /// The length of the arriving body by `Content-Length`; nil where the field does not apply to it.
    var bodyLength: Int64? {
        // With 304 the field has the length of the representation that is not sent, and 204 has no body (RFC 9110 §8.6,
        // §15.3.5).
        guard request.method != .head, ![204, 304].contains(status), !headers.contains("Content-Encoding") else {
            return nil
        }
        return headers.contentLength
    }
}
