package import LadeCore

/// Which fields of a response are stored, and how a 304 changes them (RFC 9111 §3.1, §3.2).
package enum StoredFields {
    /// The fields of a response that are stored, in order, repeated lines kept apart.
    ///
    /// - Parameters:
    ///   - received: The fields as they were received.
    ///   - isDecoded: Whether the transport removed the coding, which two fields describe.
    /// - Returns: The fields to store.
    package static func make(_ received: Headers, isDecoded: Bool) -> Headers {
        var dropped = hopByHop(received)
        if isDecoded { dropped.formUnion(["content-encoding", "content-length"]) }
        if case .fields(let names) = CacheControl(received.all("Cache-Control")).noCache { dropped.formUnion(names) }
        return received.keeping { !dropped.contains($0.name.asciiLowercased) }
    }

    /// The stored fields with those of a 304: each name in it replaces all lines of that name.
    package static func mergeHeaders(_ stored: Headers, _ update: Headers) -> Headers {
        var dropped = hopByHop(update).union(["content-length", "content-encoding", "content-range"])
        if case .fields(let names) = CacheControl(update.all("Cache-Control")).noCache { dropped.formUnion(names) }
        let taken = update.filter { !dropped.contains($0.name.asciiLowercased) }
        let names = Set(taken.map { $0.name.asciiLowercased })
        return Headers(checked: stored.filter { !names.contains($0.name.asciiLowercased) } + taken)
    }

    /// The stored fields with those of a later exchange, whose own age and date they have.
    ///
    /// What that exchange does not state about its time is unknown, and not that of the older one.
    package static func renewed(_ stored: Headers, by update: Headers) -> Headers {
        let outdated = ["age", "date"].filter { !update.contains($0) }
        let kept = stored.keeping { field in !outdated.contains(where: field.name.equalsIgnoringASCIICase) }
        return mergeHeaders(kept, update)
    }

    /// The names of fields that belong to one connection, in lower case (RFC 9110 §7.6.1).
    private static func hopByHop(_ headers: Headers) -> Set<String> {
        var names = connectionNames
        for member in FieldMembers.list(headers.octets("Connection")) {
            names.insert(String(decoding: member.lowercasedASCII, as: UTF8.self))
        }
        return names
    }

    private static let connectionNames: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
}
