#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// What must not change for a journal to be continued: everything that determines the bytes of the output.
struct HarvestArguments {
    /// Values that are shown when they differ.
    private(set) var shown: [String: String]
    /// Values that may be secret, of which the journal has digests with a key of its own.
    private var hidden: [String: String]

    /// Fields that do not change what a server returns, and those that are new with each call.
    static let changing: Set<String> = [
        "accept-encoding", "baggage", "cache-control", "connection", "content-length", "expect", "idempotency-key",
        "keep-alive", "pragma", "priority", "request-id", "te", "traceparent", "tracestate", "user-agent",
        "x-correlation-id", "x-request-id", "x-trace-id",
    ]

    /// The name of the address with what is not shown of it.
    static let wholeAddress = "a secret in the url"

    init(_ harvest: Harvest, _ walk: PageWalk) {
        let request = harvest.request
        let address = walk.first.request.url
        shown = [
            "url": address.redacted(secretQueryNames: request.secretQueryNames),
            "method": request.method.rawValue,
            "items": harvest.format == .lines ? "lines" : harvest.items.description,
            "next": PageRule.description(of: harvest.rules),
            "size": String(harvest.size),
            "duplicates": harvest.duplicates.rawValue,
        ]
        if let identity = harvest.identity { shown["identity"] = identity.description }
        if let total = harvest.total { shown["total"] = total.description }
        if let more = harvest.more { shown["more"] = more.description }
        hidden = harvest.circumstances
        hidden[Self.wholeAddress] = address.absoluteString
        switch request.body?.content {
        case .bytes(let bytes): hidden["body"] = String(decoding: bytes, as: UTF8.self)
        case .file(let path, let offset): shown["body"] = "\(path) from \(offset)"
        default: break
        }
        if let destination = request.destination { hidden["destination"] = "\(destination)" }
        for field in request.headers {
            let name = field.name.asciiLowercased
            if ["accept", "accept-language"].contains(name) {
                shown[name] = field.value
            } else if !Self.changing.contains(name) {
                hidden["field \(name)", default: ""] += Self.identity(name, field.value) + "\n"
            }
        }
    }

    /// The part of a field that says for whom the server answers.
    private static func identity(_ name: String, _ value: String) -> String {
        let parts = value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard name == "authorization", parts.count == 2, Substring(parts[0]).asciiLowercased == "basic",
            let text = Data(base64Encoded: String(Substring(parts[1])))
        else { return value }
        // A password may be renewed.
        return "user " + String(decoding: text.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
    }

    /// The digests with a key.
    func digests(key: String) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: hidden.map { name, value in
                var hash = SHA256()
                hash.update(Array("\(key)\n\(name)\n\(value)".utf8))
                return (name, hash.finish().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
            }
        )
    }
}
