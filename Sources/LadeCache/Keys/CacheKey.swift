package import LadeCore

/// The key of a stored response: everything about a request that is not a header field named by `Vary`.
///
/// The parts are joined with their lengths, so that no two lists of parts have the same bytes.
package struct CacheKey: Sendable, Hashable {
    /// The parts that distinguish requests for one address.
    package struct Parts: Sendable {
        /// The method; GET and HEAD share responses.
        package var method = Request.Method.get
        /// `Host` as the caller wrote it; nil without one.
        package var host: String?
        /// Where the caller connects instead of the address.
        package var destination: Request.Destination?
        /// Who the call is, by ``CallIdentity``; nil for an anonymous call.
        package var identity: [UInt8]?
        /// The body with its type and coding; nil without one.
        package var body: (bytes: [UInt8], type: String?, coding: String?)?
        /// The key that the caller states.
        package var custom: String?

        /// Makes the parts of a plain GET.
        package init() {}
    }

    /// The place whose responses are invalidated together.
    package let place: CachePlace
    /// All parts, injectively.
    package let octets: [UInt8]

    /// Joins the parts.
    package init(_ place: CachePlace, _ parts: Parts = Parts(), digester: CacheDigester) {
        self.place = place
        // All lengths and the parts that most requests lack take fewer bytes.
        var writer = OctetWriter(capacity: place.address.text.utf8.count + place.partition.utf8.count + 96)
        writer.write(place.partition.utf8)
        place.scope.write(to: &writer)
        writer.write(place.address.text.utf8)
        let isGet = parts.method == .get || parts.method == .head
        writer.write((isGet ? "GET" : parts.method.rawValue).utf8)
        writer.write(parts.host?.asciiLowercased.utf8)
        switch parts.destination {
        case nil: writer.write([0])
        case .host(let host, let port):
            writer.write([1])
            writer.write(host.asciiLowercased.utf8)
            writer.write(String(port ?? 0).utf8)
        case .unixSocket(let path):
            writer.write([2])
            writer.write(path.utf8)
        }
        writer.write(parts.identity.map(digester.digest))
        if let body = parts.body {
            writer.write(digester.digest(body.bytes))
            writer.write(body.type?.utf8)
            writer.write(body.coding?.utf8)
        } else {
            writer.write([UInt8]?.none)
        }
        writer.write(parts.custom?.utf8)
        octets = writer.octets
    }

    /// A key as a store kept it, for listings.
    package init(_ place: CachePlace, stored octets: [UInt8]) {
        self.place = place
        self.octets = octets
    }

    /// Whether all parts are the same.
    package static func == (lhs: CacheKey, rhs: CacheKey) -> Bool { lhs.octets == rhs.octets }

    /// Feeds all parts into a hasher.
    package func hash(into hasher: inout Hasher) {
        octets.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension CacheKey: CustomStringConvertible {
    /// The address without secrets.
    package var description: String { Redaction.standard.address(place.address.text) }
}

extension CacheKey: CustomReflectable {
    /// A mirror that shows no secrets.
    package var customMirror: Mirror { Mirror(self, children: ["key": description]) }
}
