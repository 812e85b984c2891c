#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The values of a call that must not be shown: one rule for addresses, header fields, events, errors and logs.
///
/// It removes the values of query items with secret names from a text, and the user names and passwords of addresses.
/// It also removes every occurrence of a known secret of the call, even where a server sends it back.
package struct Redaction: Sendable {
    /// The text shown in place of a secret.
    package static let mark = "<redacted>"
    /// The rule that uses names only.
    package static let standard = Redaction(names: [], values: [])
    /// Shorter secrets are not searched for, because they would occur in ordinary words.
    private static let leastLength = 6

    private let names: Set<String>
    // In lower case, and longest first. So if one secret contains another, no part of it remains.
    private let values: [[UInt8]]

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - names: Names of query items and header fields that carry secrets, beside those of ``CredentialNames``.
    ///   - values: Secrets to search for.
    ///   - leastLength: The minimum length in bytes of a secret to be searched for.
    package init(names: some Sequence<String>, values: some Sequence<String>, leastLength: Int = Redaction.leastLength)
    {
        self.names = Set(names.map(\.asciiLowercased))
        var forms: Set<[UInt8]> = []
        for value in values where value.utf8.count >= leastLength {
            for form in Self.forms(of: value) { forms.insert(form.map(\.lowercasedASCII)) }
        }
        self.values = forms.sorted { ($1.count, $0.first ?? 0) < ($0.count, $1.first ?? 0) }
    }

    /// Whether the value of a query item or header field of that name is a secret.
    package func isSecret(_ name: String) -> Bool {
        CredentialNames.contains(name) || names.contains(name.asciiLowercased)
    }

    /// The text without secrets: query items, user names in addresses, and known values.
    package func text(_ text: String) -> String {
        guard mayChange(text) else { return text }
        return String(decoding: masked(scrubbed(Array(text.utf8))), as: UTF8.self)
    }

    /// The text without known values.
    ///
    /// Names are not considered, for texts that are encoded already.
    package func maskingValues(_ text: String) -> String {
        String(decoding: masked(Array(text.utf8)), as: UTF8.self)
    }

    /// The bytes without known values; all other bytes stay as they are.
    package func maskingValues(_ bytes: [UInt8]) -> [UInt8] { masked(bytes) }

    /// The address without user name, password, fragment and secrets; it need not be valid.
    package func address(_ address: String) -> String {
        guard mayChange(address) else { return address }
        return text(String(address.utf8.prefix { $0 != UInt8(ascii: "#") }) ?? "")
    }

    /// An invalid text given as an address: everything up to its last `@` may be a user name and a password.
    package func unparsable(_ address: String) -> String {
        guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return self.address(address) }
        let scheme = address.utf8.firstRange(of: "://".utf8).map { String(address[..<$0.upperBound]) } ?? ""
        return self.address(scheme + address[address.utf8.index(after: at)...])
    }

    /// The value of a header field without secrets.
    package func value(of field: Headers.Field) -> String {
        guard !field.carriesCredentials, names.isEmpty || !names.contains(field.name.asciiLowercased) else {
            return Self.mark
        }
        return Self.addressNames.contains(where: field.name.equalsIgnoringASCIICase)
            ? address(field.value) : text(field.value)
    }

    /// The fields with their secrets replaced; the same list when there are no secrets.
    package func headers(_ headers: Headers) -> Headers {
        // Most lists have no secret, and are not made again.
        guard headers.contains(where: { !value(of: $0).isSpelled(like: $0.value) }) else { return headers }
        var redacted = Headers()
        for field in headers { redacted.add(field.name, value(of: field)) }
        return redacted
    }

    /// A field line that could not be parsed.
    ///
    /// Unless it is a framing field, only the text in the position of its name remains.
    package static func malformedField(_ line: String) -> String {
        let name = line.utf8.prefix { $0 != UInt8(ascii: ":") && $0 != 0x20 && $0 != 0x09 }
        let end = line.utf8[name.endIndex...].prefix { $0 == UInt8(ascii: ":") || $0 == 0x20 || $0 == 0x09 }.endIndex
        let isFraming = framingNames.contains { $0.equalsIgnoringASCIICase(String(name) ?? "") }
        return isFraming || end == line.endIndex ? line : line[..<end] + mark
    }

    /// A line that is not a field.
    ///
    /// It is redacted if it looks like a field with a secret.
    package func line(_ line: String) -> String {
        let name = line.utf8.prefix { $0 != UInt8(ascii: ":") && $0 != 0x20 && $0 != 0x09 }
        return isSecret(String(name) ?? "") ? Self.malformedField(line) : text(line)
    }

    private static let framingNames = [
        "Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Upgrade",
    ]
    private static let addressNames = ["Location", "Content-Location", "Referer"]

    /// Whether a text may have something to hide; false for most texts, which stay as they are.
    ///
    /// Without a query, a fragment and the end of a user name nothing is a secret but the known values.
    private func mayChange(_ text: String) -> Bool {
        func isMark(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "@")
        }
        guard values.isEmpty else { return true }
        return text.utf8.withContiguousStorageIfAvailable { $0.contains(where: isMark) }
            ?? text.utf8.contains(where: isMark)
    }

    // MARK: - Names

    /// Replaces the text after `name=` for secret names in anything that looks like a query, and removes the text
    /// between `://` and `@`.
    private func scrubbed(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        // The bytes before this position are in the result, or were secrets.
        var copied = 0
        var position = 0
        var isInQuery = false
        // By index, because slices and searches are many times slower in builds without optimisation.
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "?"), UInt8(ascii: "#"): isInQuery = true
            case UInt8(ascii: "&"), UInt8(ascii: ";"): break
            case UInt8(ascii: ":") where Self.isAuthority(at: position, in: text):
                position += 2
                isInQuery = false
                guard let at = Self.endOfUserInformation(at: position, in: text) else { continue }
                result += text[copied..<position]
                position = at + 1
                copied = position
            case _ where byte.endsAddress: isInQuery = false
            default: continue
            }
            guard isInQuery else { continue }
            var nameEnd = position
            while nameEnd < text.count, !text[nameEnd].endsItem, text[nameEnd] != UInt8(ascii: "=") { nameEnd += 1 }
            guard nameEnd > position, nameEnd < text.count, text[nameEnd] == UInt8(ascii: "=") else { continue }
            let name = String(decoding: text[position..<nameEnd], as: UTF8.self).percentDecodedBytes
            guard isSecret(String(decoding: name, as: UTF8.self)) else { continue }
            result += text[copied...nameEnd] + Self.mark.utf8
            position = nameEnd + 1
            if text[position...].starts(with: Self.mark.utf8) {
                // The text has been redacted already.
                position += Self.mark.utf8.count
            } else {
                while position < text.count, !text[position].endsValue { position += 1 }
            }
            copied = position
        }
        return copied == 0 ? text : result + text[copied...]
    }

    /// Whether the bytes at a position that follows a colon begin an authority.
    private static func isAuthority(at position: Int, in text: [UInt8]) -> Bool {
        position + 1 < text.count && text[position] == UInt8(ascii: "/") && text[position + 1] == UInt8(ascii: "/")
    }

    /// The position of the last `@` of the authority that begins at a position.
    private static func endOfUserInformation(at start: Int, in text: [UInt8]) -> Int? {
        var at: Int?
        var position = start
        while position < text.count, !text[position].endsAuthority {
            if text[position] == UInt8(ascii: "@") { at = position }
            position += 1
        }
        return at
    }

    // MARK: - Values

    /// The text without known values, in whatever case the letters are.
    private func masked(_ text: [UInt8]) -> [UInt8] {
        guard !values.isEmpty else { return text }
        var result = text
        var lowered = text.map(\.lowercasedASCII)
        for value in values {
            guard let replaced = Self.replacing(value, in: result, lowered) else { continue }
            result = replaced
            lowered = replaced.map(\.lowercasedASCII)
        }
        return result
    }

    /// The text without a value; nil when the value does not occur.
    private static func replacing(_ value: [UInt8], in text: [UInt8], _ lowered: [UInt8]) -> [UInt8]? {
        guard let first = value.first, text.count >= value.count else { return nil }
        var result: [UInt8] = []
        var copied = 0
        var position = 0
        while position + value.count <= text.count {
            guard lowered[position] == first, lowered[position..<(position + value.count)].elementsEqual(value) else {
                position += 1
                continue
            }
            result += text[copied..<position] + mark.utf8
            position += value.count
            copied = position
        }
        return copied == 0 ? nil : result + text[copied...]
    }

    /// The spellings in which a server may repeat a secret: as it is, percent-encoded and decoded, as a JSON string, in
    /// hexadecimal, and in Base64.
    private static func forms(of value: String) -> [[UInt8]] {
        let bytes = Array(value.utf8)
        let isEscapedInJSON: (UInt8) -> Bool = { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        var forms = [bytes, value.percentDecodedBytes, Array(value.utf8).percentEncoded(where: \.isUnreserved)]
        forms.append(bytes.flatMap { isEscapedInJSON($0) ? [UInt8(ascii: "\\"), $0] : [$0] })
        forms.append(bytes.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] })
        forms.append(bytes.flatMap { [hexadecimal[Int($0 >> 4)], hexadecimal[Int($0 & 15)]] })
        // Within a longer text, such as `user:secret`, the secret begins at one of three places of a group of bytes. Only
        // the letters that depend on nothing else are searched for.
        for skipped in 0..<3 {
            let letters = Array((Data(count: skipped) + bytes).base64EncodedString().utf8)
            let first = (skipped * 8 + 5) / 6
            let end = (skipped + bytes.count) * 8 / 6
            guard end - first >= leastLength else { continue }
            let form = Array(letters[first..<end])
            forms.append(form)
            // The alphabet for addresses (RFC 4648 §5).
            forms.append(
                form.map {
                    switch $0 {
                    case UInt8(ascii: "+"): UInt8(ascii: "-")
                    case UInt8(ascii: "/"): UInt8(ascii: "_")
                    default: $0
                    }
                }
            )
        }
        return forms
    }

    private static let hexadecimal = Array("0123456789abcdef".utf8)

}

