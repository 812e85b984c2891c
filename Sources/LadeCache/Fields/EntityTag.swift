package import LadeCore

/// An `ETag` as it was received, which need not be well-formed (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable {
    /// The bytes of the field.
    package let octets: [UInt8]
    /// The field, to send its value again byte by byte.
    package let field: Headers.Field

    /// Wraps a field.
    package init(_ field: Headers.Field) {
        self.field = field
        octets = field.octets
    }

    /// Whether the tag is marked as weak.
    package var isWeak: Bool { octets.starts(with: "W/".utf8) }

    /// Whether equal tags mean equal bytes: the tag is quoted and not marked as weak.
    package var isStrong: Bool {
        octets.count >= 2 && octets.first == UInt8(ascii: "\"") && octets.last == UInt8(ascii: "\"")
            && octets.count { $0 == UInt8(ascii: "\"") } == 2
    }

    /// Whether the tags are equal and both strong (§8.8.3.2).
    package func isStronglyEqual(to other: EntityTag) -> Bool { isStrong && other.isStrong && octets == other.octets }

    /// Whether the tags are equal when the mark of weakness is ignored (§8.8.3.2).
    package func isWeaklyEqual(to other: EntityTag) -> Bool { opaque == other.opaque }

    private var opaque: ArraySlice<UInt8> { isWeak ? octets.dropFirst(2) : octets[...] }

    /// Whether the bytes are the same.
    package static func == (lhs: EntityTag, rhs: EntityTag) -> Bool { lhs.octets == rhs.octets }

    /// Feeds the bytes into a hasher.
    package func hash(into hasher: inout Hasher) { hasher.combine(octets) }
}
