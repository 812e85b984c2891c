/// The names of header fields and query items whose values are credentials.
///
/// One rule for both, so that what is redacted in one place is redacted everywhere, and is also removed when a redirect
/// leaves the origin. Names are compared without case; `_` and `.` count as `-`, and brackets (`user[password]`) are
/// skipped.
package enum CredentialNames {
    /// Whether the name is the name of a credential.
    package static func contains(_ name: some StringProtocol) -> Bool {
        let bytes = plain(name)
        let hasSuffix = suffixes.contains { suffix in
            bytes.count >= suffix.count && bytes.last == suffix.last
                && bytes[(bytes.count - suffix.count)...].elementsEqual(suffix)
        }
        let name = String(decoding: bytes, as: UTF8.self)
        return hasSuffix ? !exceptions.contains(name) : exact.contains(name)
    }

    /// The same for a field, without a copy of the names that nearly every request has.
    package static func contains(field name: String) -> Bool {
        !plainNames.contains(where: name.equalsIgnoringASCIICase) && contains(name)
    }

    private static func plain(_ name: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "_"), UInt8(ascii: "."): bytes.append(UInt8(ascii: "-"))
            case UInt8(ascii: "["), UInt8(ascii: "]"): break
            default: bytes.append(byte.lowercasedASCII)
            }
        }
        return bytes
    }

    private static let plainNames = [
        "Accept", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age", "Cache-Control", "Connection",
        "Content-Encoding", "Content-Length", "Content-Type", "Date", "ETag", "Expires", "Host", "If-None-Match",
        "Last-Modified", "Location", "Range", "Server", "Transfer-Encoding", "User-Agent", "Vary",
    ]

    /// Endings of names that carry credentials: `X-Vault-Token`, `client_secret`, `Ocp-Apim-Subscription-Key`.
    private static let suffixes = [
        "token", "secret", "password", "passwd", "passphrase", "signature", "credential", "credentials", "apikey",
        "accesskey", "-key", "authorization", "-auth", "-jwt", "-assertion", "sessionid", "session-id", "-session",
    ].map { Array($0.utf8) }

    /// Names that have one of those endings and carry no credential.
    private static let exceptions: Set<String> = [
        "cache-key", "idempotency-key", "partition-key", "sec-websocket-key", "sort-key", "surrogate-key",
        "x-idempotency-key",
    ]

    private static let exact: Set<String> = [
        // Header fields.
        "authentication-info", "cookie", "cookie2", "dpop", "proxy-authentication-info", "set-cookie", "set-cookie2",
        "x-amz-credential", "x-authentication-provider", "x-hub-signature-256", "x-ms-client-principal",
        // Query items.
        "api-key", "assertion", "auth", "client-assertion", "code", "hdnea", "hdnts", "jwt", "key", "pass", "pwd",
        "session", "sid", "sig",
        // Both.
        "x-auth", "x-session",
    ]
}
