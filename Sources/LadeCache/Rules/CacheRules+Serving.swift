package import LadeCore

extension ResponseCache.Rules {
    /// The head of a response from the store.
    ///
    /// - Parameters:
    ///   - head: The stored head.
    ///   - freshness: Its age, which replaces `Age`; nil for a response that the server has just confirmed.
    ///   - span: The bytes of the body that are served; nil for all.
    /// - Returns: The status and the fields.
    package static func served(
        _ head: StoredHead,
        _ freshness: ResponseCache.Freshness?,
        span: Range<Int64>? = nil
    ) -> (status: Response.Status, headers: Headers) {
        var headers = head.headers
        if let freshness {
            let age = Headers.Field(uncheckedName: "Age", value: String(freshness.age.components.seconds))
            headers = head.reading.names.contains(.age) ? headers.setting(age) : headers.placing(age, at: nil)
        }
        guard let span else { return (head.status, headers) }
        headers["Content-Range"] = ContentRange(span: span, total: head.length).text
        headers["Content-Length"] = String(span.count)
        return (206, headers)
    }

    /// The `Cache-Control` that a mode sends, unless the caller set the field (RFC 9111 §5.2.1).
    package static func directives(for mode: Request.CacheMode, hasStored: Bool) -> String? {
        switch mode {
        case .standard, .storedOnly: nil
        case .bypass: "no-cache, no-store"
        case .revalidate: "max-age=0"
        case .preferStored: hasStored ? nil : "max-stale"
        }
    }
}

extension Headers {
    /// The fields with another value of a name that they have, once.
    fileprivate func setting(_ field: Field) -> Headers {
        var headers = self
        headers[field.name] = field.value
        return headers
    }
}
