#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// The addresses that must be validated before the next use.
package enum InvalidationDecision: Sendable, Hashable {
    /// None.
    case none
    /// The given addresses in their order, each once.
    case mustValidate([CacheAddress])
}

extension ResponseCache.Rules {
    /// Decides which addresses a response invalidates (RFC 9111 §4.4).
    package func invalidation(
        _ query: CacheQuery,
        _ status: Response.Status,
        _ headers: Headers
    ) -> Explained<InvalidationDecision> {
        guard let own = query.key?.place.address, !query.isSafe, (200..<400).contains(status.code) else {
            return Explained(.none, .kept)
        }
        var addresses = [own]
        for field in [SingleField.location, .contentLocation] {
            guard let other = Self.address(field, in: headers, from: own), other.origin == own.origin,
                !addresses.contains(other)
            else { continue }
            addresses.append(other)
        }
        return Explained(.mustValidate(addresses), .unsafeMethod)
    }

    /// The address in a field, resolved against the request's address; nil where there is none.
    static func address(_ field: SingleField, in headers: Headers, from base: CacheAddress) -> CacheAddress? {
        guard let octets = headers.field(field)?.octets, let url = URL(string: base.text) else { return nil }
        return URL(reference: octets, against: url).flatMap(CacheAddress.init)
    }

    /// Whether a response asks to forget everything of its origin (Clear-Site-Data §3.1).
    package static func clearsCache(_ headers: Headers, from address: CacheAddress) -> Bool {
        guard address.isSecure else { return false }
        let members = FieldMembers.list(headers.octets("Clear-Site-Data"))
        return members.contains { $0.elementsEqual("\"cache\"".utf8) || $0.elementsEqual("\"*\"".utf8) }
    }

    /// Whether a response that passed by shows that a stored one is no longer current: another validator.
    package func outdates(_ head: StoredHead, by received: ReceivedHead) -> Bool {
        guard received.status == 200 else { return false }
        let reading = received.reading
        if let new = reading.entityTag, let old = head.reading.entityTag { return !new.isWeaklyEqual(to: old) }
        guard let new = reading.lastModifiedField, let old = head.reading.lastModifiedField else {
            return reading.hasValidator && head.reading.hasValidator
        }
        return new.octets != old.octets
    }
}
