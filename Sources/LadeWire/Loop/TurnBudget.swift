/// What one connection may still do in a turn, and how long a turn may work on sockets.
///
/// A connection whose budget is used up continues in the next turn, so that no peer delays the others.
struct TurnBudget: Equatable {
    /// How long sockets are served before messages and due times are, in nanoseconds.
    static let longestWork: Int64 = 2_000_000
    /// How many bytes one system call reads at most, unless their place is known.
    static let piece = 64 << 10
    /// How many bytes one system call reads while a head is expected: what follows the head is copied, and the rest of a
    /// body is received where it stays.
    static let headPiece = 16 << 10
    /// How much ciphertext one system call reads at most.
    static let ciphertext = 256 << 10
    private static let input = 512 << 10
    private static let output = 192 << 10
    /// How many bytes are decoded before other connections are served.
    static let decoded = 256 << 10

    private(set) var receivable: Int
    private(set) var sendable: Int

    /// The share of a connection when a number of connections is ready.
    init(readyConnections: Int) {
        receivable = max(Self.input / max(readyConnections, 1), Self.piece)
        sendable = Self.output
    }

    mutating func received(_ count: Int) { receivable = max(0, receivable - count) }

    mutating func sent(_ count: Int) { sendable = max(0, sendable - count) }
}
