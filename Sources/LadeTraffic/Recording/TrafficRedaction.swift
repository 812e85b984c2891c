#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Removes the secrets of one exchange by the rules of logs and events; bodies have rules in addition.
struct TrafficRedaction {
    private let rule: Redaction
    private let isOfTokens: Bool
    /// Whether the request or the response has a secret of which the rules know.
    let hasSecrets: Bool

    init(_ request: Request, _ response: Response?) {
        var secrets = Redaction.secrets(of: request).map { $0.reveal() }
        for value in response?.headers.all("Set-Cookie") ?? [] {
            let pair = value.utf8.prefix { $0 != UInt8(ascii: ";") }
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let secret = String(decoding: pair[equals...].dropFirst(), as: UTF8.self)
            if secret.utf8.count >= 8 { secrets.append(secret) }
        }
        let hasRule = !secrets.isEmpty || !request.secretQueryNames.isEmpty
        rule = hasRule ? Redaction(names: request.secretQueryNames, values: secrets) : .standard
        hasSecrets = !secrets.isEmpty
        isOfTokens = request.method == .post && Self.isForTokens(request)
    }

    private static func isForTokens(_ request: Request) -> Bool {
        if case .bytes(let bytes) = request.body?.content,
            bytes.prefix(64 << 10).firstRange(of: Data("grant_type".utf8)) != nil
        {
            return true
        }
        let path = request.url.path(percentEncoded: true).asciiLowercased
        return path.utf8.suffix(5).elementsEqual("token".utf8)
    }

    func address(_ address: String) -> String { rule.address(address) }

    func value(of field: Headers.Field) -> String { rule.value(of: field) }

    /// A body without known secrets, and without the values of names that are secrets in forms and JSON.
    func body(_ bytes: Data, type: String, isRequest: Bool) -> Data {
        guard !bytes.isEmpty else { return bytes }
        let type = type.asciiLowercased
        var result = Array(bytes)
        if type.utf8.starts(with: "application/x-www-form-urlencoded".utf8) {
            let form = rule.text("?" + String(decoding: result, as: UTF8.self))
            result = Array(form.utf8.dropFirst())
        } else if Self.isJSON(type, result) {
            result = JSONRedaction(result, isSecret: isSecret).redacted
        }
        return Data(rule.maskingValues(result))
    }

    private static func isJSON(_ type: String, _ bytes: [UInt8]) -> Bool {
        if type.utf8.firstRange(of: "json".utf8) != nil { return true }
        // Token endpoints do not always name the type.
        let first = bytes.first { $0 > 0x20 }
        return (type.isEmpty || type.utf8.starts(with: "text/plain".utf8))
            && (first == UInt8(ascii: "{") || first == UInt8(ascii: "["))
    }

    /// Whether a member of JSON is a secret.
    ///
    /// Only what can be nothing else is, so that cursors such as `nextPageToken` stay. In exchanges with a token endpoint every
    /// name counts that counts in a query.
    private func isSecret(_ name: String) -> Bool {
        let plain = String(decoding: name.asciiLowercased.utf8.filter { $0 != 0x5F && $0 != 0x2D }, as: UTF8.self)
        return Self.names.contains(plain) || isOfTokens && rule.isSecret(name)
    }

    private static let names: Set<String> = [
        "accesstoken", "apikey", "authtoken", "bearertoken", "clientassertion", "clientsecret", "devicecode", "idtoken",
        "passphrase", "passwd", "password", "privatekey", "refreshtoken", "secret", "sessiontoken", "token",
    ]
}

/// Replaces the values of secret members in a JSON text, which may be cut or wrong.
private struct JSONRedaction {
    private let text: [UInt8]
    private let isSecret: (String) -> Bool

    init(_ text: [UInt8], isSecret: @escaping (String) -> Bool) {
        self.text = text
        self.isSecret = isSecret
    }

    var redacted: [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        var position = 0
        while position < text.count {
            guard text[position] == UInt8(ascii: "\"") else {
                position += 1
                continue
            }
            let end = endOfString(position)
            var next = skippingSpace(end)
            guard next < text.count, text[next] == UInt8(ascii: ":") else {
                position = end
                continue
            }
            let name = String(decoding: text[(position + 1)..<max(position + 1, end - 1)], as: UTF8.self)
            position = next + 1
            guard isSecret(name) else { continue }
            next = skippingSpace(next + 1)
            guard next < text.count, let valueEnd = endOfScalar(next) else { continue }
            result += text[copied..<next]
            result += Array("\"\(Redaction.mark)\"".utf8)
            (copied, position) = (valueEnd, valueEnd)
        }
        return copied == 0 ? text : result + text[copied...]
    }

    private func skippingSpace(_ start: Int) -> Int {
        var position = start
        while position < text.count, text[position] <= 0x20 { position += 1 }
        return position
    }

    /// The position behind a string; the end of the text when it is not closed.
    private func endOfString(_ start: Int) -> Int {
        var position = start + 1
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\\"): position += 2
            case UInt8(ascii: "\""): return position + 1
            default: position += 1
            }
        }
        return text.count
    }

    /// The position behind a string or a number; nil for any other value, whose members count by themselves.
    private func endOfScalar(_ start: Int) -> Int? {
        switch text[start] {
        case UInt8(ascii: "\""): return endOfString(start)
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            var position = start
            while position < text.count, text[position] > 0x20, !",}]".utf8.contains(text[position]) { position += 1 }
            return position
        default: return nil
        }
    }
}
