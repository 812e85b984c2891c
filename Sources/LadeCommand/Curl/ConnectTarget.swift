#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Where to connect instead of the host of an address, as curl's `--connect-to HOST:PORT:HOST:PORT` says.
struct ConnectTarget: Equatable, Sendable {
    /// The host and the port of the address that it is for; nil for every one.
    var host: String?
    var port: Int?
    /// The host and the port to connect to; nil for host and port of the address.
    var newHost: String?
    var newPort: Int?

    /// Reads the four parts; nil when nothing is given.
    ///
    /// - Throws: A usage error for a text of another form.
    init?(curlValue text: String) throws(CommandError) {
        guard !text.isEmpty else { return nil }
        let parts = Self.parts(of: Array(text.utf8))
        guard parts.count == 4, let port = Self.port(parts[1]), let newPort = Self.port(parts[3]) else {
            throw CurlReader.wrong("--connect-to is not HOST:PORT:HOST:PORT")
        }
        host = parts[0].isEmpty ? nil : NormalHost(parts[0])?.text ?? parts[0].lowercased()
        self.port = port
        newHost = parts[2].isEmpty ? nil : parts[2]
        self.newPort = newPort
    }

    /// Where a request to an address connects; nil for the host of the address.
    static func destination(of url: URL, among targets: [ConnectTarget]) -> Request.Destination? {
        guard let origin = Origin(url) else { return nil }
        let target = targets.first { target in
            (target.host.map { $0 == origin.host } ?? true) && (target.port.map { $0 == origin.port } ?? true)
        }
        guard let target else { return nil }
        let isElsewhere = target.newHost.map { NormalHost($0)?.text != origin.host } ?? false
        // A request to a proxy needs a tunnel only where another host is meant.
        guard isElsewhere || target.newPort.map({ $0 != origin.port }) == true else { return nil }
        return .host(target.newHost ?? origin.host, port: target.newPort)
    }

    /// The parts between colons.
    ///
    /// An IPv6 address stands in brackets, which are left out.
    private static func parts(of bytes: [UInt8]) -> [String] {
        var parts: [[UInt8]] = [[]]
        var isInside = false
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "["): isInside = true
            case UInt8(ascii: "]"): isInside = false
            case UInt8(ascii: ":") where !isInside: parts.append([])
            default: parts[parts.count - 1].append(byte)
            }
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// A port, or nil for none in a part that is empty; fails for another text.
    private static func port(_ text: String) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard let number = Whole.count(text), (1...65_535).contains(number) else { return nil }
        return .some(Int(number))
    }
}
