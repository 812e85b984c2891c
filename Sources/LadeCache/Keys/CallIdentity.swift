#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// The identity of a call for stored responses: the credentials that are sent with it, and the fields that the layers below the
/// cache add.
///
/// The one place that decides whose response is whose; the service, the command and `lade cache why` use it. Credentials of
/// the request are always part of the key, and so are the client certificate and secrets of authorisers that stay the
/// same. Without an identifier of the account, cookies of the jar and tokens are part of it, too.
package struct CallIdentity: Sendable {
    /// A secret of an authoriser below the cache.
    package struct Owner: Sendable {
        let secret: Secret
        let isRenewed: Bool

        /// Makes an owner.
        package init(_ secret: Secret, isRenewed: Bool) {
            (self.secret, self.isRenewed) = (secret, isRenewed)
        }
    }

    /// Whether the app chose the identifier of the account, which then stands for the user.
    package var isNamed = false
    /// The secrets of the authorisers now.
    package var owners: @Sendable () -> [Owner] = { [] }
    /// Whether authorisers act below the cache.
    package var hasAuthorisers = false
    /// The lines of `Cookie` that a request is sent with at a date; nil without a jar.
    package var cookies: (@Sendable (Request, Date) -> [[UInt8]])?
    /// The fields that the layers below may set.
    package var below = FieldsBelow()

    /// Makes the identity of calls whose requests have all of their credentials.
    package init() {}

    /// The lines of `Cookie` that a request is sent with: those in its key, or the jar's at any time.
    ///
    /// Nil without a jar: the request's own lines are sent.
    func sentCookies(of request: Request, at date: Date) -> SentCookies? {
        guard let cookies else { return nil }
        return isNamed ? .current { cookies(request, date) } : .known(cookies(request, date))
    }

    /// The part of a request's key that identifies its account, before it is digested.
    ///
    /// - Parameters:
    ///   - request: The request at the cache.
    ///   - cookies: The lines of `Cookie` that it is sent with; nil for its own.
    ///   - connection: The facts that the connection proves; see ``ConnectionFacts``.
    /// - Returns: The bytes; nil for an anonymous call.
    package func octets(of request: Request, cookies: [[UInt8]]?, _ connection: ConnectionFacts) -> [UInt8]? {
        let isShared = request.cacheOptions.isShared
        let credentials = RequestCredentials(request, cookies: isNamed || isShared ? nil : cookies)
        let owners = hasAuthorisers && !isShared ? owners().filter { !isNamed || !$0.isRenewed } : []
        // The fields that a layer may add are only known once the request is sent; see `covers`.
        let mayHaveMore = !isNamed && !isShared && below.mayAddCredentials
        guard mayHaveMore || connection.identity != nil || !owners.isEmpty || !credentials.isEmpty else { return nil }
        var writer = OctetWriter()
        writer.writeNumber(mayHaveMore ? 1 : 0)
        writer.write(connection.identity)
        writer.writeNumber(UInt64(owners.count))
        for owner in owners { writer.write(owner.secret.reveal().utf8) }
        credentials.write(to: &writer)
        return writer.octets
    }

    /// Whether a request was sent with exactly the credentials that its key was made of.
    ///
    /// Credentials that authorisers add do not count: their account has an identifier.
    func covers(_ sent: RequestCredentials, of request: Request, cookies: SentCookies?) -> Bool {
        guard !isNamed else { return true }
        var expected = RequestCredentials(request, cookies: cookies?())
        var actual = sent
        if hasAuthorisers {
            // An authoriser that may set any field has an account with an identifier that no other account has.
            guard let names = below.authorised else { return true }
            expected.remove(names)
            actual.remove(names)
        }
        return expected == actual
    }
}

/// The names of the fields that the layers below the cache may set, in lower case; nil for any.
package struct FieldsBelow: Sendable, Hashable {
    /// Those of the account's authorisers.
    package var authorised: Set<String>? = []
    /// The fields of all other interceptors, except for the cookies of the jar.
    package var changed: Set<String>? = [] {
        didSet { mayAddCredentials = changed?.contains { CredentialNames.contains(field: $0) } ?? true }
    }
    /// Whether a layer other than the authorisers may add credentials.
    private(set) var mayAddCredentials = false

    /// Makes the value for layers that leave all fields as they are.
    package init() {}

    /// Whether an authoriser may set a field.
    func authorises(_ name: String) -> Bool { authorised?.contains(name) ?? true }

    /// Whether another layer may set a field.
    func changes(_ name: String) -> Bool { changed?.contains(name) ?? true }
}

extension String {
    /// Where the first question mark stands, after so many bytes; nil without one.
    fileprivate func queryMark(from start: Int) -> String.Index? {
        var text = self
        let offset = text.withUTF8 { bytes in bytes[start...].firstIndex(of: UInt8(ascii: "?")) }
        return offset.map { utf8.index(utf8.startIndex, offsetBy: $0) }
    }
}

/// The credentials that a request carries: fields, user information of the address, and items of its query.
package struct RequestCredentials: Equatable {
    private struct Line: Hashable {
        let name: String
        let octets: [UInt8]
    }

    /// Sorted by name; equal names in their order.
    private var fields: [Line] = []
    private var address: [[UInt8]] = []

    /// Finds the credentials of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - cookies: The lines of `Cookie` in place of its own; nil for its own.
    package init(_ request: Request, cookies: [[UInt8]]?) {
        for field in request.headers where field.carriesCredentials {
            if cookies != nil, field.name.equalsIgnoringASCIICase("Cookie") { continue }
            fields.append(Line(name: field.name.asciiLowercased, octets: field.octets))
        }
        for line in cookies ?? [] { fields.append(Line(name: "cookie", octets: line)) }
        if fields.count > 1 {
            let ordered = fields.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            fields = ordered.map(\.element)
        }
        readAddress(of: request)
    }

    private mutating func readAddress(of request: Request) {
        let text = request.url.absoluteString
        if request.parts.hasUserInformation {
            let authority = Array(text.utf8.prefix(request.parts.host.lowerBound))
            address.append(Array(authority.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).dropLast()))
        }
        guard let mark = text.queryMark(from: request.parts.authorityEnd) else { return }
        let rule = Redaction(names: request.secretQueryNames, values: [])
        let query = text.utf8[text.utf8.index(after: mark)...].prefix { $0 != UInt8(ascii: "#") }
        for item in query.split(whereSeparator: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }) {
            let name = String(decoding: item.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self).percentDecodedBytes
            if rule.isSecret(String(decoding: name, as: UTF8.self)) { address.append(Array(item)) }
        }
    }

    /// Whether there are none.
    package var isEmpty: Bool { fields.isEmpty && address.isEmpty }

    /// Leaves out the additions of authorisers: these fields, and items of the query.
    fileprivate mutating func remove(_ names: Set<String>) {
        fields.removeAll { names.contains($0.name) }
        address = []
    }

    fileprivate func write(to writer: inout OctetWriter) {
        writer.writeNumber(UInt64(address.count))
        for item in address { writer.write(item) }
        for field in fields {
            writer.write(field.name.utf8)
            writer.write(field.octets)
        }
    }
}
