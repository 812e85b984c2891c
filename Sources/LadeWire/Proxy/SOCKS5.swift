import LadeCore

/// Asks a SOCKS 5 proxy for a connection (RFC 1928, RFC 1929).
struct SOCKS5 {
    private enum State: Equatable {
        /// The proxy chooses how it is authenticated to.
        case method
        case credentials
        case reply
    }

    private static let version: UInt8 = 5
    /// The version of the exchange of user name and password.
    private static let credentialsVersion: UInt8 = 1

    private let target: Tunnel.Target
    private let credentials: TransportSettings.ProxyChoice.Proxy.Credentials?
    private var state = State.method
    /// The bytes of the present message that have arrived.
    private var message: [UInt8] = []

    /// Makes the request for a connection.
    ///
    /// - Parameters:
    ///   - target: Where it leads; a name of 255 bytes at most.
    ///   - credentials: A user name and a password of 255 bytes at most each; without them none are offered.
    init(to target: Tunnel.Target, credentials: TransportSettings.ProxyChoice.Proxy.Credentials?) {
        self.target = target
        self.credentials = credentials
    }

    /// Without authentication, or with a user name and a password.
    var greeting: [UInt8] { credentials == nil ? [Self.version, 1, 0] : [Self.version, 2, 0, 2] }

    mutating func receive(_ bytes: inout ArraySlice<UInt8>) -> Tunnel.Step {
        while let byte = bytes.popFirst() {
            message.append(byte)
            if let step = advance() { return step }
        }
        return .more
    }

    /// Handles the message as far as it has arrived; nil when more of it is needed.
    private mutating func advance() -> Tunnel.Step? {
        let version = state == .credentials ? Self.credentialsVersion : Self.version
        guard message[0] == version else { return .refused(.malformed("its message has the version \(message[0])")) }
        guard message.count >= 2 else { return nil }
        switch state {
        case .method:
            let method = message[1]
            message = []
            switch method {
            case 0: return connect()
            case 2 where credentials != nil:
                state = .credentials
                return .send(credentialsMessage)
            case 0xFF: return .refused(.credentials)
            default: return .refused(.malformed("it chose the method \(method), which was not offered"))
            }
        case .credentials:
            guard message[1] == 0 else { return .refused(.credentials) }
            message = []
            return connect()
        case .reply:
            guard message[1] == 0 else { return .refused(.reply(message[1])) }
            guard message.count >= 5 else { return nil }
            // The address that the proxy has connected from is of no use.
            let length: Int
            switch message[3] {
            case 1: length = 4
            case 3: length = 1 + Int(message[4])
            case 4: length = 16
            default: return .refused(.malformed("its reply has an address of the type \(message[3])"))
            }
            return message.count == 4 + length + 2 ? .open : nil
        }
    }

    private mutating func connect() -> Tunnel.Step {
        state = .reply
        var request: [UInt8] = [Self.version, 1, 0]
        if let address = target.address {
            request.append(address.isV6 ? 4 : 1)
            request += address.bytes
        } else {
            request += [3, UInt8(clamping: target.host.utf8.count)]
            request += target.host.utf8.prefix(255)
        }
        request += [UInt8(target.port >> 8), UInt8(target.port & 0xFF)]
        return .send(request)
    }

    private var credentialsMessage: [UInt8] {
        let user = Array((credentials?.user ?? "").utf8.prefix(255))
        let password = Array((credentials?.password.reveal() ?? "").utf8.prefix(255))
        return [Self.credentialsVersion, UInt8(user.count)] + user + [UInt8(password.count)] + password
    }
}
