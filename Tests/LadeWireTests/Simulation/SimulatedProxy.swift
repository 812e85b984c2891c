import LadeCore

/// The proxy before a simulated server, as a value: it opens a tunnel to the server, or refuses to.
struct SimulatedProxy: Sendable {
    enum Kind: Sendable {
        /// HTTP, with its response to CONNECT.
        case connect(String)
        /// SOCKS 5, with its reply; it asks for credentials when it has some.
        case socks5(UInt8 = 0)
        /// Requests in the absolute form.
        case forward
    }

    /// The credentials that proxies ask for, and the settings have.
    static let credentials = TransportSettings.ProxyChoice.Proxy.Credentials(
        user: "proxy-user",
        password: "proxy-secret"
    )
    /// `proxy-user:proxy-secret` as Basic has it.
    static let basic = "cHJveHktdXNlcjpwcm94eS1zZWNyZXQ="
    static let port: UInt16 = 3_128

    private enum State {
        case method
        case credentials
        case request
    }

    let kind: Kind
    var asksForCredentials = false
    private var state = State.method
    private var message: [UInt8] = []
    /// Everything that was sent to the proxy itself.
    private(set) var seen: [UInt8] = []
    /// How many bytes the proxy has sent, its consent included.
    private(set) var sent = 0
    private(set) var isOpen = false
    private(set) var hasEnded = false

    init(_ kind: Kind, asksForCredentials: Bool = false) {
        self.kind = kind
        self.asksForCredentials = asksForCredentials
        if case .forward = kind { isOpen = true }
    }

    /// Takes a byte for the proxy.
    ///
    /// - Returns: What it sends.
    mutating func receive(_ byte: UInt8) -> [UInt8] {
        guard !hasEnded else { return [] }
        seen.append(byte)
        message.append(byte)
        let reply: [UInt8]
        switch kind {
        case .forward: reply = []
        case .connect(let response):
            guard message.suffix(4).elementsEqual([13, 10, 13, 10]) else { return [] }
            reply = Array(response.utf8)
            isOpen = response.contains("HTTP/1.1 200")
            hasEnded = !isOpen
        case .socks5(let code): reply = socks(code)
        }
        sent += reply.count
        return reply
    }

    private mutating func socks(_ code: UInt8) -> [UInt8] {
        guard message.count >= 2 else { return [] }
        switch state {
        case .method:
            guard message.count == 2 + Int(message[1]) else { return [] }
            let method: UInt8 = !asksForCredentials ? 0 : message[2...].contains(2) ? 2 : 0xFF
            state = method == 2 ? .credentials : .request
            hasEnded = method == 0xFF
            message = []
            return [5, method]
        case .credentials:
            let user = Int(message[1])
            guard message.count > 2 + user, message.count == 3 + user + Int(message[2 + user]) else { return [] }
            let expected = Array(Self.credentials.user.utf8) + Array(Self.credentials.password.reveal().utf8)
            let given = message[2..<(2 + user)] + message[(3 + user)...]
            hasEnded = !given.elementsEqual(expected)
            state = .request
            message = []
            return [1, hasEnded ? 1 : 0]
        case .request:
            guard message.count >= 5 else { return [] }
            let length = message[3] == 1 ? 4 : message[3] == 4 ? 16 : 1 + Int(message[4])
            guard message.count == 4 + length + 2 else { return [] }
            isOpen = code == 0
            hasEnded = !isOpen
            return [5, code, 0, 1, 10, 0, 0, 9, 1, 2]
        }
    }
}
