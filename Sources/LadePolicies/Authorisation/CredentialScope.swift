#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Where credentials may go: the origins that they were made for, and no other (policies PL-46).
///
/// ```swift
/// let scope = try CredentialScope("https://api.example.com", "https://media.example.com/private/")
/// ```
public struct CredentialScope: Sendable, Hashable {
    private struct Entry: Hashable {
        var origin: Origin
        var path: String
    }

    // A handful: looking through an array costs less than hashing three texts.
    private var entries: [Entry] = []
    /// Whether they may be sent over plain HTTP; false by default, which makes a claimed request fail.
    public var allowsInsecure = false

    /// Makes a scope of addresses: their origins, and their paths with everything below.
    ///
    /// - Throws: `LoadingError.invalidSetting` when one is no absolute address with a host.
    public init(_ addresses: String...) throws(LoadingError) {
        for address in addresses { try add(address) }
    }

    /// Makes a scope of whole origins.
    public init(origins: some Sequence<Origin>) {
        entries = origins.map { Entry(origin: $0, path: "/") }
    }

    /// Adds an address: its origin, and its path with everything below.
    ///
    /// - Throws: `LoadingError.invalidSetting` when it is no absolute address with a host.
    public mutating func add(_ address: String) throws(LoadingError) {
        let origin = try Origin(address)
        let path = URL(string: address).map(CookieStorage.path(of:)) ?? "/"
        entries.append(Entry(origin: origin, path: path))
    }

    /// Whether a request goes there.
    public func contains(_ request: Request) -> Bool {
        guard let origin = Origin(request.url) else { return false }
        return entries.contains { entry in
            entry.origin == origin && (entry.path == "/" || Self.isBelow(entry.path, request.url))
        }
    }

    private static func isBelow(_ folder: String, _ url: URL) -> Bool {
        let path = CookieStorage.path(of: url)
        // A path that climbs is not what it says: the server may read `/private/../public` as either.
        let plain = path.lowercased().replacing("%2e", with: ".")
        let climbs = plain.contains("/../") || plain.hasSuffix("/..")
        return !climbs && CookieStorage.matches(path: path, folder)
    }

    /// Throws when a request would carry credentials without encryption and may not.
    ///
    /// - Throws: `LoadingError.authorisationFailed` with the cause `insecure`.
    func check(_ request: Request, for authoriser: String) throws(LoadingError) {
        guard !allowsInsecure, AddressParts(request.url.absoluteString).scheme != .https else { return }
        let fault = AuthorisationFault(authoriser: authoriser, cause: .insecure)
        throw .authorisationFailed(fault, ErrorContext(request))
    }
}
