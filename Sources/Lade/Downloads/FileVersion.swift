#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The version of a file: which of its states, at which address.
///
/// A validator is unique among the versions of one resource (RFC 9110 §8.8.1): two addresses may use the same one for different
/// files. So the address that sent the response, behind all redirects, belongs to the version.
package struct FileVersion: Sendable, Hashable {
    /// The strong validator: an entity tag, or a date; empty when unknown.
    var validator = ""
    /// A digest of the address that sent the response; nil when unknown.
    var address: String?

    /// Makes a version.
    init(validator: String = "", address: String? = nil) {
        self.validator = validator
        self.address = address
    }

    /// The version that a response names; nil when it names none by a strong validator.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - now: The reference for dates with two-digit years.
    init?(of response: Response, now: Date) {
        guard let validator = response.strongValidator(now: now) else { return nil }
        self.init(validator: validator, address: Self.address(response.request.url))
    }

    /// Whether a response may be of this version: it does not name a different version.
    ///
    /// Everything that continues the bytes of an earlier response asks here.
    func isSame(in response: Response) -> Bool {
        if let address, address != Self.address(response.request.url) { return false }
        guard !validator.isEmpty else { return true }
        return switch response.headers.reading(field) {
        case .none: true
        case .one(let named): named.value.hasBytes(of: validator)
        case .contradiction: false
        }
    }

    /// Whether a response names this version.
    func isNamed(in response: Response) -> Bool {
        // Validators are compared octet by octet (RFC 9110 §8.8.3.2).
        !validator.isEmpty && response.headers.value(field)?.hasBytes(of: validator) ?? false
    }

    package static func == (left: FileVersion, right: FileVersion) -> Bool {
        left.validator.hasBytes(of: right.validator) && left.address == right.address
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(Array(validator.utf8))
        hasher.combine(address)
    }

    private var field: SingleField { validator.utf8.first == UInt8(ascii: "\"") ? .entityTag : .lastModified }

    /// A digest of an address without its fragment and signature.
    ///
    /// Files are compared by it, and a note that contains it reveals no secret of the address.
    ///
    /// A signature for a limited time is made anew for each request, and does not select another file.
    static func address(_ url: URL) -> String {
        let text = url.absoluteString.halves { $0 == "#" }.text
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return digest(text) }
        let pairs = text[text.utf8.index(after: mark)...].parts(at: "&")
        let names = Set(pairs.map(name(of:)))
        let isSigned = !names.isDisjoint(with: ["x-amz-signature", "x-goog-signature"])
        let isShared = ["sig", "sv", "se"].allSatisfy(names.contains)
        let kept = pairs.filter { pair in
            let name = name(of: pair)
            let isSignature = name.hasPrefix("x-amz-") || name.hasPrefix("x-goog-")
            return !(isSigned && isSignature || isShared && sharedAccess.contains(name))
        }
        return digest(text[..<mark] + "?" + kept.joined(separator: "&"))
    }

    private static func name(of pair: Substring) -> String { pair.halves { $0 == "=" }.text.asciiLowercased }

    private static func digest(_ text: some StringProtocol) -> String {
        SHA256.hash(Array(text.utf8)).hexadecimalText
    }

    /// The parameters of Azure's shared access signatures, without those that select something.
    private static let sharedAccess: Set<String> = [
        "sig", "sv", "se", "st", "sp", "spr", "sip", "skoid", "sktid", "skt", "ske", "sks", "skv", "jwt",
    ]
}

extension Response {
    /// Identifies this version of a file: a strong entity tag, or the date of its last change.
    ///
    /// The date counts only if the response was made at least a minute later. The file may have changed twice within a
    /// second, and the two dates may come from different clocks (RFC 9110 §8.8.2.2). Different values of a field name
    /// nothing.
    ///
    /// - Parameter now: The reference for dates with two-digit years.
    /// - Returns: The value for `If-Range`; nil when there is none.
    func strongValidator(now: Date) -> String? {
        guard !headers.contains("ETag") else {
            guard let tag = headers.value(.entityTag) else { return nil }
            let bytes = Array(tag.utf8)
            let isStrong = bytes.count > 1 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
            return isStrong && !bytes.dropFirst().dropLast().contains(UInt8(ascii: "\"")) ? tag : nil
        }
        // A malformed date is ignored.
        guard let field = headers.value(.lastModified), let changed = try? Headers.HTTPDate(field, now: now).date,
            let made = headers.date(now: now)
        else { return nil }
        return made.timeIntervalSince(changed) >= 60 ? field : nil
    }
}
