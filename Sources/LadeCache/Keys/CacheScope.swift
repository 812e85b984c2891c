/// The accounts that may use a stored response.
package enum CacheScope: Sendable, Hashable {
    /// The account that requested it, by its identifier.
    case account(String)
    /// Every account of the service.
    ///
    /// A response stored here reveals to all accounts that one of them requested it.
    case shared

    /// Writes a part that differs between any two scopes.
    func write(to writer: inout OctetWriter) {
        switch self {
        case .account(let identifier): writer.write(1, identifier.utf8)
        case .shared: writer.write(0, "".utf8)
        }
    }
}
