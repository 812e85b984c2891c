#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import LadeCore

// Every builder returns a changed copy; the original endpoint does not change.
extension Endpoint {
    /// The endpoint with its request changed by a closure.
    public func request(_ change: (inout Request) throws -> Void) rethrows -> Endpoint {
        var copy = self
        try change(&copy.request)
        return copy
    }

    /// The endpoint with another method.
    public func method(_ method: Request.Method) -> Endpoint {
        request { $0.method = method }
    }

    /// The endpoint with a header field that replaces all others of that name.
    public func header(_ name: String, _ value: String) -> Endpoint {
        request { $0.headers.set(name, value) }
    }

    /// The endpoint with these header fields, each of which replaces all others of its name.
    public func headers(_ headers: Headers) -> Endpoint {
        request { request in
            for field in headers { request.headers.remove(field.name) }
            request.headers.add(contentsOf: headers)
        }
    }

    /// The endpoint with a query item that replaces all others of that name, at the position of the first.
    ///
    /// Other items are not re-encoded. A nil value removes the items of that name.
    public func query(_ name: String, _ value: String?) -> Endpoint {
        request { $0.url = $0.url.settingQuery(name, value) }
    }

    /// The endpoint with these query items, each of which replaces all others of its name.
    public func query(_ items: KeyValuePairs<String, String>) -> Endpoint {
        items.reduce(self) { $0.query($1.key, $1.value) }
    }

    /// The endpoint with a body; nil for none.
    ///
    /// A GET becomes a POST, because content in a GET has no defined meaning (RFC 9110 §9.3.1). To send another method,
    /// call ``method(_:)`` after this.
    public func body(_ body: Request.Body?) -> Endpoint {
        request { request in
            request.body = body
            if body != nil, request.method == .get { request.method = .post }
        }
    }

    /// The endpoint with a value as its JSON body; a GET becomes a POST, as with ``body(_:)``.
    ///
    /// - Throws: `LoadingError.Kind.requestBodyFailed` when the value cannot be encoded.
    public func jsonBody(
        _ value: some Encodable,
        encoder: some BodyEncoder = FastJSONEncoder()
    ) throws(LoadingError) -> Endpoint {
        do {
            return body(.bytes(try encoder.encode(value), contentType: encoder.contentType))
        } catch {
            throw LoadingError(.requestBodyFailed, LoadingError.Context(request), underlyingError: error)
        }
    }

    /// The endpoint with other time-outs, as described at `Request.Timeouts`.
    public func timeouts(_ change: (inout Request.Timeouts) -> Void) -> Endpoint {
        request { change(&$0.timeouts) }
    }

    /// The endpoint with other status codes that count as success.
    ///
    /// Acceptable statuses of the request itself take precedence.
    public func acceptingStatuses(_ statuses: Response.StatusSet) -> Endpoint {
        var copy = self
        copy.acceptableStatuses = statuses
        return copy
    }

    /// The endpoint whose errors for unacceptable statuses carry the decoded body of the response.
    ///
    /// The ``API`` that made the endpoint sets the decoder; without an API it is JSON. See ``API/failure(as:)``.
    public func failure<Model: Decodable & Sendable>(as model: Model.Type) -> Endpoint {
        var copy = self
        copy.failureModel = FailureModel(model)
        return copy
    }

    /// The endpoint with one more decorator, after those it has.
    public func decorated(by decorator: some Service.Decorator) -> Endpoint {
        var copy = self
        copy.decorators.append(decorator)
        return copy
    }

    /// The endpoint with another cache mode.
    public func cacheMode(_ mode: Request.CacheMode) -> Endpoint {
        request { $0.cacheMode = mode }
    }

    /// The endpoint with a key by which the server recognises a request that it has received already; see `Request.idempotencyKey`.
    ///
    /// A request with a key is retried although its method is not idempotent.
    public func idempotencyKey(_ key: Request.IdempotencyKey?) -> Endpoint {
        request { $0.idempotencyKey = key }
    }

    /// The endpoint with the name of the part of the app that sends the request.
    public func sourceIdentifier(_ identifier: String?) -> Endpoint {
        request { $0.sourceIdentifier = identifier }
    }
}

extension URL {
    /// The address with a query item set or removed; the rest of the address does not change.
    package func settingQuery(_ name: String, _ value: String?) -> URL {
        let whole = absoluteString
        let fragment = whole.unicodeScalars.firstIndex(of: "#").map { String(whole[$0...]) } ?? ""
        let text = whole.dropLast(fragment.count)
        let base = text.prefix { $0 != "?" }
        var items = text.dropFirst(base.count + 1).parts(at: "&", omitsEmpty: true).map(
            String.init
        )
        let isNamed = { (item: String) in
            item.prefix { $0 != "=" }.removingPlusAndPercentCoding == name
        }
        let position = items.firstIndex(where: isNamed)
        items.removeAll(where: isNamed)
        if let value {
            items.insert("\(name.queryEncoded)=\(value.queryEncoded)", at: position ?? items.count)
        }
        let query = items.isEmpty ? "" : "?" + items.joined(separator: "&")
        return URL(string: base + query + fragment) ?? self
    }
}

extension URL {
    /// The value of a query item, decoded; nil when there is none.
    package func queryValue(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// The items of the query, decoded, in their order.
    package var queryItems: [(name: String, value: String)] {
        let text = absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let mark = text.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return text[text.index(after: mark)...].split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            return (
                Substring(name).removingPlusAndPercentCoding,
                Substring(item.dropFirst(name.count + 1)).removingPlusAndPercentCoding
            )
        }
    }
}

extension StringProtocol {
    /// The text as a name or value of a query: every character that is not unreserved is percent-encoded (RFC 3986
    /// §2.3).
    var queryEncoded: String { utf8.percentEncoded() }

    /// The decoded name of a query item: forms encode a space as `+`.
    var removingPlusAndPercentCoding: String {
        String(decoding: String(map { $0 == "+" ? " " : $0 }).percentDecodedBytes, as: UTF8.self)
    }
}
