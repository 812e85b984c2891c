extension CacheControl {
    /// Reads the directives of all `Cache-Control` fields of a message; any text gives a value.
    ///
    /// Where a field contradicts itself or a value is malformed, the reading that reuses less wins (RFC 9111 §4.2.1):
    ///
    /// | input | read as |
    /// | --- | --- |
    /// | a directive with a duration, twice | the first |
    /// | `max-age`, `s-maxage` without a whole number of seconds | 0: stale |
    /// | `max-stale`, `min-fresh`, `stale-while-revalidate`, `stale-if-error` with a malformed number | absent |
    /// | `no-cache` or `private`, with and without field names | without: everything |
    /// | the same with field names twice | all of the names |
    /// | the same with a malformed list of names | without: everything |
    /// | an argument where none belongs, as in `no-store=1` | the directive |
    /// | white space beside `=`, as in `max-age =60` | a malformed argument |
    /// | text that is not a directive | nothing; the next comma ends it |
    ///
    /// Both forms of arguments, token and quoted string, are read for all directives (§5.2).
    package init(_ lines: [String]) {
        self.init(bytes: lines.map { Array($0.utf8) })
    }

    /// Reads the directives from bytes as they were received; see `init(_:)`.
    package init(bytes lines: [[UInt8]]) {
        self.init()
        var noCache = ScopeReading()
        var privateScope = ScopeReading()
        for line in lines {
            var cursor = FieldCursor(line, field: "Cache-Control")
            cursor.skipEmptyMembers()
            while !cursor.isAtEnd {
                let directive = cursor.pair(before: .comma)
                cursor.skipEmptyMembers()
                guard let directive else { continue }
                switch directive.name {
                case "no-cache": noCache.add(directive)
                case "private": privateScope.add(directive)
                default: apply(directive)
                }
            }
        }
        // Known only after all are read: one directive without names overrides the names of all others.
        self.noCache = noCache.scope
        self.privateScope = privateScope.scope
    }

    /// Whether there is a property for a directive of that name.
    static func isKnown(_ name: String) -> Bool {
        CacheControl([name]).extensions.isEmpty
    }

    private mutating func apply(_ directive: FieldCursor.Pair) {
        switch directive.name {
        case "max-age": maxAge = maxAge ?? Self.duration(directive) ?? .zero
        case "s-maxage": sharedMaxAge = sharedMaxAge ?? Self.duration(directive) ?? .zero
        case "max-stale": maxStale = maxStale ?? Self.staleness(directive)
        case "min-fresh": minFresh = minFresh ?? Self.duration(directive)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.duration(directive)
        case "stale-if-error": staleIfError = staleIfError ?? Self.duration(directive)
        case "no-store": noStore = true
        case "no-transform": noTransform = true
        case "only-if-cached": onlyIfCached = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "immutable": isImmutable = true
        default:
            guard directive.isWellFormed, !directive.isSpaced, directive.value?.isQuotable ?? true else { return }
            extensions.append(.init(checkedName: directive.name, argument: directive.value))
        }
    }

    private static func staleness(_ directive: FieldCursor.Pair) -> Staleness? {
        if directive.value == nil && directive.isWellFormed { return .any }
        return duration(directive).map { .upTo($0) }
    }

    private static func duration(_ directive: FieldCursor.Pair) -> Duration? {
        guard directive.isWellFormed, !directive.isSpaced, let value = directive.value else { return nil }
        var cursor = FieldCursor(value, field: "Cache-Control")
        guard let seconds = cursor.deltaSeconds() else { return nil }
        return cursor.isAtEnd ? .seconds(seconds) : nil
    }

    /// The part of `no-cache` or `private` that was read so far.
    private struct ScopeReading {
        private var isEverything = false
        private var names: [String] = []
        private var seen: Set<String> = []

        var scope: Scope? {
            if isEverything { return .everything }
            return names.isEmpty ? nil : .fields(names)
        }

        mutating func add(_ directive: FieldCursor.Pair) {
            guard directive.isWellFormed, !directive.isSpaced, let list = directive.value else {
                isEverything = true
                return
            }
            var cursor = FieldCursor(list, field: "Cache-Control")
            cursor.skipEmptyMembers()
            if cursor.isAtEnd { isEverything = true }
            while !cursor.isAtEnd {
                guard let name = cursor.lowercasedToken() else { return isEverything = true }
                cursor.skipWhitespace()
                guard cursor.isAt(.comma) else { return isEverything = true }
                cursor.skipEmptyMembers()
                if seen.insert(name).inserted { names.append(name) }
            }
        }
    }
}
