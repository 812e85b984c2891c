package import LadeCore

/// The head of a response from the server, and the facts of its exchange.
package struct ReceivedHead: Sendable {
    /// The status.
    package var status: Response.Status
    /// The fields.
    package var headers: Headers {
        didSet { reading = ResponseReading(headers, received: times.received.date) }
    }
    /// The statements of the fields, parsed once for all decisions about the response.
    package private(set) var reading: ResponseReading
    /// The fields of the request as it was sent.
    package var sent: Headers
    /// When the exchange began, and when the head arrived.
    package let times: ExchangeTimes
    /// Whether the transport removes the content coding.
    package var isDecoded = false
    /// The names of the fields that authorisers added, in lower case.
    package var authorised: Set<String> = []
    /// Whether it is from a host of its own that stands in for the requested host.
    package var isFromOtherHost = false
    /// Whether the request was sent with credentials that its key was not made of.
    package var hasOtherCredentials = false
    /// Whether the address or the connection carried credentials.
    package var isPersonal = false
    /// Whether the app's hook forbids storing.
    package var isRefusedByHook = false

    /// Makes a head.
    package init(_ status: Response.Status, _ headers: Headers, sent: Headers = Headers(), times: ExchangeTimes) {
        self.status = status
        self.headers = headers
        self.sent = sent
        self.times = times
        reading = ResponseReading(headers, received: times.received.date)
    }
}

/// Whether and how a response is stored.
package enum StorageDecision: Sendable, Hashable {
    /// Store it, in place of other stored responses.
    case store(StoredHead, replacing: [UInt64])
    /// The same for a response that must be validated before each use.
    case storeForValidation(StoredHead, replacing: [UInt64])
    /// Store some bytes of a body; the head says which.
    case storePart(StoredHead)
    /// Store nothing.
    case refuse

    /// The head to store.
    package var head: StoredHead? {
        switch self {
        case .store(let head, _), .storeForValidation(let head, _), .storePart(let head): head
        case .refuse: nil
        }
    }
}
