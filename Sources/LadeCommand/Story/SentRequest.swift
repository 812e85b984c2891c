#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if os(Linux)
    import LadeWire
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
                fields.add("Accept-Encoding", WireTransport.description.codings.joined(separator: ", "))
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

    /// Writes the request as HTTP/1.1 would send it.
    func write(to console: Console, showsSecrets: Bool) async throws(CommandError) {
        let path = request.url.path(percentEncoded: true)
        let query = request.url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        let plain = (path.isEmpty ? "/" : path) + query
        let shown = Redaction(request).address("http://h" + plain)
        let target = showsSecrets ? plain : String(decoding: shown.utf8.dropFirst("http://h".utf8.count), as: UTF8.self)
        var head = "\(request.method) \(target) HTTP/1.1\r\n"
        for field in fields { head += "\(field.name): \(showsSecrets ? field.value : field.redactedValue)\r\n" }
        try console.write(head + "\r\n")
        guard let body = request.body else { return }
        do {
            try await body.writeBytes { try console.output.write($0) }
        } catch let error as LoadingError {
            throw CommandError(error)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(LoadingError(.requestBodyFailed, LoadingError.Context(request), underlyingError: error))
        }
    }

    /// The text of a short body in memory; nil for any other body.
    var wholeBodyText: String? {
        guard case .bytes(let bytes) = request.body?.content, bytes.count <= 4 << 10,
            let text = String(validating: bytes, as: UTF8.self), !text.isEmpty
        else { return nil }
        return text
    }

    /// The text of a short body that names no secret; nil for any other body.
    var bodyText: String? {
        guard let text = wholeBodyText else { return nil }
        let words = text.lowercased().utf8.split { !(($0 >= 0x61 && $0 <= 0x7A) || $0 == 0x5F || $0 == 0x2D) }
        let isSecret = words.contains { Redaction.standard.isSecret(String(decoding: $0, as: UTF8.self)) }
        return isSecret ? nil : text
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

    /// True, because the interceptor never waits.
    var observesScope: Bool { true }

    /// Empty, because the interceptor only reports.
    var changedFields: [String] { [] }

    /// Reports the request and passes it on.
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        story.show(SentRequest(request, decodesContent: decodesContent))
        return try await next(request)
    }
}
