/// The protocols that hosts have negotiated, and how many streams they allow.
///
/// By the protocol, the next exchange knows whether it can share a connection. By the number, a further connection opens no
/// more streams before its settings arrive.
struct ProtocolMemory {
    private static let life: Int64 = 600_000_000_000
    private static let most = 1_024

    private var entries: [Int: (protocol: ApplicationProtocol, at: Int64, streams: Int?)] = [:]

    /// Remembers what a host has chosen.
    mutating func note(_ choice: ApplicationProtocol, _ key: Int, at now: Int64) {
        if entries.count >= Self.most, entries[key] == nil {
            let oldest = entries.min { $0.value.at < $1.value.at }?.key
            if let oldest { entries[oldest] = nil }
        }
        entries[key] = (choice, now, entries[key]?.streams)
    }

    /// Remembers how many streams a host allows on a connection.
    mutating func note(streams: Int, _ key: Int) { entries[key]?.streams = streams }

    /// How many streams a host has allowed; nil when that is not known.
    func streams(_ key: Int) -> Int? { entries[key]?.streams }

    /// The protocol that a host has chosen in the last ten minutes; nil when it is not known.
    func choice(_ key: Int, at now: Int64) -> ApplicationProtocol? {
        guard let entry = entries[key], now - entry.at < Self.life else { return nil }
        return entry.protocol
    }
}
