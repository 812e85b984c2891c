import CWire

/// A numeric address of a host, without a port.
struct SocketAddress: Hashable, Sendable {
    /// Whether it is an address of IPv6.
    let isV6: Bool
    private let high: UInt64
    private let low: UInt64
    /// The zone of a link-local address; 0 for none.
    let scope: UInt32

    init(_ raw: lade_address) {
        isV6 = raw.is_v6 != 0
        scope = raw.scope
        (high, low) = withUnsafeBytes(of: raw.bytes) {
            ($0.load(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// The address that a text writes as numbers.
    enum Numeric: Equatable {
        case address(SocketAddress)
        /// The text is a name.
        case name
        /// The text has a zone that this machine does not have.
        case unknownZone
    }

    /// Reads a numeric address, with a zone after `%`.
    static func parse(_ text: String) -> Numeric {
        var raw = lade_address()
        switch lade_wire_parse(text, &raw) {
        case 1: return .address(SocketAddress(raw))
        case 0: return .name
        default: return .unknownZone
        }
    }

    /// The form that the functions in C take.
    var raw: lade_address {
        var raw = lade_address()
        raw.is_v6 = isV6 ? 1 : 0
        raw.scope = scope
        withUnsafeMutableBytes(of: &raw.bytes) {
            $0.storeBytes(of: high, as: UInt64.self)
            $0.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
        }
        return raw
    }

    /// The 4 or 16 bytes of the address, in the order of the network.
    var bytes: [UInt8] { withUnsafeBytes(of: raw.bytes) { Array($0.prefix(isV6 ? 16 : 4)) } }

    /// The address as text, without its zone.
    var text: String {
        var raw = raw
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            lade_wire_format(&raw, start)
            return String(cString: start)
        }
    }

    /// The addresses of `localhost`, which needs no look-up (RFC 6761 §6.3).
    static let loopback: [SocketAddress] = ["::1", "127.0.0.1"].compactMap {
        if case .address(let address) = parse($0) { address } else { nil }
    }
}
