#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCache
package import LadeCore
import Testing

/// Requests and responses for the rules, at seconds after one start.
package struct RuleSamples {
    package static let start = Date(timeIntervalSince1970: 1_767_225_600)
    package static let digester = CacheDigester(key: Array("tests".utf8))

    package var rules = ResponseCache.Rules()

    package init() { rules.digester = Self.digester }

    package static func at(_ seconds: Double) -> Moment {
        Moment(
            date: start.addingTimeInterval(seconds),
            instant: Instant(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
        )
    }

    /// The date as HTTP writes it.
    package static func date(_ seconds: Double) -> String {
        Headers.HTTPDate(start.addingTimeInterval(seconds)).description
    }

    package static func address(_ text: String) throws -> CacheAddress {
        try #require(URL(string: text).flatMap(CacheAddress.init))
    }

    package static func key(_ url: String = "https://example.org/a", account: String = "me") throws -> CacheKey {
        let place = CachePlace(partition: "service", scope: .account(account), address: try address(url))
        return CacheKey(place, digester: digester)
    }

    package func query(
        _ method: Request.Method = .get,
        _ url: String = "https://example.org/a",
        _ headers: Headers = [:],
        mode: Request.CacheMode = .standard,
        at seconds: Double = 0
    ) throws -> CacheQuery {
        CacheQuery(method, key: try Self.key(url), headers: headers, mode: mode, now: Self.at(seconds))
    }

    /// A head that arrived at a second, with `Date` unless it is stated; an empty one stands for none.
    package func received(
        _ status: Response.Status = 200,
        _ headers: Headers = [:],
        sent: Headers = [:],
        from: Double? = nil,
        at seconds: Double = 0
    ) -> ReceivedHead {
        var fields = headers
        if fields["Date"] == "" {
            fields.remove("Date")
        } else if !fields.contains("Date") {
            fields.add("Date", Self.date(seconds))
        }
        let times = ExchangeTimes(requested: Self.at(from ?? seconds), received: Self.at(seconds))
        return ReceivedHead(status, fields, sent: sent, times: times)
    }

    /// The head as the rules store it.
    package func keep(
        _ headers: Headers,
        _ status: Response.Status = 200,
        request: Headers = [:],
        sent: Headers? = nil,
        url: String = "https://example.org/a",
        id: UInt64 = 1,
        from: Double? = nil,
        at seconds: Double = 0,
        length: Int64 = 10
    ) throws -> StoredHead {
        let query = try query(.get, url, request, at: seconds)
        let head = received(status, headers, sent: sent ?? request, from: from, at: seconds)
        let decision = rules.storage(query, head).decision
        var stored = try #require(decision.head, "\(headers) is not stored")
        stored.id = id
        if stored.isWhole { stored.extent = .whole(length) }
        return stored
    }

    /// The rule by which a request is decided.
    package func rule(
        _ stored: [StoredHead],
        _ headers: Headers = [:],
        url: String = "https://example.org/a",
        mode: Request.CacheMode = .standard,
        at seconds: Double
    ) throws -> Response.CacheRule {
        rules.decide(try query(.get, url, headers, mode: mode, at: seconds), stored).rule
    }

    /// The lifetime of a response in seconds.
    package func lifetime(_ head: StoredHead, _ url: String = "https://example.org/a") throws -> Duration {
        rules.lifetime(of: head, try Self.address(url)).0
    }

    /// The lifetime of a head that need not be worth storing.
    package func lifetime(
        _ headers: Headers,
        _ status: Response.Status = 200,
        _ url: String = "https://example.org/a"
    ) throws -> Duration {
        let received = received(status, headers)
        return try lifetime(StoredHead(status: status, headers: received.headers, times: received.times), url)
    }
}

extension CacheDecision {
    package var isServed: Bool {
        switch self {
        case .serve, .serveAndRevalidate: true
        default: false
        }
    }

    /// The condition that is sent.
    package var condition: CacheCondition? {
        switch self {
        case .validate(let condition), .serveAndRevalidate(_, let condition): condition
        default: nil
        }
    }
}

extension RandomSource {
    package func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package func chance(_ percent: Int) -> Bool { below(100) < percent }

    package func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
