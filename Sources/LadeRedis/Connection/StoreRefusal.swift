/// Why a store cannot be used at all, whatever the network does.
package enum StoreRefusal: Error, Sendable, Equatable {
    /// The user or the password is wrong or missing.
    case password
    /// The user lacks a right.
    case right(String)
    /// The version is too old, or scripts may not read the clock.
    case unsuitable(String)

    /// Reads an error of the store; nil for one that may pass.
    ///
    /// - Parameters:
    ///   - text: The error.
    ///   - isFirst: Whether the store has never carried out a script of this member.
    package init?(_ text: String, isFirst: Bool) {
        let isUnauthorised = ["WRONGPASS", "NOAUTH"].contains { text.utf8.starts(with: $0.utf8) }
        if isUnauthorised || text.contains("invalid password") {
            self = .password
        } else if Self.missingRights.contains(where: text.contains) {
            self = .right(text)
        } else if isFirst, text.contains("syntax error") || text.contains("unknown command") {
            self = .unsuitable("it needs Redis 6.2, Valkey 7.2 or later")
        } else if isFirst, text.contains("not allowed from script") {
            self = .unsuitable("its scripts may not read the clock")
        } else {
            return nil
        }
    }

    /// Words of errors that name a missing right, of different versions.
    private static let missingRights = ["The user executing the script", "NOPERM", "has no permissions", "ACL failure"]

    /// The reason in words.
    package var reason: String {
        switch self {
        case .password: "the store refuses the user or the password"
        case .right(let text): "the user of the store lacks a right: \(text.prefix(160))"
        case .unsuitable(let reason): "the store cannot be used: \(reason)"
        }
    }
}

extension StoreRefusal: CustomStringConvertible {
    package var description: String { reason }
}
