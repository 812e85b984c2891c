/// The work that one connection may still do in a turn, and how long a turn may work on sockets.
///
/// A connection whose budget is used up continues in the next turn, so that no peer delays the others.
struct TurnBudget: Equatable {
    /// How long sockets are served before messages and due times are, in nanoseconds.
    static let longestWork: Int64 = 2_000_000
    /// How many bytes one system call reads at most, unless their place is known.
    static let piece = 64 << 10
    /// How many bytes one system call reads while a head is expected.
    ///
    /// Bytes behind the head are copied; the rest of a body is received where it stays.
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

/// The cost of a turn beside the bytes that it moves, in units of about a microsecond.
///
/// A record or a message of TLS, a frame, a chunk, a field, a coded block costs units. A connection that has used its own units
/// continues in the next turn. All connections continue in the next turn when this one has used all its units, or 2 ms. A call
/// to another host takes about three turns. So a connection that brings little beside overhead has a small share of each.
struct TurnWork: Equatable {
    /// The units of one connection in a turn.
    static let perConnection = 1_000
    /// The units of a connection whose overhead nothing has paid for.
    static let perDebtor = 64
    /// The units after which a turn begins nothing more.
    static let perTurn = 4_000
    /// How many units may be used between two readings of the clock, which is read after every eighth connection too.
    static let perReading = 256

    /// The units that the present connection may still use.
    private(set) var left = perConnection
    /// The units that the turn has used.
    private(set) var spent = 0
    private var readAt = 0
    private var connections = 0
    /// Whether the clock has said that the time is over.
    private var isOver = false
    private var began: Int64 = 0

    /// Begins a turn, or continues it after a wait, with the time of the clock.
    mutating func begin(at now: Int64, isContinued: Bool = false) {
        if !isContinued { spent = 0 }
        left = Self.perConnection
        readAt = spent
        connections = 0
        isOver = false
        began = now
    }

    /// Begins with another connection.
    ///
    /// - Parameter isInDebt: Whether its overhead is far out of proportion to its content.
    mutating func beginConnection(isInDebt: Bool = false) {
        left = isInDebt ? Self.perDebtor : Self.perConnection
        connections += 1
    }

    mutating func use(_ units: Int) {
        left -= units
        spent += units
    }

    /// Whether more may be begun; the clock is read when enough was done since it was read.
    mutating func hasTime(_ clock: () -> Int64) -> Bool {
        guard spent < Self.perTurn, !isOver else { return false }
        guard spent - readAt >= Self.perReading || connections >= 8 else { return true }
        readAt = spent
        connections = 0
        isOver = clock() - began > TurnBudget.longestWork
        return !isOver
    }
}
