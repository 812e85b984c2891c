/// Which protocols hosts have negotiated, so that the next exchange knows whether it can share a connection.
struct ProtocolMemory {
    private static let life: Int64 = 600_000_000_000
    private static let most = 1_024

    private var entries: [Int: (protocol: ApplicationProtocol, at: Int64)] = [:]

    /// Remembers what a host has chosen.
    mutating func note(_ choice: ApplicationProtocol, _ key: Int, at now: Int64) {
        if entries.count >= Self.most, entries[key] == nil {
            let oldest = entries.min { $0.value.at < $1.value.at }?.key
            if let oldest { entries[oldest] = nil }
        }
        entries[key] = (choice, now)
    }

    /// What a host has chosen in the last ten minutes; nil when that is not known.
    func choice(_ key: Int, at now: Int64) -> ApplicationProtocol? {
        guard let entry = entries[key], now - entry.at < Self.life else { return nil }
        return entry.protocol
    }
}
