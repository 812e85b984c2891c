#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// What the fields of a response say about caching, parsed once when the head is stored.
///
/// A reference, so that copies of heads are cheap.
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

    /// Which fields of meaning the section has; those of a decoded body may have been removed since.
    package let names: FieldNames

    /// Reads the fields of a response that was received at a date, in one pass over their names.
    package init(_ headers: Headers, received: Date) {
        var found = Positions()
        headers.forEachName { position, name in found.note(FieldNames(name: name), position, headers) }
        names = found.names
        directives = found.cacheControl.isEmpty ? CacheControl() : CacheControl(headers.texts(at: found.cacheControl))
        requiresValidation =
            directives.noCache == .everything
            || found.cacheControl.isEmpty && !found.pragma.isEmpty
                && CacheControl(headers.texts(at: found.pragma)).noCache == .everything
        date = found.date.flatMap { try? HTTPDate(bytes: headers.octets(at: $0), now: received) }?.date
        expires = found.expires.isEmpty ? nil : Expiry(found.expires.map(headers.octets(at:)), now: received)
        age = found.age.map { Self.age(headers.octets(at: $0)) } ?? .zero
        lastModifiedField = found.lastModified.map { headers[$0] }
        lastModified = lastModifiedField.flatMap { try? HTTPDate(bytes: $0.octets, now: received) }?.date
        entityTag = found.entityTag.map { EntityTag(headers[$0]) }
        vary = found.names.contains(.vary) ? Vary(headers) : .none
    }

    /// Where the fields stand that are read.
    private struct Positions {
        var names: FieldNames = []
        var cacheControl: [Int] = []
        var pragma: [Int] = []
        var expires: [Int] = []
        var date: Int?
        var age: Int?
        var lastModified: Int?
        var entityTag: Int?

        mutating func note(_ name: FieldNames, _ position: Int, _ headers: Headers) {
            names.formUnion(name)
            switch name {
            case .cacheControl: cacheControl.append(position)
            case .pragma: pragma.append(position)
            case .expires: expires.append(position)
            case .date: date = date ?? position
            case .age: age = age ?? position
            // Empty validators do not count.
            case .lastModified where lastModified == nil && !headers.octets(at: position).isEmpty:
                lastModified = position
            case .entityTag where entityTag == nil && !headers.octets(at: position).isEmpty: entityTag = position
            default: break
            }
        }
    }

    /// Whether a request can ask if the response is still current.
    package var hasValidator: Bool { entityTag != nil || lastModifiedField != nil }

    /// Whether the server states how long the response is fresh, even in a way that cannot be read.
    package var hasExplicitLifetime: Bool { directives.maxAge != nil || expires != nil }

    /// Whether removing these names leaves everything as it was read.
    package static func ignores(_ name: FieldNames) -> Bool {
        name.isDisjoint(with: [.cacheControl, .pragma, .date, .expires, .age, .lastModified, .entityTag, .vary])
    }

    /// The first member of the first line (RFC 9111 §5.1).
    private static func age(_ line: [UInt8]) -> Duration {
        let member = FieldMembers.trimmed(Array(line.prefix { $0 != UInt8(ascii: ",") }))
        return FieldMembers.number(member, limit: 1 << 31).map { .seconds($0) } ?? .zero
    }
}

extension Headers {
    /// The values at some positions.
    fileprivate func texts(at positions: [Int]) -> [String] { positions.map { self[$0].value } }
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
