package import LadeCore

/// The fields of a response that are stored, and how a 304 changes them (RFC 9111 §3.1, §3.2).
package enum StoredFields {
    /// The fields of a response that are stored, in order, repeated lines kept apart.
    ///
    /// - Parameters:
    ///   - received: The fields as they were received.
    ///   - reading: The statements of the fields.
    ///   - isDecoded: Whether the transport removed the coding, which two fields describe.
    /// - Returns: The fields to store, in the form in which they are served, and whether they say the same.
    package static func make(
        _ received: Headers,
        _ reading: ResponseReading,
        isDecoded: Bool
    ) -> (fields: Headers, isRead: Bool) {
        let others = named(received, reading.names, reading.directives)
        let dropped: FieldNames =
            isDecoded ? [.connection, .hopByHop, .contentEncoding, .contentLength] : [.connection, .hopByHop]
        let isRead = others.allSatisfy { ResponseReading.ignores($0.name) }
        guard !others.isEmpty || !reading.names.isDisjoint(with: dropped) else {
            return (received.listed, isRead)
        }
        return (Headers(checked: keeping(received, dropped, others)), isRead)
    }

    /// The stored fields, updated by the fields of a 304: each name in the 304 replaces all lines of that name.
    package static func mergeHeaders(_ stored: Headers, _ update: Headers) -> Headers {
        let names = FieldNames(update)
        let directives = names.contains(.cacheControl) ? CacheControl(update.all("Cache-Control")) : CacheControl()
        let dropped: FieldNames = [.connection, .hopByHop, .contentLength, .contentEncoding]
        let taken = keeping(update, dropped, named(update, names, directives) + [Name("content-range")])
        return Headers(
            checked: stored.filter { field in !taken.contains { $0.name.equalsIgnoringASCIICase(field.name) } } + taken
        )
    }

    /// The stored fields, updated by the fields of a later exchange, with the age and the date of that exchange.
    ///
    /// An age or a date that the later exchange does not state is unknown; the older exchange's is not kept.
    package static func renewed(_ stored: Headers, by update: Headers) -> Headers {
        let outdated = ["age", "date"].filter { !update.contains($0) }
        let kept = stored.keeping { field in !outdated.contains(where: field.name.equalsIgnoringASCIICase) }
        return mergeHeaders(kept, update)
    }

    /// A name in lower case, and whether it means something to a cache.
    private struct Name {
        let text: [UInt8]
        let name: FieldNames

        init(_ text: some Sequence<UInt8>) {
            self.text = Array(text)
            name = self.text.withUnsafeBufferPointer { FieldNames(name: $0) }
        }

        init(_ text: String) { self.init(text.utf8) }
    }

    /// The names that `Connection` and `no-cache` of a section name (RFC 9110 §7.6.1, RFC 9111 §5.2.2.4).
    private static func named(_ headers: Headers, _ names: FieldNames, _ directives: CacheControl) -> [Name] {
        var others: [Name] = []
        if names.contains(.connection) {
            others += FieldMembers.list(headers.octets("Connection")).map { Name($0.lowercasedASCII) }
        }
        if case .fields(let list) = directives.noCache { others += list.map { Name($0) } }
        return others
    }

    /// The fields of a section without some, byte for byte.
    private static func keeping(_ headers: Headers, _ dropped: FieldNames, _ others: [Name]) -> [Headers.Field] {
        var kept: [Headers.Field] = []
        kept.reserveCapacity(headers.count)
        headers.forEachName { position, name in
            guard dropped.isDisjoint(with: FieldNames(name: name)) else { return }
            let isNamed = others.contains { other in
                other.text.count == name.count
                    && name.indices.allSatisfy { name[$0].lowercasedASCII == other.text[$0] }
            }
            if !isNamed { kept.append(headers[position]) }
        }
        return kept
    }
}
