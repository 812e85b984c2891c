import LadeCore

extension ResponseCache.NotStoredReason: Error {}

extension ResponseCache.NotStoredReason: CustomStringConvertible {
    /// One clause that says what is missing.
    public var description: String {
        switch self {
        case .nothing: "nothing is stored for the address"
        case .otherVariant: "only responses to other values of the varying fields are stored"
        case .stale(let duration): "the stored response has been stale for \(duration.shortText)"
        case .mustBeValidated(let rule): "the stored response must be validated first: \(rule.sentence)"
        case .incomplete: "only a part of the body is stored"
        case .notServed(let rule): "the request is not served from the cache: \(rule.sentence)"
        }
    }
}
