import Lade

/// Colours for the lines before a body.
enum HeadColour {
    private static let end = "\u{1B}[0m"

    /// Heads with their status lines and field names in colour; the line after an empty one is a status line.
    static func heads(_ text: String) -> String {
        var isFirst = true
        return text.parts(at: "\n").map { part in
            let line = String(part)
            defer { isFirst = line.utf8.allSatisfy { $0 == 0x0D } }
            guard isFirst, !line.isEmpty else { return field(line) }
            let code = line.utf8.drop { $0 != 0x20 }.dropFirst().prefix(3)
            return status(line, Response.Status(Int(String(decoding: code, as: UTF8.self)) ?? 0))
        }.joined(separator: "\n")
    }

    /// A status line in the colour of its class.
    static func status(_ line: String, _ status: Response.Status) -> String {
        let colour =
            switch status.statusClass {
            case .informational: "36"
            case .successful: "32"
            case .redirection: "33"
            case .clientError: "31"
            case .serverError, nil: "31;1"
            }
        return "\u{1B}[\(colour)m\(line)\(end)"
    }

    /// A header field with its name in colour.
    static func field(_ line: String) -> String {
        let (name, rest) = line.halves { $0 == ":" }
        return rest.isEmpty ? line : "\u{1B}[36m\(name)\(end)\(rest)"
    }
}
