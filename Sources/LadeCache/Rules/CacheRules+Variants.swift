package import LadeCore

extension ResponseCache.Rules {
    /// The stored responses whose varying fields have the values of a request (RFC 9111 §4.1), in the form that the request
    /// asks for.
    ///
    /// To a response without `Vary` beside others the most recent `Vary` of the key applies.
    package func variants(of query: CacheQuery, in stored: [StoredHead]) -> [StoredHead] {
        let all = stored
        var forms = Forms(query, variantMatching)
        if stored.count == 1 {
            let isMatch = hasForm(stored[0], &forms, query) && differs(stored[0], &forms, query) == nil
            return isMatch ? stored : []
        }
        let stored = all.contains { !hasForm($0, &forms, query) } ? all.filter { hasForm($0, &forms, query) } : all
        let varying = stored.indices.filter { !stored[$0].reading.vary.names.isEmpty }
        guard let latest = varying.max(by: { Self.isLater(stored[$1], stored[$0]) }) else { return stored }
        let recent = stored[latest].reading.vary.names
        let matching = stored.indices.filter { index in
            let names = stored[index].reading.vary.names
            return (names.isEmpty ? recent : names).allSatisfy { matches(stored[index], $0, &forms, query) }
        }
        return matching.count == stored.count ? stored : matching.map { stored[$0] }
    }

    /// The first field by which a stored response differs from a request; nil for one that matches.
    private func differs(_ head: StoredHead, _ forms: inout Forms, _ query: CacheQuery) -> String? {
        let names = head.reading.vary.names
        guard !names.isEmpty else { return nil }
        return names.first { !matches(head, $0, &forms, query) }
    }

    /// The names of the fields by which a stored response differs from a request.
    package func differences(of query: CacheQuery, from head: StoredHead) -> [String] {
        var forms = Forms(query, variantMatching)
        let names = head.reading.vary.names.filter { !matches(head, $0, &forms, query) }
        return hasForm(head, &forms, query) || names.contains(Self.coding) ? names : names + [Self.coding]
    }

    /// Whether the body is stored in the form in which the request would get it: decoded, or in a coding that it accepts.
    ///
    /// A body without a coding is the same for both, unless the server chooses by `Accept-Encoding`.
    private func hasForm(_ head: StoredHead, _ forms: inout Forms, _ query: CacheQuery) -> Bool {
        let isCoded = !head.isDecoded && head.reading.names.contains(.contentEncoding)
        guard head.isRaw == query.isRaw else {
            return !head.isDecoded && !isCoded && !head.reading.vary.names.contains(Self.coding)
        }
        return !query.isRaw || !isCoded || matches(head, Self.coding, &forms, query)
    }

    /// The stored responses whose bodies have the form that the request asks for.
    func formed(_ stored: [StoredHead], for query: CacheQuery) -> [StoredHead] {
        var forms = Forms(query, variantMatching)
        return stored.filter { hasForm($0, &forms, query) }
    }

    private static let coding = "accept-encoding"

    private func matches(_ head: StoredHead, _ name: String, _ forms: inout Forms, _ query: CacheQuery) -> Bool {
        // Not compared: the response is validated before each use.
        if head.unseen.contains(name) { return true }
        let stored = form(of: name, in: head)
        return switch (stored, forms[name]) {
        case (.absent, nil): true
        case (.authorised, nil): query.below.authorises(name)
        case (.value(let form), let asked?): form == asked
        case (.digest(let digest), let asked?): digest == digester.digest(asked)
        default: false
        }
    }

    private func form(of name: String, in head: StoredHead) -> SelectingValue.Form {
        head.selecting.first { $0.name == name }?.form ?? .absent
    }

