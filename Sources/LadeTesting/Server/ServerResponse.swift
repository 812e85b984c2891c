#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The response of a ``LoopbackServer``'s handler.
///
/// The server adds `Content-Length` or `Transfer-Encoding: chunked` according to the body, unless the fields have
/// either.
public struct ServerResponse: Sendable {
    /// The content of a response.
    package enum Body: Sendable {
        /// None: `Content-Length: 0` where a length is allowed.
        case none
        /// Bytes of known length.
        case bytes(Data)
        /// A chunked body, one chunk per element.
        case chunks([Data])
        /// Chunks made by a closure with ``ServerConnection/sendChunk(_:)`` on the connection's thread.
        ///
        /// The closure may read the request's body at the same time, if only the head was needed to choose the response.
        case stream(@Sendable (ServerConnection) throws -> Void)
        /// The bytes that the closure sends, after the head and unframed; the connection is closed afterwards.
        case raw(@Sendable (ServerConnection) throws -> Void)
    }

    /// The status code.
    public var status: Int
    /// The reason phrase.
    public var reason: String
    /// The header section.
    public var fields: [ServerField]
    /// The content.
    package var body: Body
    /// The trailer section of a chunked body.
    public var trailers: [ServerField] = []
    /// Interim responses (1xx) sent first: status and fields.
    public var interim: [(status: Int, fields: [ServerField])] = []
    /// Whether the connection is closed after the response; the response then has `Connection: close`.
    public var closesConnection = false

    /// Makes a response.
    package init(status: Int = 200, reason: String = "", fields: [ServerField] = [], body: Body = .none) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
    }

    /// A response without a body.
    public static func status(_ status: Int, _ fields: [ServerField] = []) -> ServerResponse {
        ServerResponse(status: status, fields: fields)
    }

    /// A response with a text.
    public static func text(_ text: String, status: Int = 200, _ fields: [ServerField] = []) -> ServerResponse {
        bytes(Data(text.utf8), status: status, [ServerField("Content-Type", "text/plain; charset=utf-8")] + fields)
    }

    /// A response with a JSON text.
    public static func json(_ text: String, status: Int = 200, _ fields: [ServerField] = []) -> ServerResponse {
        bytes(Data(text.utf8), status: status, [ServerField("Content-Type", "application/json")] + fields)
    }

    /// A response with bytes.
    public static func bytes(_ bytes: Data, status: Int = 200, _ fields: [ServerField] = []) -> ServerResponse {
        ServerResponse(status: status, fields: fields, body: .bytes(bytes))
    }

    /// A response with chunks and, if given, trailers.
    public static func chunks(_ chunks: [String], trailers: [ServerField] = []) -> ServerResponse {
        var response = ServerResponse(body: .chunks(chunks.map { Data($0.utf8) }))
        response.trailers = trailers
        return response
    }

    /// A response with chunks from a closure; see ``Body/stream(_:)``.
    package static func stream(_ write: @escaping @Sendable (ServerConnection) throws -> Void) -> ServerResponse {
        ServerResponse(body: .stream(write))
    }
}
