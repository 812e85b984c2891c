#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// The statements of a response's fields about caching, parsed once when the head is stored.
///
/// It is a class, so that copies of heads are cheap.
package final class ResponseReading: Sendable {
    /// The directives of `Cache-Control`.
    package let directives: CacheControl
    /// Whether each use must be validated: `no-cache`, or `Pragma: no-cache` without `Cache-Control` (RFC 9111 §5.4).
    package let requiresValidation: Bool
    /// `Date`, if it is one.
    package let date: Date?
    /// `Expires`; nil without the field.
    package let expires: Expiry?
    /// `Age`, zero where it cannot be read.
    package let age: Duration
    /// `Last-Modified` as it was received.
    package let lastModifiedField: Headers.Field?
    /// `Last-Modified`, if it is a date.
    package let lastModified: Date?
    /// `ETag`.
    package let entityTag: EntityTag?
    /// `Vary`.
    package let vary: Vary

    /// The fields of meaning that the section has; fields that describe a coded body may have been removed since.
    package let names: FieldNames

    /// Reads the fields of a response that was received at a date; one pass over the section finds their names.
    package init(_ headers: Headers, received: Date) {
        var found: FieldNames = []
        headers.forEachName { _, name in found.formUnion(FieldNames(name: name)) }
        names = found
        directives = found.contains(.cacheControl) ? CacheControl(headers.all("Cache-Control")) : CacheControl()
        requiresValidation =
            directives.noCache == .everything
            || !found.contains(.cacheControl) && found.contains(.pragma)
                && CacheControl(headers.all("Pragma")).noCache == .everything
        date = found.contains(.date) ? headers.date(now: received) : nil
        expires = found.contains(.expires) ? Expiry(headers.reading(.expires), now: received) : nil
        let ageField = found.contains(.age) ? headers.field(.age) : nil
        age = ageField.flatMap { FieldMembers.number($0.octets, limit: 1 << 31) }.map { .seconds($0) } ?? .zero
        lastModifiedField = found.contains(.lastModified) ? headers.field(.lastModified) : nil
        lastModified = lastModifiedField.flatMap { try? Headers.HTTPDate(bytes: $0.octets, now: received) }?.date
        entityTag = found.contains(.entityTag) ? headers.field(.entityTag).map(EntityTag.init) : nil
        vary = found.contains(.vary) ? Vary(headers) : .none
    }

    /// Whether a request can ask if the response is still current.
    package var hasValidator: Bool { entityTag != nil || lastModifiedField != nil }

    /// Whether the server states how long the response is fresh, even in a way that cannot be read.
    package var hasExplicitLifetime: Bool { directives.maxAge != nil || expires != nil }

    /// Whether removing these names leaves everything as it was read.
    package static func ignores(_ name: FieldNames) -> Bool {
        name.isDisjoint(with: [.cacheControl, .pragma, .date, .expires, .age, .lastModified, .entityTag, .vary])
    }
}

extension ResponseReading: Hashable {
    /// Whether the fields say the same.
    package static func == (lhs: ResponseReading, rhs: ResponseReading) -> Bool {
        lhs === rhs
            || lhs.directives == rhs.directives && lhs.requiresValidation == rhs.requiresValidation
                && lhs.date == rhs.date && lhs.expires == rhs.expires && lhs.age == rhs.age
                && lhs.lastModifiedField == rhs.lastModifiedField && lhs.lastModified == rhs.lastModified
                && lhs.entityTag == rhs.entityTag && lhs.vary == rhs.vary
    }

    /// Feeds what distinguishes most responses into a hasher.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(date)
        hasher.combine(entityTag)
        hasher.combine(lastModified)
    }
}
