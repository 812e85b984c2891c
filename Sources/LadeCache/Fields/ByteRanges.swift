package import LadeCore

/// The range of bytes that `Range` of a request asks for (RFC 9110 §14.2).
package enum RangeRequest: Sendable, Hashable {
    /// There is no such field.
    case none
    /// One range of bytes.
    case single(ByteRange)
    /// Several ranges, another unit, or a field that cannot be read.
    case unusable

    /// Reads the field.
    package init(_ headers: Headers) {
        guard headers.contains("Range") else {
            self = .none
            return
        }
        self = .unusable
        let lines = headers.octets("Range")
        guard lines.count == 1, let equals = lines[0].firstIndex(of: UInt8(ascii: "=")) else { return }
        let unit = FieldMembers.trimmed(Array(lines[0][..<equals])).lowercasedASCII
        guard unit.elementsEqual("bytes".utf8) else { return }
        let ranges = FieldMembers.list([Array(lines[0][(equals + 1)...])])
        guard ranges.count == 1, let range = ByteRange(ranges[0]) else { return }
        self = .single(range)
    }
}

/// One range of bytes as a request writes it: `0-1`, `1-`, `-1`.
package enum ByteRange: Sendable, Hashable {
    /// From an offset, to one included or to the end.
    case from(Int64, through: Int64?)
    /// The last bytes.
    case last(Int64)

    init?(_ text: [UInt8]) {
        guard let dash = text.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let (before, after) = (text[..<dash], text[(dash + 1)...])
        let end = FieldMembers.number(after, limit: Self.limit)
        guard !before.isEmpty else {
            guard let end else { return nil }
            self = .last(end)
            return
        }
        guard let start = FieldMembers.number(before, limit: Self.limit) else { return nil }
        guard !after.isEmpty else {
            self = .from(start, through: nil)
            return
        }
        guard let end, start <= end else { return nil }
        self = .from(start, through: end)
    }

    /// The bytes that the range means in a body of a length; nil where it has none of them.
    package func resolved(in total: Int64) -> Range<Int64>? {
        switch self {
        case .from(let start, let end):
            guard start < total else { return nil }
            return start..<min((end ?? total - 1) + 1, total)
        case .last(let count):
            guard count > 0, total > 0 else { return nil }
            return max(0, total - count)..<total
        }
    }

    /// Larger than any body, and far from overflowing.
    private static let limit: Int64 = 1 << 60
}

/// `Content-Range` of one range (RFC 9110 §14.4).
package struct ContentRange: Sendable, Hashable {
    /// The bytes of the whole that the body has.
    package let span: Range<Int64>
    /// The length of the whole; nil for `*`.
    package let total: Int64?

    /// Makes a range.
    package init(span: Range<Int64>, total: Int64?) {
        self.span = span
        self.total = total
    }

    /// Reads the only field of that name; nil for anything that is not exactly one range of bytes.
    package init?(_ headers: Headers) {
        guard case .one(let field) = headers.reading(.contentRange), field.value.utf8.count < 80 else { return nil }
        let parts = field.octets.split(separator: 0x20, omittingEmptySubsequences: true)
        guard parts.count == 2, Array(parts[0]).lowercasedASCII.elementsEqual("bytes".utf8),
            let slash = parts[1].firstIndex(of: UInt8(ascii: "/")),
            let dash = parts[1].firstIndex(of: UInt8(ascii: "-")), dash < slash,
            let first = FieldMembers.number(parts[1][..<dash], limit: 1 << 60),
            let last = FieldMembers.number(parts[1][(dash + 1)..<slash], limit: 1 << 60), first <= last
        else { return nil }
        span = first..<(last + 1)
        let length = parts[1][(slash + 1)...]
        if length.elementsEqual("*".utf8) {
            total = nil
        } else {
            guard let number = FieldMembers.number(length, limit: 1 << 60), last < number else { return nil }
            total = number
        }
    }

    /// The value of the field.
    package var text: String { "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(total.map(String.init) ?? "*")" }
}
