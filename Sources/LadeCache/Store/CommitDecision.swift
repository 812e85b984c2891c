import LadeCore

/// Whether a response that was received is stored, and which response it replaces; the same for every store.
package enum CommitDecision: Sendable {
    /// The removals of entries of the same key since the exchange began.
    package enum Removal: Sendable, Hashable { case none, invalidated, removed }

    /// It is dropped: it was removed meanwhile, the body that it continues has changed, or a later exchange is stored.
    case drop
    /// It is stored with this head, in place of these entries.
    case store(StoredHead, replacing: [UInt64])

    /// Decides.
    ///
    /// - Parameters:
    ///   - write: The write that was begun.
    ///   - head: The final head.
    ///   - stored: The heads of the key.
    ///   - removal: The removals since the ticket of the write.
    package init(_ write: CacheWrite, _ head: StoredHead, stored: [StoredHead], _ removal: Removal) {
        self = .drop
        guard removal != .removed else { return }
        var head = head
        if removal == .invalidated {
            guard head.reading.hasValidator, head.isWhole else { return }
            head.mustValidate = true
        }
        if let joined = write.joined {
            guard stored.contains(where: { $0.id == joined.id && $0.version == joined.version }) else { return }
        }
        // Some bytes of a body take the place of other parts only: a whole older body is still of use.
        let rivals = stored.filter { other in
            if !head.isWhole, other.isWhole { return false }
            return write.replaced.contains(other.id) || other.id == write.joined?.id || other.isSameVariant(as: head)
        }
        let isLate = rivals.contains { $0.id != write.joined?.id && head.times.requested.isBefore($0.times.requested) }
        if !isLate { self = .store(head, replacing: rivals.map(\.id)) }
    }
}

extension StoredHead {
    /// Whether two responses to the same key were selected by the same fields with the same values.
    package func isSameVariant(as other: StoredHead) -> Bool {
        guard isRaw == other.isRaw, reading.vary.names == other.reading.vary.names else { return false }
        return reading.vary.names.isEmpty || selecting == other.selecting
    }

    /// Whether it is evicted before all others.
    package var isExpendable: Bool { !isWhole || mustValidate && !reading.hasValidator }

    /// A number that another response to the same request has, too.
    func fingerprint(_ key: CacheKey) -> Int {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(isRaw)
        if !reading.vary.names.isEmpty { hasher.combine(selecting) }
        return hasher.finalize()
    }
}
