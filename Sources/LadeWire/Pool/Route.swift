import LadeCore
import LadeExchange

/// Where the connection of an exchange leads, before names are resolved.
enum Route: Hashable {
    /// A host by name or number, and its port.
    case host(String, port: UInt16)
    case unix(path: String)

    /// The route of a request: its destination where it names one, else the host of its address.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a destination that no connection can lead to.
    init(_ exchange: Exchange) throws(LoadingError) {
        switch exchange.request.destination {
        case nil: self = .host(exchange.host, port: UInt16(clamping: exchange.port))
        case .host(let host, let port):
            let isBracketed = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
            let name = isBracketed ? String(host.dropFirst().dropLast()) : host
            self = .host(name, port: UInt16(clamping: port ?? exchange.port))
        case .unixSocket(let path):
            // The size of `sun_path`, with its terminator.
            guard path.utf8.count < 108 else {
                let reason = LoadingError.RequestCause.unsupportedFeature("a Unix socket's path of 108 bytes or more")
                throw LoadingError(.invalidRequest(reason), exchange.context)
            }
            self = .unix(path: path)
        }
    }

    /// The end of a tunnel that leads there.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a host that has no normal form.
    func target(_ exchange: Exchange) throws(LoadingError) -> Tunnel.Target? {
        guard case .host(let host, let port) = self else { return nil }
        guard let normal = NormalHost(host) else {
            let reason = "“\(host.escapedForDisplay(limit: 80))” is no host for a proxy"
            throw LoadingError(.invalidRequest(.url(exchange.context.url ?? "", reason: reason)), exchange.context)
        }
        // A zone means something on this machine only.
        let text = String(normal.text.prefix { $0 != "%" })
        var target = Tunnel.Target(host: text, port: port)
        if case .address(let address) = SocketAddress.parse(text) { target.address = address }
        return target
    }

    /// The facts about the addresses of a host that are known without a look-up.
    enum Known: Equatable {
        case addresses([SocketAddress])
        /// The zone of the address does not exist on this machine.
        case unknownZone
        case nothing
    }

    /// Reads a numeric host, and knows `localhost` and the names below it.
    static func known(_ host: String) -> Known {
        switch SocketAddress.parse(host.replacingPercentEscapedZone) {
        case .address(let address): return .addresses([address])
        case .unknownZone: return .unknownZone
        case .name: break
        }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        return isLocal ? .addresses(SocketAddress.loopback) : .nothing
    }
}

extension String {
    /// The host with the percent sign of a zone written plainly: `%25` in an address (RFC 6874).
    fileprivate var replacingPercentEscapedZone: String {
        guard contains(":"), let escaped = range(ofUTF8: "%25") else { return self }
        return String(self[..<escaped.lowerBound]) + "%" + String(self[escaped.upperBound...])
    }

    private func range(ofUTF8 text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].utf8.starts(with: text.utf8) {
                return start..<utf8.index(start, offsetBy: text.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
