package import LadeCore

extension CacheRules {
    /// The stored responses whose varying fields have the values of a request (RFC 9111 §4.1).
    ///
    /// To a response without `Vary` beside others the most recent `Vary` of the key applies.
    package func variants(of query: CacheQuery, in stored: [StoredHead]) -> [StoredHead] {
        let varying = stored.indices.filter { !stored[$0].reading.vary.names.isEmpty }
        guard let latest = varying.max(by: { Self.isLater(stored[$1], stored[$0]) }) else { return stored }
        let recent = stored[latest].reading.vary.names
        var forms = Forms(query.headers, variantMatching)
        let matching = stored.indices.filter { index in
            let names = stored[index].reading.vary.names
            return (names.isEmpty ? recent : names).allSatisfy { matches(stored[index], $0, &forms) }
        }
        return matching.count == stored.count ? stored : matching.map { stored[$0] }
    }

    /// The names of the fields by which a stored response differs from a request.
    package func differences(of query: CacheQuery, from head: StoredHead) -> [String] {
        var forms = Forms(query.headers, variantMatching)
        return head.reading.vary.names.filter { !matches(head, $0, &forms) }
    }

    private func matches(_ head: StoredHead, _ name: String, _ forms: inout Forms) -> Bool {
        // Not compared: the response is validated before each use.
        if head.unseen.contains(name) { return true }
        let stored = head.selecting.first { $0.name == name }?.form ?? .absent
        return switch (stored, forms[name]) {
        case (.absent, nil): true
        case (.value(let form), let asked?): form == asked
        case (.digest(let digest), let asked?): digest == digester.digest(asked)
        default: false
        }
    }

    /// Whether a response varies on a field that only interceptors below the cache know.
    func hasUnseenField(_ head: StoredHead) -> Bool {
        guard !head.unseen.isEmpty else { return false }
        let names = head.reading.vary.names
        return names.contains(where: head.unseen.contains)
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
        let all = Set((Array(query.headers) + Array(sent)).map { $0.name.asciiLowercased })
        let names = vary.names.isEmpty ? all.sorted() : vary.names
        var forms = Forms(query.headers, variantMatching)
        var values: [SelectingValue] = []
        var unseen: [String] = []
        for name in names {
            let isAdded = query.headers.octets(name) != sent.octets(name)
            if isAdded, !authorised.contains(name), !Self.addedBelow.contains(name) { unseen.append(name) }
            guard let own = forms[name] else { continue }
            let form = isSecret(name, query) ? SelectingValue.Form.digest(digester.digest(own)) : .value(own)
            values.append(SelectingValue(name: name, form: form))
        }
        return (values, unseen)
    }

    private func isSecret(_ name: String, _ query: CacheQuery) -> Bool {
        query.headers.contains { $0.carriesCredentials && $0.name.equalsIgnoringASCIICase(name) }
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
    private let isExact: Bool
    private var known: [String: [UInt8]?] = [:]

    init(_ headers: Headers, _ matching: CacheRules.VariantMatching) {
        self.headers = headers
        isExact = matching == .exact
    }

    subscript(name: String) -> [UInt8]? {
        mutating get {
            if let form = known[name] { return form }
            let form = SelectingFields.normalise(name, headers.octets(name), isExact: isExact)
            known[name] = .some(form)
            return form
        }
    }
}
