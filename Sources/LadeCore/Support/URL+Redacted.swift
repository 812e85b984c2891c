#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension URL {
    /// The address without user name, password and fragment, and with the values of secret query items replaced.
    ///
    /// Errors and events carry this form. A query item is secret when its name is in `secretQueryNames` or is one of
    /// the names that commonly carry credentials (`token`, `access_token`, `api_key`, `signature` …), in any case.
    public func redacted(secretQueryNames: Set<String> = []) -> String {
        let whole = absoluteString
        let text = whole.prefix { $0 != "#" }
        let address = text.prefix { $0 != "?" }
        let base = Self.withoutUserInformation(address)
        guard address.endIndex < text.endIndex else { return base }
        let query = text[text.index(after: address.endIndex)...]
        let items = query.split(separator: "&", omittingEmptySubsequences: false).map { item -> String in
            guard let equals = item.firstIndex(of: "=") else { return String(item) }
            let written = String(item[..<equals])
            let name = String(decoding: written.percentDecodedBytes, as: UTF8.self)
            guard Self.isSecret(name) || secretQueryNames.contains(name) else { return String(item) }
            return written + "=<redacted>"
        }
        return base + "?" + items.joined(separator: "&")
    }

    private static func withoutUserInformation(_ text: Substring) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return String(text) }
        let start = text.index(colon, offsetBy: 3)
        let authority = text[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(text) }
        return String(text[..<start]) + String(text[text.index(after: at)...])
    }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return commonSecretNames.contains(name)
            || name.hasSuffix("token") || name.hasSuffix("secret") || name.hasSuffix("password")
            || name.hasSuffix("signature")
    }

    private static let commonSecretNames: Set<String> = [
        "api_key", "api-key", "apikey", "key", "auth", "authorization", "code", "credential", "passwd", "pwd", "sig",
        "session", "sessionid", "sid", "hdnts", "hdnea", "x-amz-credential", "client_assertion", "assertion", "jwt",
    ]
}
