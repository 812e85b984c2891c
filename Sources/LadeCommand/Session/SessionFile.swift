#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// What one call leaves to the next of the same session: the header fields that were given, the credentials, the cookies.
struct SessionFile: Sendable {
    let file: PrivateFile
    /// Where its fields and cookies belong; they go nowhere else.
    let origin: String
    /// The fields, in the order in which they are sent.
    private(set) var fields: [(name: String, value: String)] = []
    private(set) var cookies: [Cookie] = []

    private struct Contents: Codable {
        struct Jar: Codable {
            var name: String
            var value: String
            var domain: String
            var hostOnly: Bool
            var path: String
            var expires: Double?
            var secure: Bool
            var httpOnly: Bool
        }

        var origin: String
        var headers: [[String]]
        var cookies: [Jar]
    }

    /// Opens the session of a name, or of a path when the name has a slash; empty when there is none yet.
    ///
    /// - Throws: A local error that names the file when it is damaged or not the user's alone, a usage error for a name
    ///   that is none.
    init(_ name: String, for origin: Origin) throws(CommandError) {
        self.origin = "\(origin.scheme)://\(origin.host):\(origin.port)"
        if name.contains("/") {
            file = PrivateFile(path: name, kind: "session file")
        } else {
            guard let folder = PrivateFile.folder else {
                throw .usage(
                    "--session: there is no home to keep it in",
                    advice: "Name a file: --session ./\(name).json."
                )
            }
            // Hosts have no slash; the colon of an IPv6 address is harmless.
            let path = "\(folder)/sessions/\(origin.host)_\(origin.port)/\(name).json"
            file = PrivateFile(path: path, kind: "session file")
        }
        guard let data = try file.read() else { return }
        guard let contents = try? JSONDecoder().decode(Contents.self, from: data),
            contents.headers.allSatisfy({ $0.count == 2 })
        else {
            throw file.refused("is damaged", "Remove it, or choose another name for the session.")
        }
        guard contents.origin == self.origin else {
            throw file.refused(
                "belongs to \(contents.origin.escapedForDisplay(limit: 200))",
                "Choose another file for this host."
            )
        }
        fields = contents.headers.map { ($0[0], $0[1]) }
        guard Headers(fields).fault == nil else {
            throw file.refused("is damaged", "Remove it, or choose another name for the session.")
        }
        cookies = contents.cookies.map { entry in
            var cookie = Cookie(
                name: entry.name,
                value: Secret(entry.value),
                domain: entry.domain,
                isHostOnly: entry.hostOnly,
                path: entry.path,
                expires: entry.expires.map(Date.init(timeIntervalSince1970:)),
                isSecure: entry.secure
            )
            cookie.isHTTPOnly = entry.httpOnly
            return cookie
        }
    }

    /// Checks the name of a session before any is opened.
    ///
    /// - Throws: A usage error for a name that would not be a file name.
    static func check(_ name: String) throws(CommandError) {
        let isPlain = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "._-".utf8.contains(byte)
        }
        guard name.contains("/") || (isPlain && !name.isEmpty && name.first != ".") else {
            throw .usage(
                "--session: “\(name)” is no name",
                advice: "Use letters, digits, dots and dashes, or a path with a slash."
            )
        }
    }

    // Fields that are of one request, not of a session.
    private static let passing = [
        "content-", "if-", "range", "cookie", "host", "transfer-encoding", "expect", "connection", "te", "trailer",
    ]

    /// Takes what was given to this call.
    ///
    /// - Parameters:
    ///   - edits: The fields as the user gave them.
    ///   - authorization: The credentials that were made of a user and a password.
    mutating func update(with edits: [HeaderEdit], authorization: String?) {
        var edits = edits
        if let authorization { edits.append(.set("Authorization", authorization)) }
        for edit in edits where !Self.passing.contains(where: edit.name.lowercased().hasPrefix) {
            fields.removeAll { $0.name.equalsIgnoringASCIICase(edit.name) }
        }
        for case .set(let name, let value) in edits where !Self.passing.contains(where: name.lowercased().hasPrefix) {
            fields.append((name, value))
        }
    }

    /// Writes the session.
    func save(_ jar: CookieJar) throws(CommandError) {
        let contents = Contents(
            origin: origin,
            headers: fields.map { [$0.name, $0.value] },
            cookies: jar.cookies.map { cookie in
                Contents.Jar(
                    name: cookie.name,
                    value: cookie.value.reveal(),
                    domain: cookie.domain,
                    hostOnly: cookie.isHostOnly,
                    path: cookie.path,
                    expires: cookie.expires?.timeIntervalSince1970,
                    secure: cookie.isSecure,
                    httpOnly: cookie.isHTTPOnly
                )
            }
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let data = try encoder.encode(contents)
            try file.write(data)
        } catch let error as CommandError {
            throw error
        } catch {
            throw file.refused("cannot be encoded")
        }
    }
}
