#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Reads and writes cookies as lines of seven fields, the format of Netscape that curl and wget also use.
///
/// Names and values are octets, and stay as they are.
enum CookieText {
    /// The contents of a file.
    struct Contents {
        var cookies: [Cookie] = []
        /// The numbers of the lines that are neither cookies nor comments.
        var oddLines: [Int] = []
        /// Whether nothing in the file belongs to the format.
        var isForeign = false
    }

    private static let httpOnlyMark = Array("#HttpOnly_".utf8)

    /// Parses the lines of a file; a line that is not a cookie is skipped.
    static func contents(_ bytes: some Sequence<UInt8>) -> Contents {
        var contents = Contents()
        var hasComment = false
        for (index, line) in TextLines(bytes).enumerated() {
            let isHTTPOnly = line.starts(with: httpOnlyMark)
            if line.first == UInt8(ascii: "#"), !isHTTPOnly {
                hasComment = true
            } else if let cookie = cookie(isHTTPOnly ? line.dropFirst(httpOnlyMark.count) : line, isHTTPOnly) {
                contents.cookies.append(cookie)
            } else if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
                contents.oddLines.append(index + 1)
            }
        }
        contents.isForeign = contents.cookies.isEmpty && !hasComment && !contents.oddLines.isEmpty
        return contents
    }

    private static func cookie(_ line: ArraySlice<UInt8>, _ isHTTPOnly: Bool) -> Cookie? {
        var fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
        // A cookie without a value may end with its name.
        if fields.count == 6 { fields.append([]) }
        guard fields.count == 7, line.allSatisfy(\.isFieldContent),
            let texts = fields[..<5].textsInUTF8, let end = seconds(texts[4])
        else { return nil }
        let domain = String(texts[0].utf8.drop { $0 == UInt8(ascii: ".") }) ?? ""
        guard !domain.isEmpty else { return nil }
        var cookie = Cookie(
            name: "",
            value: "",
            domain: domain,
            isHostOnly: !texts[1].equalsIgnoringASCIICase("TRUE"),
            path: texts[2],
            expires: end == 0 ? nil : Date(timeIntervalSince1970: Double(end)),
            isSecure: texts[3].equalsIgnoringASCIICase("TRUE")
        )
        cookie.octets = (Array(fields[5]), Array(fields[6]))
        cookie.isHTTPOnly = isHTTPOnly
        return cookie
    }

    /// The whole seconds of a date; some tools write parts of them, too.
    private static func seconds(_ text: String) -> Int64? {
        let (whole, rest) = text.cut(at: ".").map { (String($0.before), $0.after) } ?? (text, "")
        guard rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(whole)
    }

    /// The lines of the cookies, without those that the format cannot represent.
    static func text(_ cookies: [Cookie]) -> Data {
        var text = Data("# Netscape HTTP Cookie File\n# Written by lade; it holds secrets.\n\n".utf8)
        for cookie in cookies {
            let end = cookie.expires.map { Int64($0.timeIntervalSince1970.rounded(.up)) } ?? 0
            // No other host is below an address.
            let isHostOnly = cookie.isHostOnly || NormalHost(cookie.domain)?.isAddress == true
            let texts = [
                (isHostOnly ? "" : ".") + cookie.domain, isHostOnly ? "FALSE" : "TRUE", cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE", String(max(0, end)),
            ]
            let fields = texts.map { Array($0.utf8) } + [cookie.octets.name, cookie.octets.value]
            guard fields.allSatisfy({ $0.allSatisfy { $0 != 0x09 && $0.isFieldContent } }) else { continue }
            text += (cookie.isHTTPOnly ? httpOnlyMark : []) + fields.joined(separator: [0x09]) + [0x0A]
        }
        return text
    }
}

extension ArraySlice where Element == ArraySlice<UInt8> {
    /// The texts of the fields; nil when one is no UTF-8.
    fileprivate var textsInUTF8: [String]? {
        let texts = compactMap { String(validating: $0, as: UTF8.self) }
        return texts.count == count ? texts : nil
    }
}