    /// Whether a response varies on a field whose value only the layers below the cache know.
    ///
    /// They set the field when the response was requested, or may set it for this request.
    func hasUnseenField(_ head: StoredHead, _ query: CacheQuery) -> Bool {
        head.reading.vary.names.contains { name in
            if head.unseen.contains(name) { return true }
            guard !Self.addedBelow.contains(name) else { return false }
            // A credential of the account belongs to the user whose responses these are.
            return query.below.changes(name) || query.below.authorises(name) && form(of: name, in: head) != .authorised
        }
    }

    /// The values of a request's fields that are kept with a response to it.
    ///
    /// - Parameters:
    ///   - vary: `Vary` of the response.
    ///   - query: The request at the cache.
    ///   - sent: The fields that were sent.
    ///   - authorised: The names of fields that authorisers of the account add, in lower case.
    /// - Returns: The values, and the names of fields that were added below the cache.
    package func selecting(
        _ vary: Vary,
        _ query: CacheQuery,
        sent: Headers,
        authorised: Set<String>
    ) -> (values: [SelectingValue], unseen: [String]) {
        // The coding of a body counts even if the server does not say so.
        let isChosenByCoding = query.isRaw && !vary.names.contains(Self.coding)
        let names =
            vary.names.isEmpty ? Self.names(query.headers, sent) : vary.names + (isChosenByCoding ? [Self.coding] : [])
        var forms = Forms(query, variantMatching)
        var values: [SelectingValue] = []
        var unseen: [String] = []
        for name in names {
            if authorised.contains(name) {
                values.append(SelectingValue(name: name, form: .authorised))
                continue
            }
            let sentLines = sent.octets(name)
            // The jar may have changed since the request was made, so that the cookies that were sent count.
            let isPredicted = name == "cookie" && query.cookies != nil
            let isAdded = !isPredicted && query.headers.octets(name) != sentLines
            if isAdded, !Self.addedBelow.contains(name) { unseen.append(name) }
            let known =
                isPredicted
                ? SelectingFields.normalise(name, sentLines, isExact: variantMatching == .exact) : forms[name]
            guard let own = known else { continue }
            let form = isSecret(name, query) ? SelectingValue.Form.digest(digester.digest(own)) : .value(own)
            values.append(SelectingValue(name: name, form: form))
        }
        return (values, unseen)
    }

    /// The names of both sections in lower case, each once, sorted.
    private static func names(_ headers: Headers, _ others: Headers) -> [String] {
        var names: [String] = []
        names.reserveCapacity(others.count)
        for section in [headers, others] {
            section.forEachName { _, bytes in
                let name = String(decoding: bytes.lazy.map(\.lowercasedASCII), as: UTF8.self)
                if !names.contains(name) { names.append(name) }
            }
        }
        return names.sorted()
    }

    private func isSecret(_ name: String, _ query: CacheQuery) -> Bool {
        name == "cookie" || query.headers.contains { $0.name.equalsIgnoringASCIICase(name) && $0.carriesCredentials }
    }

    /// Fields that interceptors and transports add to every request alike, and those by which the cache asks.
    private static let addedBelow: Set<String> = [
        "accept-encoding", "cache-control", "connection", "host", "if-modified-since", "if-none-match", "if-range",
        "range",
        "traceparent", "tracestate",
    ]
}

/// The normalised values of a request's fields, made when they are first compared.
private struct Forms {
    private let headers: Headers
    private let cookies: SentCookies?
    private let isExact: Bool
    // Few names: the comparison of two short texts costs less than a hash.
    private var known: [(name: String, form: [UInt8]?)] = []

    init(_ query: CacheQuery, _ matching: ResponseCache.Rules.VariantMatching) {
        (headers, cookies) = (query.headers, query.cookies)
        isExact = matching == .exact
    }

    subscript(name: String) -> [UInt8]? {
        mutating get {
            if let index = known.firstIndex(where: { $0.name == name }) { return known[index].form }
            let lines = name == "cookie" ? cookies?() ?? headers.octets(name) : headers.octets(name)
            let form = SelectingFields.normalise(name, lines, isExact: isExact)
            known.append((name, form))
            return form
        }
    }
}
