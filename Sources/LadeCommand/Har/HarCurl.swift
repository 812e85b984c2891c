#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTraffic

/// The request of an entry as a curl command line; what the recording redacted stays redacted.
enum HarCurl {
    /// The command line, in printable characters only.
    static func line(_ entry: HAREntry) -> String {
        let request = entry.request
        var words: [[UInt8]] = [Array("curl".utf8)]
        func add(_ texts: String...) { words += texts.map { Array($0.utf8) } }
        // Brackets and braces of an address have a meaning for curl.
        if request.url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { add("-g") }
        let body = request.content?.bytes
        let implied = body == nil ? "GET" : "POST"
        if request.method == "HEAD", body == nil {
            add("-I")
        } else if request.method != implied {
            add("-X", request.method)
        }
        add(request.url)
        let fields = request.headers.filter { !isOwn($0) }
        let decodes = fields.contains { $0.name.equalsIgnoringASCIICase("Accept-Encoding") }
        for field in fields where !field.name.equalsIgnoringASCIICase("Accept-Encoding") {
            add("-H", field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        // The fields that curl adds by itself and that the request did not have.
        for name in ["Accept", "User-Agent"] + (body == nil ? [] : ["Content-Type"])
        where !fields.contains(where: { $0.name.equalsIgnoringASCIICase(name) }) {
            if name == "Content-Type", let type = request.content?.type, !type.isEmpty {
                if type != "application/x-www-form-urlencoded" { add("-H", "Content-Type: \(type)") }
            } else {
                add("-H", "\(name):")
            }
        }
        if decodes { add("--compressed") }
        if let body {
            add("--data-raw")
            words.append(Array(body))
        }
        return words.map(ShellWords.quoted).joined(separator: " ")
    }

    /// Whether curl makes the field by itself: pseudo fields of HTTP/2, and those of the connection.
    private static func isOwn(_ field: HAREntry.Field) -> Bool {
        field.name.begins(with: ":")
            || ["Host", "Content-Length", "Connection", "Transfer-Encoding"].contains {
                field.name.equalsIgnoringASCIICase($0)
            }
    }
}
