#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One exchange of a recording in the HTTP Archive format (HAR 1.2): request, response, times, and what the policies decided.
public struct HAREntry: Sendable, Hashable {
    /// A name with its value: a header field, a cookie, an item of a query.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a field.
        public init(_ name: String, _ value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    /// The content of a message, decoded.
    public struct Content: Sendable, Hashable {
        /// The bytes; nil when the recording does not have them.
        public var bytes: Data?
        /// The media type; empty when it is not known.
        public var type: String
        /// The length of the whole content, of which ``bytes`` may be the beginning.
        public var size: Int64

        /// Makes a content.
        public init(_ bytes: Data?, type: String = "", size: Int64? = nil) {
            (self.bytes, self.type) = (bytes, type)
            self.size = size ?? Int64(bytes?.count ?? 0)
        }

        /// Whether the recording has less than the whole content.
        public var isTruncated: Bool { bytes.map { Int64($0.count) < size } ?? (size > 0) }
    }

    /// The request.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: String
        /// The absolute address.
        public var url: String
        /// The version of the protocol; empty when it is not known.
        public var version = ""
        /// The header section.
        public var headers: [Field] = []
        /// The content; nil for a request without one.
        public var content: Content?
        /// The bytes of the head on the wire; nil when they are not known.
        public var headBytes: Int64?
        /// The bytes of the body on the wire; nil when they are not known.
        public var bodyBytes: Int64?

        /// Makes a request.
        public init(method: String, url: String) {
            (self.method, self.url) = (method, url)
        }
    }

    /// The response; its status is 0 when none arrived.
    public struct Response: Sendable, Hashable {
        /// The status code; 0 for an exchange without a response.
        public var status: Int
        /// The reason phrase.
        public var reason = ""
        /// The version of the protocol; empty when it is not known.
        public var version = ""
        /// The header section.
        public var headers: [Field] = []
        /// The content.
        public var content = Content(nil)
        /// The bytes of the head on the wire; nil when they are not known.
        public var headBytes: Int64?
        /// The bytes of the body on the wire, before decoding; nil when they are not known.
        public var bodyBytes: Int64?

        /// Makes a response.
        public init(status: Int) {
            self.status = status
        }
    }

    /// How long each phase took; nil for a phase that did not happen or was not measured.
    public struct Timings: Sendable, Hashable {
        /// Waiting before the exchange: for policies, and for a connection.
        public var blocked: Duration?
        /// Resolving the name.
        public var nameLookup: Duration?
        /// Opening the connection, with the TLS handshake.
        public var connect: Duration?
        /// The TLS handshake, which is a part of ``connect``.
        public var secureConnect: Duration?
        /// Sending the request.
        public var send = Duration.zero
        /// Waiting for the response.
        public var wait = Duration.zero
        /// Receiving the response.
        public var receive = Duration.zero

        /// Makes timings of nothing.
        public init() {}

        /// The sum of the phases; the handshake counts within ``connect``.
        public var sum: Duration {
            (blocked ?? .zero) + (nameLookup ?? .zero) + (connect ?? .zero) + send + wait + receive
        }
    }

    /// A wait before the exchange.
    package struct Wait: Sendable, Hashable {
        /// The reason, as the words that follow “waiting for”.
        package var reason: String
        /// How long it took.
        package var duration: Duration

        /// Makes a wait.
        package init(_ reason: String, _ duration: Duration) {
            (self.reason, self.duration) = (reason, duration)
        }
    }

    /// Why an exchange failed.
    package struct Fault: Sendable, Hashable {
        /// The kind of the error, as the name of its case of `LoadingError.Kind`.
        package var kind: String
        /// The value of the kind that a replay needs, such as the phase of a time-out; empty for none.
        package var detail = ""
        /// The error as a sentence.
        package var sentence: String

        /// Makes a fault.
        package init(kind: String, detail: String = "", sentence: String) {
            (self.kind, self.detail, self.sentence) = (kind, detail, sentence)
        }
    }

    /// The library's facts beside the format's own members; the member `_lade` of an entry.
    package struct Facts: Sendable, Hashable {
        /// The number of the call that the exchange belongs to; nil in recordings of others.
        package var call: Int?
        /// The attempt of the call, from 1.
        package var attempt: Int?
        /// The number of the hedge, from 1; nil for none.
        package var hedge: Int?
        /// The waits before the exchange, which ``Timings/blocked`` contains.
        package var waits: [Wait] = []
        /// The rule by which the request was sent again; nil for a first exchange.
        package var rule: String?
        /// The delay that this rule set.
        package var delay: Duration?
        /// The time that the exchange might have taken at most.
        package var limit: Duration?
        /// The part of the cache; nil without one.
        package var cache: String?
        /// Whether the connection was used before.
        package var isReused: Bool?
        /// Why the exchange failed; nil for success.
        package var fault: Fault?
        /// Whether secrets were removed.
        package var isRedacted = false

        /// Makes facts without any.
        package init() {}
    }

    /// When the exchange began, its waits included.
    public var started: Date
    /// How long it took: the sum of the timings.
    public var time = Duration.zero
    /// The request.
    public var request: Request
    /// The response.
    public var response: Response
    /// The phases.
    public var timings = Timings()
    /// The numeric address of the server or proxy; nil when it is not known.
    public var serverAddress: String?
    /// The port of the server or proxy, or what else names the connection; nil when it is not known.
    public var connection: String?
    /// The library's facts beside that.
    package var facts = Facts()

    /// Makes an entry.
    public init(started: Date, request: Request, response: Response) {
        (self.started, self.request, self.response) = (started, request, response)
    }

    /// The values of a field of the response, in order.
    func responseValues(_ name: String) -> [String] {
        response.headers.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }
}

/// Why a recording cannot be read or written: the entry, the member and the reason.
public struct HARFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number of the entry, from 1; nil for a fault of the whole recording.
    public var entry: Int?
    /// The path of the member, such as `request.url`; empty for the entry itself.
    public var member: String
    /// The reason.
    public var reason: String
    /// Whether the file could not be opened, read or written.
    public var isOfFile = false

    /// Makes a fault.
    public init(entry: Int? = nil, member: String = "", reason: String, isOfFile: Bool = false) {
        (self.entry, self.member, self.reason, self.isOfFile) = (entry, member, reason, isOfFile)
    }

    /// The place and the reason: `entry 3, request.url: it has no host`.
    public var description: String {
        let place = [entry.map { "entry \($0)" }, member.isEmpty ? nil : member].compactMap(\.self)
        return (place.isEmpty ? "" : place.joined(separator: ", ") + ": ") + reason
    }
}

extension HARFault: LocalizedError {
    /// The place and the reason, as ``description``.
    public var localizedDescription: String { description }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
