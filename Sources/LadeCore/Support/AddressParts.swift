/// The properties of an address that the request path uses, found in one pass over its text.
///
/// `URL` returns each part as a new string, which costs more than a whole interceptor; this returns positions.
package struct AddressParts: Sendable {
    /// The schemes that are distinguished.
    package enum Scheme: Sendable {
        case http
        case https
        case other
    }

    /// The scheme, or nil without any.
    package private(set) var scheme: Scheme?
    /// The written port, or nil without any.
    package private(set) var port: Int?
    /// Whether there is no host.
    package private(set) var hostIsEmpty = true
    /// The UTF-8 offsets of the host, brackets of an IPv6 literal included.
    package private(set) var host = 0..<0
    /// The UTF-8 offset at which path, query or fragment begin.
    package private(set) var authorityEnd = 0
    /// Whether there is user information before the host, even if it is empty.
    package private(set) var hasUserInformation = false
    /// Whether the host can be compared without a change other than letter case; see ``NormalHost/isPlain(_:)``.
    package private(set) var hostIsPlain = false

    /// Parses an address that `URL` has accepted.
    package init(_ address: String) {
        var address = address
        address.withUTF8 { scan($0) }
    }

    private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let colon = bytes.firstIndex(of: 0x3A), colon > 0 else { return }
        scheme = Self.scheme(bytes, colon)
        var start = colon + 1
        guard bytes.count >= start + 2, bytes[start] == 0x2F, bytes[start + 1] == 0x2F else { return }
        start += 2
        var end = start
        var portColon: Int?
        while end < bytes.count {
            switch bytes[end] {
            case 0x2F, 0x3F, 0x23:
                finish(bytes, start, portColon, end)
                return
            case 0x40:
                start = end + 1
                portColon = nil
                hasUserInformation = true
            case 0x3A: portColon = end
            case 0x5D: portColon = nil
            default: break
            }
            end += 1
        }
        finish(bytes, start, portColon, end)
    }

    private mutating func finish(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ portColon: Int?, _ end: Int) {
        authorityEnd = end
        host = start..<(portColon ?? end)
        hostIsEmpty = host.isEmpty
        hostIsPlain = NormalHost.isPlain(bytes[host])
        guard let portColon, portColon + 1 < end else { return }
        var value = 0
        for byte in bytes[(portColon + 1)..<end] {
            // `URL` has checked that these are digits. A number with many digits stays at the bound, out of the range of ports.
            value = min(value * 10 + Int(byte &- 0x30), 1_000_000)
        }
        port = value
    }

    private static func scheme(_ bytes: UnsafeBufferPointer<UInt8>, _ count: Int) -> Scheme {
        let isHTTP =
            count >= 4 && count <= 5 && bytes[0] | 0x20 == 0x68 && bytes[1] | 0x20 == 0x74 && bytes[2] | 0x20 == 0x74
            && bytes[3] | 0x20 == 0x70
        guard isHTTP else { return .other }
        return count == 4 ? .http : bytes[4] | 0x20 == 0x73 ? .https : .other
    }
}
