#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The state that a call passes to later calls of the same session: header fields, credentials and cookies.
struct SessionFile: Sendable {
    let file: PrivateFile
    /// The origin of the session; its fields and cookies are sent to no other.
    let origin: String
    /// The header fields, in the order in which they are sent.
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

    /// Opens a session by its name, or by a path if the name contains a slash; a new session is empty.
    ///
    /// - Throws: A local error that names the file when it is damaged or not private, a usage error for an invalid
    ///   name.
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
            // Hosts contain no slash; the colons of an IPv6 address are allowed in file names.
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

    /// Validates the name of a session before any file is opened.
    ///
    /// - Throws: A usage error for a name that is not a valid file name.
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

    // These fields belong to one request, not to a session.
    private static let passing = [
        "content-", "if-", "range", "cookie", "host", "transfer-encoding", "expect", "connection", "te", "trailer",
    ]

    /// Takes over the fields and credentials of this call.
    ///
    /// - Parameters:
    ///   - edits: The changes to header fields in the order of the arguments.
    ///   - authorization: The credentials made from a user name and password.
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