// MARK: - The secrets of a request

extension Redaction {
    /// The rule for a request and its response: the declared names and values, and the secrets in the request.
    package init(_ request: Request) {
        let secrets = Self.secrets(of: request)
        guard !secrets.isEmpty || !request.secretQueryNames.isEmpty else {
            self = .standard
            return
        }
        self.init(names: request.secretQueryNames, values: secrets.map { $0.reveal() })
    }

    /// The secrets that a request declares or carries.
    package static func secrets(of request: Request) -> [Secret] {
        var found: [String] = []
        let address = request.url.absoluteString
        // Most addresses have neither a query nor a user.
        if Self.standard.mayChange(address) {
            found = Redaction(names: request.secretQueryNames, values: []).secrets(of: address)
        }
        for field in request.headers where field.carriesCredentials { found += secrets(of: field) }
        return request.secretValues + found.filter { $0.utf8.count >= leastLength }.map { Secret($0) }
    }

    /// The secrets in the user information and the secret query items of an address.
    private func secrets(of address: String) -> [String] {
        var found: [String] = []
        let bytes = Array(address.utf8)
        if AddressParts(address).hasUserInformation, let start = bytes.firstRange(of: Array("://".utf8))?.upperBound {
            let authority = bytes[start...].prefix { !$0.endsAuthority }
            let user = authority.prefix(upTo: authority.lastIndex(of: UInt8(ascii: "@")) ?? authority.startIndex)
            found += user.split(separator: UInt8(ascii: ":"), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
        }
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return found }
        for item in bytes[(mark + 1)...].split(whereSeparator: \.endsValue) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard parts.count == 2 else { continue }
            if isSecret(String(decoding: parts[0].percentDecodedBytes, as: UTF8.self)) { found.append(parts[1]) }
        }
        return found
    }

    /// The secrets of a field: its value, the text after a scheme, the password of Basic, the values of cookies.
    private static func secrets(of field: Headers.Field) -> [String] {
        if field.name.equalsIgnoringASCIICase("Cookie") {
            return field.value.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair in
                pair.firstIndex(of: UInt8(ascii: "=")).map { String(decoding: pair[$0...].dropFirst(), as: UTF8.self) }
            }.filter { $0.utf8.count >= 8 }
        }
        var found = [field.value]
        guard let space = field.value.utf8.firstIndex(of: 0x20) else { return found }
        let credentials = String(field.value[space...].utf8.drop { $0 == 0x20 }) ?? ""
        found.append(credentials)
        if let decoded = Data(base64Encoded: credentials), let colon = decoded.firstIndex(of: UInt8(ascii: ":")) {
            found.append(String(decoding: decoded[(colon + 1)...], as: UTF8.self))
        }
        return found
    }
}

extension UInt8 {
    /// Whether this byte ends an address in running text.
    fileprivate var endsAddress: Bool {
        switch self {
        case 0...0x20, 0x7F, UInt8(ascii: "<"), UInt8(ascii: ">"): true
        default: false
        }
    }

    /// Whether this byte ends the value of a query item.
    ///
    /// In doubt it does not.
    fileprivate var endsValue: Bool { endsAddress || self == UInt8(ascii: "&") || self == UInt8(ascii: "#") }

    /// Whether this byte ends the name of a query item, apart from `=`.
    fileprivate var endsItem: Bool { endsValue || self == UInt8(ascii: ";") || self == UInt8(ascii: "?") }

    /// Whether this byte ends host and port of an address.
    fileprivate var endsAuthority: Bool {
        endsAddress || self == UInt8(ascii: "/") || self == UInt8(ascii: "?") || self == UInt8(ascii: "#")
    }
}
