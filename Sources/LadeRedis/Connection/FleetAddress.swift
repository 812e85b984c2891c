#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Where the store of a fleet is, and the name of the fleet: the parts of its address.
package struct FleetAddress: Sendable, Equatable {
    /// A server of the store.
    package struct Host: Sendable, Equatable {
        package var name: String
        package var port: UInt16
    }

    /// The servers, of which the first that can be used is.
    package var hosts: [Host] = []
    /// The socket in the file system; nil for hosts.
    package var path: String?
    package var isSecure = false
    /// The user of the store; nil for the default one.
    package var user: String?
    /// The name of the fleet.
    package var name = ""
    /// The declared number of members.
    package var size = 1
    package var database = 0
    private static let port: UInt16 = 6_379

    /// Reads `redis://[USER@]HOST[:PORT][,…]/NAME[?size=N&db=N]`, `rediss://…` or `redis+unix:///PATH?name=NAME`.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` of the setting `fleet`.
    package init(_ text: String) throws(LoadingError) {
        let schemes = ["redis://", "rediss://", "redis+unix://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else {
            throw Self.fault("it begins with none of \(schemes.joined(separator: ", "))")
        }
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }), !text.utf8.contains(UInt8(ascii: "#")) else {
            throw Self.fault("it has a space, a fragment or a character that is not in ASCII")
        }
        isSecure = scheme == "rediss://"
        let whole = text.dropFirst(scheme.count)
        let (body, items) = whole.cut(at: "?").map { ($0.before, $0.after) } ?? (whole, "")
        let query = whole.has("?") ? items.parts(at: "&") : []
        if scheme == "redis+unix://" {
            guard body.utf8.starts(with: "/".utf8), body.utf8.count < 108 else {
                throw Self.fault("the path of its socket is not absolute, or too long")
            }
            path = String(body)
        } else {
            try readHosts(body)
        }
        for item in query { try readItem(item) }
        let allowed = (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(Self.isNamed)
        guard allowed else {
            throw Self.fault("the name of the fleet must have 1 to 64 of the characters a–z 0–9 - _ .")
        }
    }

    /// Whether the store is on this machine, where no other machine can read the traffic.
    package var isLocal: Bool {
        path != nil || hosts.allSatisfy { NormalHost($0.name)?.isLoopback ?? false }
    }

    private mutating func readHosts(_ body: Substring) throws(LoadingError) {
        guard let slash = body.cut(at: "/") else {
            throw Self.fault("it has no name of a fleet after the host")
        }
        var authority = slash.before
        name = String(slash.after)
        if let (user, rest) = authority.cut(atLast: "@") {
            guard !user.contains(":") else {
                throw Self.fault(
                    "it has a password, which other users of the machine can read: give it apart from the address"
                )
            }
            guard !user.isEmpty else { throw Self.fault("the user before @ is empty") }
            self.user = String(user)
            authority = rest
        }
        for text in authority.parts(at: ",") {
            hosts.append(try Self.host(text))
        }
    }

    private static func host(_ text: Substring) throws(LoadingError) -> Host {
        var (name, rest) = (text, Substring())
        if text.utf8.starts(with: "[".utf8) {
            guard let end = text.dropFirst().cut(at: "]") else {
                throw fault("an address in brackets has no end")
            }
            (name, rest) = (end.before, end.after)
        } else {
            let halves = text.halves { $0 == ":" }
            (name, rest) = (halves.text, halves.rest)
        }
        guard !name.isEmpty else { throw fault("a host is empty") }
        guard rest.isEmpty || (rest.utf8.starts(with: ":".utf8) && rest.utf8.count > 1) else {
            throw fault("a port is missing after a host")
        }
        guard let port = rest.isEmpty ? Self.port : UInt16(rest.dropFirst()), port > 0 else {
            throw fault("the port “\(rest.dropFirst())” is none")
        }
        return Host(name: String(name), port: port)
    }

    private mutating func readItem(_ item: Substring) throws(LoadingError) {
        let (key, text) = item.cut(at: "=").map { ($0.before, $0.after) } ?? (item, "")
        let value = String(text)
        switch key {
        case "size":
            guard let count = Int(value), (1...10_000).contains(count) else {
                throw Self.fault("size must be a number from 1 to 10000")
            }
            size = count
        case "db":
            guard let number = Int(value), (0...999).contains(number) else {
                throw Self.fault("db must be a number from 0 to 999")
            }
            database = number
        case "name" where path != nil: name = value
        default: throw Self.fault("“\(key)” is none of its settings: size, db" + (path == nil ? "" : ", name"))
        }
    }

    private static func isNamed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    static func fault(_ reason: String) -> LoadingError {
        LoadingError(.invalidSetting(name: "fleet", reason: reason))
    }
}
