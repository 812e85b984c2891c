#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Reads and writes cookies as lines of seven fields, the format of Netscape that curl and wget also use.
enum CookieText {
    private static let httpOnlyMark = "#HttpOnly_"

    /// Parses the cookies in a text; nil when a line is malformed.
    static func cookies(_ text: String) -> [Cookie]? {
        var cookies: [Cookie] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let isHTTPOnly = line.hasPrefix(httpOnlyMark)
            if line.hasPrefix("#"), !isHTTPOnly { continue }
            let content = isHTTPOnly ? line.dropFirst(httpOnlyMark.count) : line
            let fields = content.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 7, let end = Int64(fields[4]), !fields[0].isEmpty else { return nil }
            var cookie = Cookie(
                name: fields[5],
                value: Secret(fields[6]),
                domain: String(fields[0].drop { $0 == "." }),
                isHostOnly: fields[1] != "TRUE",
                path: fields[2],
                expires: end == 0 ? nil : Date(timeIntervalSince1970: Double(end)),
                isSecure: fields[3] == "TRUE"
            )
            cookie.isHTTPOnly = isHTTPOnly
            cookies.append(cookie)
        }
        return cookies
    }

    /// The text of the cookies, without those that the format cannot represent.
    static func text(_ cookies: [Cookie]) -> String {
        var text = "# Netscape HTTP Cookie File\n# Written by lade; it holds secrets.\n\n"
        for cookie in cookies {
            let end = cookie.expires.map { Int64($0.timeIntervalSince1970.rounded(.up)) } ?? 0
            let fields = [
                (cookie.isHostOnly ? "" : ".") + cookie.domain, cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE", String(max(0, end)), cookie.name, cookie.value.reveal(),
            ]
            guard fields.allSatisfy({ !$0.contains { $0 == "\t" || $0.isNewline } }) else { continue }
            text += (cookie.isHTTPOnly ? httpOnlyMark : "") + fields.joined(separator: "\t") + "\n"
        }
        return text
    }
}
