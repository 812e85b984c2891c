#if OpenAPI
    #if canImport(FoundationEssentials)
        public import FoundationEssentials
    #else
        public import Foundation
    #endif
    public import HTTPTypes
    public import Lade
    import LadeHTTPTypes
    public import OpenAPIRuntime

    /// Carries the calls of clients that swift-openapi-generator makes, with the limits, retries, tokens and cache of a loader.
    ///
    /// ```swift
    /// let transport = LadeTransport(try Loader()) { request, operationID in
    ///     request.deadline = operationID == "watchShows" ? nil : .seconds(30)
    /// }
    /// ```
    ///
    /// Bodies are streamed in both directions: a chunk is read when there is room for it. A body of the request that can be
    /// iterated several times is sent again by retries and redirects; one that cannot is sent once. Every status is returned, and
    /// retried first where the policy of the service says so. Streamed calls have no deadline unless one is set; see `prepare` of
    /// ``init(_:prepare:)``.
    public struct LadeTransport: ClientTransport {
        /// Changes the request of an operation before it is loaded: its deadline, time-outs, tags.
        public typealias Preparation = @Sendable (_ request: inout Request, _ operationID: String) -> Void

        private let client: any LoadingClient
        private let prepare: Preparation

        /// Makes a transport.
        ///
        /// - Parameters:
        ///   - client: The loader that makes the calls.
        ///   - prepare: Changes each request; changes nothing by default.
        public init(_ client: some LoadingClient, prepare: @escaping Preparation = { _, _ in }) {
            self.client = client
            self.prepare = prepare
        }

        /// Sends a request, and returns when the head of the response has arrived.
        ///
        /// Cancelling the task, or releasing the body of the response, ends the exchange.
        ///
        /// - Parameters:
        ///   - request: The request; its path follows that of the base.
        ///   - body: Its content.
        ///   - baseURL: The address of the server.
        ///   - operationID: The name of the operation, which observers find in `Request.operationID`.
        /// - Returns: The response of any status, and its body; nil where a response has none.
        /// - Throws: The `LoadingError` of the call, with the error of the body in `underlyingError`.
        public func send(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String
        ) async throws -> (HTTPResponse, HTTPBody?) {
            var asked = try Request(
                Request.Method(request.method.rawValue),
                Self.address(request, baseURL),
                headers: Headers(request.headerFields),
                body: body.map(Self.content),
                delivery: .streamed
            )
            asked.deliversEveryStatus = true
            asked.operationID = operationID
            prepare(&asked, operationID)
            let response = try await client.load(asked)
            return (try HTTPResponse(response), Self.content(of: response))
        }

        /// The address of an operation.
        private static func address(_ request: HTTPRequest, _ base: URL) throws(LoadingError) -> String {
            var address = base.absoluteString
            guard base.query == nil, base.fragment == nil else {
                throw LoadingError(
                    .invalidRequest(
                        .url(Redaction.standard.address(address), reason: "a base has no query and no fragment")
                    )
                )
            }
            let path = request.path ?? ""
            // By bytes, as addresses are compared everywhere.
            if address.utf8.last == UInt8(ascii: "/"), path.utf8.first == UInt8(ascii: "/") {
                address.unicodeScalars.removeLast()
            }
            return address + path
        }

        /// The content of a request, which is read while it is sent.
        private static func content(_ body: HTTPBody) -> Request.Body {
            var length: Int64?
            if case .known(let bytes) = body.length { length = bytes }
            return .writer(length: length, isReplayable: body.iterationBehavior == .multiple) { write in
                for try await chunk in body where !chunk.isEmpty { try await write(Data(chunk)) }
            }
        }

        /// The content of a response; nil for one that has none (RFC 9110 §6.4.1).
        private static func content(of response: Response) -> HTTPBody? {
            let code = response.status.code
            guard response.request.method != .head, code >= 200, code != 204, code != 304 else { return nil }
            if let bytes = response.body.bytes { return HTTPBody(bytes) }
            return HTTPBody(response.body, length: length(of: response), iterationBehavior: .single)
        }

        private static func length(of response: Response) -> HTTPBody.Length {
            let values = Set(response.headers.all("Content-Length"))
            guard values.count == 1, let value = values.first, !value.isEmpty,
                value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
                let length = Int64(value)
            else { return .unknown }
            return .known(length)
        }
    }
#else
    public import Lade

    /// Carries the calls of clients of swift-openapi-generator; exists with the trait `OpenAPI` alone.
    @available(
        *,
        unavailable,
        message: "Add traits: [\"OpenAPI\"] to the dependency on the package lade, which is off by default."
    )
    public struct LadeTransport {
        /// Makes nothing without the trait.
        public init(_ client: some LoadingClient) {}
    }
#endif
