import LadeCore
import LadeExchange

/// The life of a connection: a state machine that says what may happen to it next.
enum ConnectionLife: Equatable {
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

    /// Whether it is not open yet.
    var isOpening: Bool {
        switch self {
        case .resolving, .racing, .tunnelling, .securing: true
        case .idle, .busy, .streaming, .closed: false
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
