#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// The origins that credentials may be sent to.
    ///
    /// ```swift
    /// let scope = try Authorisation.Scope("https://api.example.com", "https://media.example.com/private/")
    /// ```
    public struct Scope: Sendable, Hashable {
        private struct Entry: Hashable {
            var origin: Origin
            var path: String
        }

        // There are few: searching an array costs less than hashing three texts.
        private var entries: [Entry] = []
        /// Whether they may be sent over plain HTTP to another machine; false by default, and then such a request fails.
        ///
        /// A request to this machine alone (`localhost`, 127.0.0.0/8, `::1`) passes no network and may always be plain.
        public var allowsInsecure = false
        /// Whether it contains every origin, as curl's `--location-trusted` asks for; false by default.
        package var containsEveryOrigin = false

        /// Makes a scope from addresses: their origins, and their paths with everything below.
        ///
        /// - Throws: `LoadingError.Kind.invalidSetting` when one is not an absolute address with a host.
        public init(_ addresses: String...) throws(LoadingError) {
            for address in addresses { try add(address) }
        }

        /// Makes a scope from whole origins.
        public init(origins: some Sequence<Origin>) {
            entries = origins.map { Entry(origin: $0, path: "/") }
        }

        /// Adds an address: its origin, and its path with everything below.
        ///
        /// - Throws: `LoadingError.Kind.invalidSetting` when it is not an absolute address with a host.
        public mutating func add(_ address: String) throws(LoadingError) {
            let origin = try Origin(address)
            let path = URL(string: address.withASCIIHost).map(CookieStorage.path(of:)) ?? "/"
            entries.append(Entry(origin: origin, path: path))
        }

        /// Whether the scope contains the address of a request.
        public func contains(_ request: Request) -> Bool {
            guard let origin = Origin(request.url) else { return false }
            return containsEveryOrigin
                || entries.contains { entry in
                    entry.origin == origin && (entry.path == "/" || Self.isBelow(entry.path, request.url))
                }
        }

        private static func isBelow(_ folder: String, _ url: URL) -> Bool {
            let path = CookieStorage.path(of: url)
            return !mayClimb(path) && CookieStorage.matches(path: path, folder)
        }

        /// Whether a server may read the path as a path that leaves its folder, such as `/private/../public` in any notation.
        ///
        /// Servers and proxies differ in what they decode, how often, and whether they decode before they split the path.
        /// The check covers `%2e`, `%2f`, `%5c`, the same encoded twice, backslashes and parameters (`..;x`). It also
        /// covers octets at the end of a name that some servers ignore, and overlong encodings, which no valid path
        /// contains.
        private static func mayClimb(_ path: String) -> Bool {
            var bytes = Array(path.utf8)
            // A path that is encoded more often hides something.
            for round in 0... {
                let decoded = bytes.percentDecodedOnce
                if decoded == bytes { break }
                guard round < 4 else { return true }
                bytes = decoded
            }
            guard !bytes.contains(where: { $0 == 0xC0 || $0 == 0xC1 }) else { return true }
            return bytes.split(omittingEmptySubsequences: true) { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
                .contains { segment in
                    var name = segment.prefix { $0 != UInt8(ascii: ";") }
                    while let last = name.last, last <= 0x20 || last == 0x7F { name.removeLast() }
                    return name.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")])
                }
        }

        /// Whether credentials may travel to where a request goes: encrypted, within this machine, or as allowed.
        package func mayCarryCredentials(_ request: Request) -> Bool {
            if allowsInsecure || request.parts.scheme == .https { return true }
            // Another host may be dialled in place of the host that the address names.
            guard request.destination == nil, let host = request.url.host() else { return false }
            return NormalHost(host)?.isLoopback ?? false
        }

        /// Throws when a request would carry credentials without encryption and may not.
        ///
        /// - Throws: `LoadingError.Kind.authorisationFailed` with the cause `insecure`.
        func check(_ request: Request, for authoriser: String) throws(LoadingError) {
            guard !mayCarryCredentials(request) else { return }
            let fault = LoadingError.AuthorisationCause(authoriser: authoriser, cause: .insecure)
            throw LoadingError(.authorisationFailed(fault), LoadingError.Context(request))
        }
    }
}

extension [UInt8] {
    /// The octets with each `%XX` decoded once.
    fileprivate var percentDecodedOnce: [UInt8] {
        guard contains(UInt8(ascii: "%")) else { return self }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(count)
        var index = 0
        while index < count {
            if self[index] == UInt8(ascii: "%"), index + 2 < count, let high = Self.digit(self[index + 1]),
                let low = Self.digit(self[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(self[index])
                index += 1
            }
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
