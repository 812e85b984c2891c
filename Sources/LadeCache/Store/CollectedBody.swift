#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The bytes of a body that is being stored, in the locked state of its writer.
///
/// The first chunk is shared with the response, later ones are copied. No change releases a chunk: its buffer may return to a
/// pool, whose lock must not be taken under that of the writer.
package struct CollectedBody: Sendable {
    private var first = Data()
    private var rest = Data()

    /// Makes a body without bytes.
    package init() {}

    /// The number of bytes.
    package var count: Int { first.count + rest.count }

    /// All bytes; made from several chunks by a copy.
    package var bytes: Data { rest.isEmpty ? first : first + rest }

    /// Appends a chunk.
    package mutating func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return }
        if first.isEmpty { first = chunk } else { rest.append(chunk) }
    }

    /// Removes all bytes and returns them.
    package mutating func take() -> CollectedBody {
        defer { self = CollectedBody() }
        return self
    }
}
