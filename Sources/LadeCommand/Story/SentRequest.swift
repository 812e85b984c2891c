import Lade

#if os(Linux)
    import LadeCurl
#endif

/// A request as the server receives it, with the fields that the transport adds.
struct SentRequest: Sendable {
    let request: Request
    /// Every field, in the order in which it is sent.
    let fields: Headers

    /// Adds the fields that the transport sends by itself.
    init(_ request: Request, decodesContent: Bool) {
        self.request = request
        var fields = Headers()
        if !request.headers.contains("Host"), let origin = Origin(request.url) {
            let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
            let isStandard = origin.port == (origin.isSecure ? 443 : 80)
            fields.add("Host", isStandard ? host : "\(host):\(origin.port)")
        }
        for field in request.headers { fields.add(field.name, field.value) }
        #if os(Linux)
            if decodesContent, !fields.contains("Accept-Encoding") {
                fields.add("Accept-Encoding", CurlTransport.library.codings.joined(separator: ", "))
            }
        #endif
        if let body = request.body {
            if let type = body.contentType, !fields.contains("Content-Type") { fields.add("Content-Type", type) }
            if !fields.contains("Content-Length") {
                if let length = body.length {
                    fields.add("Content-Length", "\(length)")
                } else if request.version != .http2PriorKnowledge {
                    fields.add("Transfer-Encoding", "chunked")
                }
            }
        }
        self.fields = fields
    }

    /// The size of the body in words; nil without a body.
    var bodyWords: String? {
        guard let body = request.body else { return nil }
        guard let length = body.length else { return "a body of unknown length" }
        return "a body of \(length) \(length == 1 ? "byte" : "bytes")"
    }
}

/// Reports each exchange just before it is sent, below every interceptor that changes the request.
struct SentTeller: Interceptor {
    let story: Story
    let decodesContent: Bool

    /// True: it waits for nothing.
    var observesScope: Bool { true }

    /// Reports the request and passes it on.
    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        story.show(SentRequest(request, decodesContent: decodesContent))
        return try await next(request)
    }
}
