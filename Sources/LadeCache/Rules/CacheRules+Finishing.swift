package import LadeCore
import LadeFields

/// How a body ended.
package enum BodyEnd: Sendable, Hashable {
    /// Whole, as far as the transport knows.
    case complete
    /// By an error, a reset, or because it was not read to its end.
    case brokenOff
}

extension ResponseCache.Rules {
    /// Decides what remains of a storage decision once the body has ended (RFC 9111 §3.3).
    ///
    /// - Parameters:
    ///   - decision: The decision by the head.
    ///   - received: The bytes that were received, decoded where the transport decodes.
    ///   - end: How the body ended.
    ///   - digest: The SHA-256 of the bytes; nil where none was needed.
    /// - Returns: The decision about the commit.
    package func finished(
        _ decision: StorageDecision,
        received: Int64,
        _ end: BodyEnd,
        digest: [UInt8]? = nil
    ) -> Explained<StorageDecision> {
        guard var head = decision.head else { return Explained(.refuse, .brokenOff) }
        if received > bodyLimit { return Explained(.refuse, .tooLarge) }
        if case .storePart = decision { return finishedPart(head, received, end) }
        let announced = Self.announcedLength(of: head)
        guard end == .complete, announced.map({ $0 == received }) ?? true else {
            return finishedPrefix(head, received, announced)
        }
        if !head.isDecoded, let digest, let expected = Self.expectedDigest(head.headers, head.status),
            expected != digest
        {
            return Explained(.refuse, .digest)
        }
        head.extent = .whole(received)
        switch decision {
        case .store(_, let replaced): return Explained(.store(head, replacing: replaced), .storable)
        case .storeForValidation(_, let replaced):
            return Explained(.storeForValidation(head, replacing: replaced), .storable)
        case .storePart, .refuse: return Explained(.refuse, .brokenOff)
        }
    }

    /// A body that broke off is kept as a beginning where the rest can be asked for.
    private func finishedPrefix(_ head: StoredHead, _ received: Int64, _ total: Int64?) -> Explained<StorageDecision> {
        let units = FieldMembers.list(head.headers.octets("Accept-Ranges")).map(\.lowercasedASCII)
        guard head.status == 200, received >= Self.leastPrefix, !head.isDecoded, let total, received < total,
            head.reading.entityTag?.isStrong == true, units.contains(Array("bytes".utf8))
        else { return Explained(.refuse, .brokenOff) }
        var prefix = head
        prefix.extent = .parts([0..<received], total: total)
        return Explained(.storePart(prefix), .part)
    }

    private func finishedPart(_ head: StoredHead, _ received: Int64, _ end: BodyEnd) -> Explained<StorageDecision> {
        guard case .parts(let spans, _) = head.extent, end == .complete, spans.count == 1,
            Int64(spans[0].count) == received
        else { return Explained(.refuse, .brokenOff) }
        return Explained(.storePart(head), .part)
    }

    /// Shorter beginnings are not worth a request of their own.
    package static let leastPrefix: Int64 = 64 << 10

    /// `Content-Length` of a body that is stored as it was received; nil without one.
    static func announcedLength(of head: StoredHead) -> Int64? {
        guard !head.isDecoded, head.reading.names.contains(.contentLength) else { return nil }
        return head.headers.contentLength
    }

    /// The SHA-256 that a head announces for its whole body (RFC 9530 §2, §3); nil without one that can be read.
    package static func expectedDigest(_ headers: Headers, _ status: Response.Status) -> [UInt8]? {
        let names = status == 200 ? ["Repr-Digest", "Content-Digest"] : ["Repr-Digest"]
        for name in names where headers.contains(name) {
            guard let fields = try? StructuredField.Dictionary(bytes: headers.octets(name)),
                case .item(let item)? = fields["sha-256"], case .byteSequence(let bytes) = item.value
            else { continue }
            return Array(bytes)
        }
        return nil
    }
}
