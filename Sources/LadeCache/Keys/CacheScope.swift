/// Which accounts may use a stored response.
package enum CacheScope: Sendable, Hashable {
    /// The account that requested it, by its identifier.
    case account(String)
    /// Every account of the service.
    ///
    /// A response stored here reveals to all accounts that one of them requested it.
    case shared

    /// Bytes that differ between any two scopes.
    var octets: [UInt8] {
        switch self {
        case .account(let identifier): [1] + identifier.utf8
        case .shared: [0]
        }
    }
}
