#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The arguments that must not change for a journal to be continued: everything that determines the bytes of the
/// output.
struct HarvestArguments {
    /// Values that are shown when they differ.
    private(set) var shown: [String: String]
    /// Values that may be secret, of which the journal has digests with a key of its own.
    private var hidden: [String: String]
    /// The names of the values that are secrets of a sign-in, which may be renewed.
    private(set) var secretNames: Set<String>
    private let address: URL
    /// The names of the secret query items in the address.
    private let secretItems: [String]

    /// Fields that do not change the server's response, and fields that are new with each call.
    static let changing: Set<String> = [
        "accept-encoding", "baggage", "cache-control", "connection", "content-length", "expect", "idempotency-key",
        "keep-alive", "pragma", "priority", "request-id", "te", "traceparent", "tracestate", "user-agent",
        "x-correlation-id", "x-request-id", "x-trace-id",
    ]

    /// The name of the address, with the parts that are not shown.
    static let wholeAddress = "a secret in the url"

    init(_ harvest: Harvest, _ walk: PageWalk) {
        let request = harvest.request
        let address = walk.first.request.url
        shown = [
            "url": address.redacted(secretQueryNames: request.secretQueryNames),
            "method": request.method.rawValue,
            "items": harvest.format == .lines ? "lines" : harvest.items.description,
            "next": Pages.Rule.description(of: harvest.rules),
            "size": String(harvest.size),
            "duplicates": harvest.duplicates.rawValue,
        ]
        if let identity = harvest.identity { shown["identity"] = identity.description }
        if let total = harvest.total { shown["total"] = total.description }
        if let more = harvest.more { shown["more"] = more.description }
        let redaction = Redaction(names: request.secretQueryNames, values: [])
        self.address = address
        secretItems = address.queryItems.map(\.name).filter(redaction.isSecret)
        secretNames = Set(harvest.secrets.keys).union([Self.wholeAddress])
        hidden = harvest.circumstances.merging(harvest.secrets) { _, secret in secret }
        hidden[Self.wholeAddress] = address.absoluteString
        switch request.body?.content {
        // Several bodies would have the same repaired text.
        case .bytes(let bytes):
            hidden["body"] = String(validating: bytes, as: UTF8.self) ?? "base64 \(bytes.base64EncodedString())"
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
                if field.carriesCredentials || redaction.isSecret(name) { secretNames.insert("field \(name)") }
            }
        }
    }

    /// The part of a field that names the user to whom the server responds.
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
        Dictionary(uniqueKeysWithValues: hidden.map { ($0, Self.digest(of: $1, named: $0, key: key)) })
    }

    private static func digest(of value: String, named name: String, key: String) -> String {
        var hash = SHA256()
        hash.update(Array("\(key)\n\(name)\n\(value)".utf8))
        return hash.finish().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The address of a page with the present secrets in place of an earlier run's secrets.
    ///
    /// A query item with the name of a secret may be a cursor, such as `page_token`. So the items are replaced only when
    /// the digest of the earlier address shows that they are its secrets.
    func renewing(_ page: URL, digest: String?, key: String) -> URL {
        var earlier = address
        var renewed = page
        for name in secretItems {
            guard let before = page.queryValue(name), let now = address.queryValue(name) else { continue }
            earlier = earlier.settingQuery(name, before)
            renewed = renewed.settingQuery(name, now)
        }
        return Self.digest(of: earlier.absoluteString, named: Self.wholeAddress, key: key) == digest ? renewed : page
    }
}
