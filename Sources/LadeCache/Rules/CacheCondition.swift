package import LadeCore

/// The condition by which a server is asked whether stored responses are current (RFC 9111 §4.3.1).
package struct CacheCondition: Sendable, Hashable {
    /// The stored responses, in the order of their tags.
    package var ids: [UInt64] = []
    /// The tags, as they were received.
    package var entityTags: [EntityTag] = []
    /// `Last-Modified`, as it was received.
    package var modifiedSince: Headers.Field?

    /// Makes an empty condition.
    package init() {}

    /// Whether there is nothing to ask with.
    package var isEmpty: Bool { entityTags.isEmpty && modifiedSince == nil }

    /// The fields of a request with the condition added.
    package func adding(to headers: Headers) -> Headers {
        var fields = Array(headers)
        if !entityTags.isEmpty {
            let octets = Array(entityTags.map(\.octets).joined(separator: ", ".utf8))
            let text = entityTags.map(\.field.value).joined(separator: ", ")
            let isUnusual = entityTags.contains { $0.field.unusualOctets != nil }
            fields.append(.init(uncheckedName: "If-None-Match", value: text, octets: isUnusual ? octets : nil))
        }
        if let modifiedSince {
            fields.append(
                .init(
                    uncheckedName: "If-Modified-Since",
                    value: modifiedSince.value,
                    octets: modifiedSince.unusualOctets
                )
            )
        }
        return Headers(checked: fields)
    }
}
