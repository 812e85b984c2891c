import LadeCore
import LadeExchange

/// The life of a connection: a state machine that says what may happen to it next.
///
/// Every change is in ``transition(_:)``; the loop carries out the action. An event that a state does not know changes nothing.
enum ConnectionLife: Equatable, CaseIterable {
    /// The name of the host is looked up.
    case resolving
    /// Connections to the host's addresses are attempted.
    case racing
    /// A proxy is asked for a tunnel.
    case tunnelling
    /// The TLS handshake runs.
    case securing
    /// It is open and carries no exchange.
    case idle
    /// It carries an exchange.
    case busy
    /// It carries any number of exchanges over HTTP/2.
    case streaming
    case closed

    /// Something that happens to a connection.
    enum Event: Equatable {
        /// The addresses of its host are known.
        case resolved
        /// A socket is connected, or a layer is done, and TLS follows.
        case reachedTLS
        /// A socket is connected, or a layer is done, and a tunnel follows.
        case reachedTunnel
        /// A socket is connected, or a layer is done, and nothing lies between it and the origin.
        case reachedEnd(Opening)
        /// An exchange takes the idle connection.
        case taken
        /// An exchange has ended or left it.
        case left(Departure)
        /// It is closed for any reason.
        case ended
    }

    /// The use of a connection that is open now.
    enum Opening: Equatable {
        /// Its peer speaks HTTP/2.
        case shared
        /// Its exchange waits for it.
        case awaited
        /// Its exchange has left.
        case unawaited(mayRest: Bool)
    }

    /// How an exchange left its connection, and what it leaves behind.
    struct Departure: Equatable {
        /// Whether the connection can be used again, where the end of the exchange says so; nil leaves it to the state.
        var keeps: Bool?
        /// Whether the exchange only waited to share the connection, which another one opens.
        var isGuest = false
        /// Whether others wait to share the connection.
        var hasGuests = false
        /// Whether the exchange must not be sent on a connection that was made for it.
        var needsFresh = false
        /// Whether nothing was sent or received for the exchange.
        var isUntouched = false
        /// Whether a connection may be idle.
        var mayRest = true
    }

    /// The step of the loop after an event.
    enum Action: Equatable {
        case none
        /// Attempt to connect to the addresses.
        case race
        /// Begin a handshake.
        case secure
        /// Ask the proxy for a tunnel.
        case tunnel
        /// Speak HTTP/2, with all exchanges that wait for the connection.
        case share
        /// Send the request of the exchange.
        case send
        /// Keep the connection for the next exchange.
        case rest
        /// Continue to open the connection, for the exchange that it is opened for.
        case stay
        /// Continue to open the connection, for the first exchange that waits to share it.
        case handOver
        /// Continue to open the connection, for the next exchange of its host in this turn.
        case orphan
        /// Close the connection.
        case close
    }

    /// Whether it is not open yet.
    var isOpening: Bool {
        switch self {
        case .resolving, .racing, .tunnelling, .securing: true
        case .idle, .busy, .streaming, .closed: false
        }
    }

    /// Changes the state by an event.
    ///
    /// - Returns: The action for the loop; ``Action/close`` comes before ``Event/ended``, or is the action of that event.
    mutating func transition(_ event: Event) -> Action {
        switch (self, event) {
        case (.closed, _): return .none
        case (_, .ended):
            self = .closed
            return .close

        case (.resolving, .resolved):
            self = .racing
            return .race
        case (.racing, .reachedTLS), (.tunnelling, .reachedTLS), (.securing, .reachedTLS):
            self = .securing
            return .secure
        case (.racing, .reachedTunnel), (.securing, .reachedTunnel):
            self = .tunnelling
            return .tunnel
        case (.racing, .reachedEnd(let opening)), (.tunnelling, .reachedEnd(let opening)),
            (.securing, .reachedEnd(let opening)):
            return open(opening)

        case (.idle, .taken):
            self = .busy
            return .send

        case (.resolving, .left(let departure)), (.racing, .left(let departure)),
            (.tunnelling, .left(let departure)), (.securing, .left(let departure)):
            if departure.isGuest { return .stay }
            if departure.keeps == nil, departure.hasGuests { return .handOver }
            return departure.keeps ?? !departure.needsFresh ? .orphan : .close
        case (.busy, .left(let departure)):
            // A connection on which nothing was sent is as it was.
            guard departure.keeps ?? departure.isUntouched, departure.mayRest else { return .close }
            self = .idle
            return .rest

        case (.resolving, _), (.racing, _), (.tunnelling, _), (.securing, _), (.idle, _), (.busy, _), (.streaming, _):
            return .none
        }
    }

    private mutating func open(_ opening: Opening) -> Action {
        switch opening {
        case .shared:
            self = .streaming
            return .share
        case .awaited:
            self = .busy
            return .send
        case .unawaited(let mayRest):
            guard mayRest else { return .close }
            self = .idle
            return .rest
        }
    }
}

/// Whether a connection can carry another exchange after this one (RFC 9112 §9.3), and for how long it may be idle.
struct Reuse: Equatable {
    var isPossible: Bool
    /// The idle time that the server announced, in nanoseconds, a second less than it said; nil without.
    var life: Int64?

    /// - Parameters:
    ///   - head: The final head.
    ///   - request: The fields of the request.
    ///   - isWhole: Whether the response was complete by its framing, without surplus, and the request completely sent.
    init(_ head: HeadVetting.Head, request: Headers, isWhole: Bool) {
        isPossible =
            isWhole && head.version == .http1_1 && !Self.hasClose(head.headers) && !Self.hasClose(request)
        life = isPossible ? head.headers.all("Keep-Alive").compactMap(Self.announcedLife).min() : nil
    }

    /// Whether `close` is among the options of any `Connection` field.
    private static func hasClose(_ headers: Headers) -> Bool {
        headers.all("Connection").contains { value in
            value.utf8.split(separator: 0x2C).contains { option in
                let name = option.filter { $0 != 0x20 && $0 != 0x09 }
                return name.count == 5 && zip(name, "close".utf8).allSatisfy { $0.lowercasedASCII == $1 }
            }
        }
    }

    /// `timeout=n`: the connection is closed a second before the server closes it.
    private static func announcedLife(_ value: String) -> Int64? {
        for part in value.utf8.split(separator: 0x2C) {
            let text = part.filter { $0 != 0x20 && $0 != 0x09 }
            let name = "timeout=".utf8
            guard text.count > name.count, zip(text, name).allSatisfy({ $0.lowercasedASCII == $1 }),
                let digits = Optional(String(decoding: text.dropFirst(name.count), as: UTF8.self)),
                let seconds = Int64(digits)
            else { continue }
            return max(0, min(seconds, 86_400) - 1) * 1_000_000_000
        }
        return nil
    }
}
