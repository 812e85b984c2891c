import LadeCore

/// A measure of the bytes that a peer sends beside content, in proportion to the content.
///
/// Every byte that arrives is overhead until it proves to be content, which pays for three more bytes. A second pays for
/// 256 KiB, so that a server may send single bytes for hours: eleven thousand records of TLS a second. Data that costs more work
/// than its bytes counts as more bytes. 4 MiB that nothing has paid for are too much, and from 256 KiB on the connection has a
/// small share of each turn.
struct OverheadMeter: Equatable {
    /// The kind of the overhead; the greatest part names the fault.
    enum Kind: Int, CaseIterable {
        case keyUpdates
        case tickets
        case records
        case framing

        /// A few words for an error.
        var name: String {
            switch self {
            case .keyUpdates: "key updates of TLS"
            case .tickets: "session tickets of TLS"
            case .records: "records of TLS without content"
            case .framing: "frames or chunks without content"
            }
        }
    }

    static let limit = 4 << 20
    /// More than what may have been read and not been looked at: a piece each of ciphertext, of its content, and of frames.
    private static let debtOfSmallShare = 256 << 10
    private static let worth = 3
    private static let second = 256 << 10
    /// One for each 64 KiB of content is generous.
    static let keyUpdate = worth * 64 << 10
    static let ticket = 64 << 10

    private var parts = SIMD4<Int>()
    /// The overhead that nothing has paid for, in bytes.
    private(set) var debt = 0
    private var paidAt: Int64

    /// - Parameter now: The time in nanoseconds.
    init(at now: Int64) { paidAt = now }

    /// Counts the bytes that have arrived, or that are no longer of this kind.
    mutating func add(_ bytes: Int, _ kind: Kind) {
        debt += bytes
        parts[kind.rawValue] += bytes
    }

    /// Records that bytes which have arrived are content.
    mutating func content(_ bytes: Int) {
        parts[Kind.framing.rawValue] -= bytes
        debt = max(0, debt - (1 + Self.worth) * bytes)
        if debt == 0 { parts = SIMD4() }
    }

    /// Records that bytes were sent, for which the peer returns windows.
    mutating func sent(_ bytes: Int) { debt = max(0, debt - bytes / 16) }

    /// Whether little content has arrived for the many bytes that the peer has sent.
    var isInDebt: Bool { debt > Self.debtOfSmallShare }

    /// The kind of overhead that there is too much of; nil when the overhead is in proportion.
    mutating func fault(at now: Int64, limit: Int = limit) -> Kind? {
        guard debt > limit else { return nil }
        // A minute pays for everything.
        let elapsed = max(0, min(now - paidAt, 60_000_000_000))
        debt = max(0, debt - Int(elapsed) * Self.second / 1_000_000_000)
        paidAt = now
        return debt > limit ? Kind.allCases.max { parts[$0.rawValue] < parts[$1.rawValue] } : nil
    }
}

extension LoadingError.MalformedResponse {
    // The words have no secrets, although they name keys and sessions.
    init(_ overhead: OverheadMeter.Kind) { self.init(.overhead, redacted: overhead.name) }
}
