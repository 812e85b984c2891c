extension CacheControl: CustomStringConvertible {
    /// The field as it is sent; empty if there is no directive.
    ///
    /// Fractions of seconds are dropped and durations are clamped to 0…2³¹ seconds. Field names that cannot be written
    /// are left out, and a scope without any names is written as everything.
    package var description: String {
        let flags = [
            ("public", isPublic), ("no-store", noStore), ("no-transform", noTransform), ("immutable", isImmutable),
            ("must-revalidate", mustRevalidate), ("proxy-revalidate", proxyRevalidate),
            ("must-understand", mustUnderstand), ("only-if-cached", onlyIfCached),
        ]
        let durations = [
            ("max-age", maxAge), ("s-maxage", sharedMaxAge), ("min-fresh", minFresh),
            ("stale-while-revalidate", staleWhileRevalidate), ("stale-if-error", staleIfError),
        ]
        var members = flags.filter(\.1).map(\.0)
        for case (let name, let duration?) in durations { members.append("\(name)=\(Self.seconds(duration))") }
        switch maxStale {
        case .any: members.append("max-stale")
        case .upTo(let duration): members.append("max-stale=\(Self.seconds(duration))")
        case nil: break
        }
        if let noCache { members.append("no-cache\(Self.argument(noCache))") }
        if let privateScope { members.append("private\(Self.argument(privateScope))") }
        members += extensions.map { directive in
            directive.name + (directive.argument.map { "=\($0.tokenOrQuoted)" } ?? "")
        }
        return members.joined(separator: ", ")
    }

    private static func seconds(_ duration: Duration) -> Int64 {
        min(max(duration.components.seconds, 0), FieldCursor.deltaSecondsLimit)
    }

    private static func argument(_ scope: Scope) -> String {
        guard case .fields(let names) = scope else { return "" }
        let list = names.filter(\.isToken).joined(separator: ", ")
        return list.isEmpty ? "" : "=\(list.quoted)"
    }
}
