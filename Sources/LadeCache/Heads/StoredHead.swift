#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// Everything about one stored response but its body: the variant of a key that a request can match.
package struct StoredHead: Sendable, Hashable {
    /// How much of the body is stored.
    package enum Extent: Sendable, Hashable {
        /// All of it, with its length.
        case whole(Int64)
        /// Some ranges, sorted and not touching each other, and the length of the whole.
        case parts([Range<Int64>], total: Int64)
    }

    /// The number that the store gave it; later responses have larger numbers.
    package var id: UInt64 = 0
    /// Counts the updates of the head.
    package var version: UInt64 = 0
    /// The status of the response.
    package var status: Response.Status
    /// The fields of the response, without those that belong to the connection.
    package var headers: Headers {
        didSet { reading = ResponseReading(headers, received: times.received.date) }
    }
    /// The trailer section.
    package var trailers = Headers()
    /// The exchange that the fields are from.
    package var times: ExchangeTimes
    /// The request's values of the fields that `Vary` names; without `Vary`, of all fields it had.
    package var selecting: [SelectingValue] = []
    /// The names of fields that interceptors below the cache added, in lower case: all without `Vary`, otherwise those
    /// it names.
    package var unseen: [String] = []
    /// How much of the body is stored.
    package var extent: Extent
    /// Whether the transport removed the content coding.
    package var isDecoded = false
    /// Whether it was requested without decoding of its content coding.
    package var isRaw = false
    /// Whether the response was invalidated: it must be validated before any use.
    package var mustValidate = false
    /// The tags that the request had, for removal.
    package var tags: Set<String> = []
    /// The statements of the fields about caching.
    package private(set) var reading: ResponseReading

    /// Makes the head of a response.
    ///
    /// - Parameters:
    ///   - status: Its status.
    ///   - headers: Its fields.
    ///   - times: When it was received.
    ///   - extent: How much of its body is stored.
    ///   - reading: The statements of the fields, where they are known.
    package init(
        status: Response.Status,
        headers: Headers,
        times: ExchangeTimes,
        extent: Extent = .whole(0),
        reading: ResponseReading? = nil
    ) {
        self.status = status
        self.headers = headers
        self.times = times
        self.extent = extent
        self.reading = reading ?? ResponseReading(headers, received: times.received.date)
    }

    /// Takes the fields and the times of a later exchange.
    package mutating func renew(_ headers: Headers, _ times: ExchangeTimes) {
        self.times = times
        self.headers = headers
    }

    /// The length of the whole body.
    package var length: Int64 {
        switch extent {
        case .whole(let length): length
        case .parts(_, let total): total
        }
    }

    /// Whether the body is stored whole.
    package var isWhole: Bool { if case .whole = extent { true } else { false } }

    /// How many bytes from the beginning are stored without a gap.
    package var prefixLength: Int64 {
        switch extent {
        case .whole(let length): length
        case .parts(let spans, _): spans.first?.lowerBound == 0 ? spans[0].upperBound : 0
        }
    }

    /// Whether the bytes of a range are stored.
    package func contains(_ span: Range<Int64>) -> Bool {
        switch extent {
        case .whole(let length): span.upperBound <= length
        case .parts(let spans, _):
            spans.contains { $0.lowerBound <= span.lowerBound && span.upperBound <= $0.upperBound }
        }
    }

    /// The moment that the server states for the response, otherwise the moment of its arrival.
    package var dateOrReceived: Date { reading.date ?? times.received.date }

    /// About how many bytes the head takes, for limits.
    package var cost: Int {
        let values = selecting.reduce(0) { sum, value in
            let size =
                switch value.form {
                case .absent, .authorised: 0
                case .value(let bytes), .digest(let bytes): bytes.count
                }
            return sum + value.name.utf8.count + size
        }
        return (headers.size + trailers.size + values) + tags.reduce(0) { $0 + $1.utf8.count }
    }
}

extension Headers {
    /// The bytes of the section as HTTP/1.1 writes it.
    package var size: Int {
        reduce(0) { $0 + $1.name.utf8.count + ($1.unusualOctets?.count ?? $1.value.utf8.count) + 4 }
    }

    /// The fields for which a condition holds, byte for byte.
    package func keeping(_ isKept: (Field) -> Bool) -> Headers {
        let kept = filter(isKept)
        return kept.count == count ? self : Headers(checked: kept)
    }
}
