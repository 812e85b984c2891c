#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The state that a call passes to later calls of the same session: header fields, credentials and cookies.
///
/// Calls of one session may run at the same time. Each call changes only its own fields and cookies, and the cookies that its
/// responses set.
struct SessionFile: Sendable {
    let file: PrivateFile
    /// The origin of the session; its fields and cookies are sent to no other.
    let origin: String
    /// The origin as a value.
    let home: Origin
    /// The header fields, in the order in which they are sent.
    ///
    /// The cookies that the user gave are in a field `Cookie`.
    private(set) var fields: [Field] = []
    /// The cookies that servers set, the oldest first.
    private(set) var cookies: [Cookie] = []
    /// The refresh tokens that servers have put in the place of the user's.
    private var tokens: [KeptToken] = []
    /// The changes that this call makes to the fields.
    private var edits: [HeaderEdit] = []

    /// A header field of a session.
    typealias Field = (name: String, value: String)

    /// Opens a session by its name, or by a path if the name contains a slash; a new session is empty.
    ///
    /// - Throws: A local error that names the file when it is damaged or not private, a usage error for an invalid
    ///   name.
    init(_ name: String, for origin: Origin) throws(CommandError) {
        home = origin
        self.origin = "\(origin.scheme)://\(origin.host):\(origin.port)"
        if name.has("/") {
            file = PrivateFile(path: name, kind: "session file", trust: .secret)
        } else {
            guard let folder = PrivateFile.folder else {
                throw .usage(
                    "--session: there is no home to keep it in",
                    advice: "Name a file: --session ./\(name).json."
                )
            }
            // Hosts contain no slash; the colons of an IPv6 address are allowed in file names.
            let path = "\(folder)/sessions/\(origin.host)_\(origin.port)/\(name).json"
            file = PrivateFile(path: path, kind: "session file", trust: .secret)
        }
        (fields, cookies, tokens) = try state(of: try file.read())
    }

    private typealias State = (fields: [Field], cookies: [Cookie], tokens: [KeptToken])

    private func state(of data: Data?) throws(CommandError) -> State {
        // An empty file was just made by another call, in order to lock it.
        guard let data, !data.isEmpty else { return ([], [], []) }
        guard let contents = SessionContents(data) else {
            throw file.refused("is damaged", "Remove it, or choose another name for the session.")
        }
        guard contents.origin == origin else {
            throw file.refused(
                "belongs to \(contents.origin.escapedForDisplay(limit: 200))",
                "Choose another file for this host."
            )
        }
        return (contents.headers.map { ($0[0], $0[1]) }, contents.cookies.map(\.cookie), contents.tokens ?? [])
    }

    // MARK: - Refresh tokens

    /// The refresh token with which a server has replaced the user's; nil when it has not.
    ///
    /// - Parameters:
    ///   - client: The token endpoint and the client, as one text.
    ///   - given: The token of the user; nil to find any.
    /// - Returns: The newest token. A token that the user has not given before is a new sign-in, and has no newer token.
    func refreshToken(of client: String, inPlaceOf given: Secret?) -> Secret? {
        tokens.last { $0.client == client && (given == nil || $0.given == given.map(Self.digest)) }.map {
            Secret($0.token)
        }
    }

    /// Writes a refresh token that a server has put in the place of the user's, and leaves everything else as it is.
    ///
    /// - Parameters:
    ///   - token: The token of the server.
    ///   - client: The token endpoint and the client, as one text.
    ///   - given: The token that the user gave; nil when the session's token was used.
    /// - Throws: A local error that names the file.
    func keep(_ token: Secret, of client: String, inPlaceOf given: Secret?) throws(CommandError) {
        try file.update { (data) throws(CommandError) in
            let present = try state(of: data)
            let before = present.tokens.last { $0.client == client }
            let digest = given.map(Self.digest) ?? before?.given ?? ""
            let kept = KeptToken(client: client, given: digest, token: token.reveal())
            let contents = SessionContents(
                origin: origin,
                headers: present.fields.map { [$0.name, $0.value] },
                cookies: present.cookies.map(SessionContents.Entry.init),
                tokens: present.tokens.filter { $0.client != client } + [kept]
            )
            guard let (bytes, _) = contents.encoded(atMost: file.limit) else {
                throw file.refused(
                    "has no room for a refresh token",
                    "Remove it, or choose another name for the session."
                )
            }
            return bytes
        }
    }

    private static func digest(_ token: Secret) -> String { SHA256.hash(token.reveal().utf8).hexadecimalText }

    /// Validates the name of a session before any file is opened.
    ///
    /// - Throws: A usage error for a name that is not a valid file name.
    static func check(_ name: String) throws(CommandError) {
        let isPlain = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "._-".utf8.contains(byte)
        }
        guard name.has("/") || (isPlain && !name.isEmpty && !name.begins(with: ".")) else {
            throw .usage(
                "--session: “\(name.asArgument)” is no name",
                advice: "Use letters, digits, dots and dashes, or a path with a slash."
            )
        }
    }

    // These fields belong to one request, not to a session.
    private static let passing = [
        "content-", "if-", "range", "host", "transfer-encoding", "expect", "connection", "te", "trailer",
    ]

    private static func isKept(_ edit: HeaderEdit) -> Bool {
        !passing.contains(where: edit.name.lowercased().begins)
    }

    /// Takes over the fields, cookies and credentials of this call.
    ///
    /// - Parameters:
    ///   - edits: The changes to header fields in the order of the arguments. Cookies in a field `Cookie` replace kept cookies
    ///     of the same name.
    ///   - authorization: The credentials made from a user name and password.
    mutating func update(with edits: [HeaderEdit], authorization: String?) {
        var edits = edits.filter(Self.isKept)
        if let authorization { edits.append(.set("Authorization", authorization)) }
        self.edits += edits
        fields = Self.applying(edits, to: fields)
    }

    private static func applying(_ edits: [HeaderEdit], to fields: [Field]) -> [Field] {
        var result = fields
        let given = edits.filter { !$0.name.equalsIgnoringASCIICase("Cookie") }
        for edit in given { result.removeAll { $0.name.equalsIgnoringASCIICase(edit.name) } }
        for case .set(let name, let value) in given { result.append((name, value)) }
        for edit in edits where edit.name.equalsIgnoringASCIICase("Cookie") {
            let old = result.first { $0.name.equalsIgnoringASCIICase("Cookie") }?.value
            result.removeAll { $0.name.equalsIgnoringASCIICase("Cookie") }
            guard case .set(_, let value) = edit else { continue }
            result.append(("Cookie", CookiePairs.merging([old, value].compactMap(\.self))))
        }
        return result
    }

    /// Writes what this call has changed, and leaves everything else in the file as another call wrote it.
    ///
    /// - Parameters:
    ///   - jar: The cookies after the call.
    ///   - console: Where a warning goes when old cookies are removed to make room.
    /// - Throws: A local error that names the file, when it is damaged or cannot be written.
    func save(_ jar: CookieJar, _ console: Console) throws(CommandError) {
        let dropped = Locked(0)
        try file.update { (data) throws(CommandError) in
            let present = try state(of: data)
            var contents = SessionContents(origin: origin, headers: [], cookies: [], tokens: present.tokens)
            let changes = CookieChanges(from: cookies, to: jar.cookies)
            contents.cookies = changes.applied(to: present.cookies).map(SessionContents.Entry.init)
            // A server replaces a cookie that the user gave.
            let kept = Self.applying(edits, to: present.fields).compactMap { field -> [String]? in
                guard field.name.equalsIgnoringASCIICase("Cookie") else { return [field.name, field.value] }
                let value = CookiePairs.removing(changes.names, from: field.value)
                return value.isEmpty ? nil : [field.name, value]
            }
            contents.headers = kept
            guard let (bytes, count) = contents.encoded(atMost: file.limit) else {
                throw file.refused("has no room for its header fields", "Give fewer or shorter ones.")
            }
            dropped.withLock { $0 = count }
            return bytes
        }
        let count = dropped.withLock(\.self)
        guard count > 0 else { return }
        console.say(
            "lade: The session file \(file.path) is full; "
                + Count.text(count, "old cookie is left out.", "old cookies are left out.")
        )
    }
}

/// The changes that a call made to the cookies of a session.
private struct CookieChanges {
    private let changed: [Cookie]
    private let removed: [Cookie]

    init(from old: [Cookie], to new: [Cookie]) {
        let before = Dictionary(old.map { (Key($0), $0) }) { _, last in last }
        let after = Set(new.map(Key.init))
        changed = new.filter { before[Key($0)].map(Entry.init) != Entry($0) }
        removed = old.filter { !after.contains(Key($0)) }
    }

    private typealias Entry = SessionContents.Entry

    /// The names of the cookies that were set.
    var names: [[UInt8]] { changed.map(\.octets.name) }

    /// The cookies with these changes.
    ///
    /// A cookie that another call has renewed in the meantime is not removed.
    func applied(to cookies: [Cookie]) -> [Cookie] {
        let replaced = Set(changed.map(Key.init))
        let gone = Dictionary(removed.map { (Key($0), Entry($0)) }) { _, last in last }
        let rest = cookies.filter { !replaced.contains(Key($0)) && gone[Key($0)] != Entry($0) }
        return rest + changed
    }

    /// The parts that make two cookies the same one.
    private struct Key: Hashable {
        private let name: [UInt8]
        private let domain: String
        private let isHostOnly: Bool
        private let path: String

        init(_ cookie: Cookie) {
            (name, domain, isHostOnly) = (cookie.octets.name, cookie.domain, cookie.isHostOnly)
            path = cookie.path
        }
    }
}

/// A refresh token in a session file.
private struct KeptToken: Codable {
    /// The token endpoint and the client.
    var client: String
    /// The SHA-256 of the token that the user gave.
    var given: String
    var token: String
}

/// The JSON of a session file.
private struct SessionContents: Codable {
    struct Entry: Codable, Equatable {
        var name: String
        var value: String
        var domain: String
        var hostOnly: Bool
        var path: String
        var expires: Double?
        var secure: Bool
        var httpOnly: Bool
        /// Name and value, when they are not UTF-8.
        var octets: [Data]?

        init(_ cookie: Cookie) {
            (name, value) = (cookie.name, cookie.value.reveal())
            let octets = cookie.octets
            let isText = octets.name.elementsEqual(name.utf8) && octets.value.elementsEqual(value.utf8)
            self.octets = isText ? nil : [Data(octets.name), Data(octets.value)]
            (domain, hostOnly, path) = (cookie.domain, cookie.isHostOnly, cookie.path)
            (secure, httpOnly) = (cookie.isSecure, cookie.isHTTPOnly)
            expires = cookie.expires?.timeIntervalSince1970
        }

        var cookie: Cookie {
            var cookie = Cookie(
                name: name,
                value: Secret(value),
                domain: domain,
                isHostOnly: hostOnly,
                path: path,
                expires: expires.map(Date.init(timeIntervalSince1970:)),
                isSecure: secure
            )
            if let octets { cookie.octets = (Array(octets[0]), Array(octets[1])) }
            cookie.isHTTPOnly = httpOnly
            return cookie
        }

        var isSound: Bool {
            guard octets.map({ $0.count == 2 }) ?? true else { return false }
            let octets = cookie.octets
            return (octets.name + octets.value).allSatisfy(\.isFieldContent)
        }
    }

    var origin: String
    var headers: [[String]]
    var cookies: [Entry]
    var tokens: [KeptToken]?

    init(origin: String, headers: [[String]], cookies: [Entry], tokens: [KeptToken]) {
        (self.origin, self.headers, self.cookies) = (origin, headers, cookies)
        self.tokens = tokens.isEmpty ? nil : tokens
    }

    /// Reads the bytes of a file; nil when they are damaged, or would add lines to a request.
    init?(_ data: Data) {
        let bytes = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        // The reason of the decoder is of no use: a session file is not written by hand.
        guard let contents = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
            contents.headers.allSatisfy({ $0.count == 2 }), contents.cookies.allSatisfy(\.isSound),
            Headers(contents.headers.map { ($0[0], $0[1]) }).fault == nil
        else { return nil }
        self = contents
    }

    /// The bytes of the file, and how many of the oldest cookies were left out so that it is not larger than is read.
    ///
    /// - Returns: Nil when the rest alone is larger.
    func encoded(atMost limit: Int) -> (bytes: Data, dropped: Int)? {
        var (least, most) = (0, cookies.count)
        guard let whole = encoded(dropping: least) else { return nil }
        if whole.count <= limit { return (whole, 0) }
        guard var best = encoded(dropping: most), best.count <= limit else { return nil }
        // The size shrinks with each cookie, so the number is found by halving.
        while most - least > 1 {
            let middle = (least + most) / 2
            guard let bytes = encoded(dropping: middle) else { return nil }
            if bytes.count <= limit { (most, best) = (middle, bytes) } else { least = middle }
        }
        return (best, most)
    }

    private func encoded(dropping count: Int) -> Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var contents = self
        contents.cookies.removeFirst(count)
        // Texts, numbers and truth values can always be encoded, except a date that is no number.
        return try? encoder.encode(contents)
    }
}

/// The pairs of a `Cookie` field that the user gave.
enum CookiePairs {
    /// One field with the pairs of several; the last value of a name counts.
    static func merging(_ fields: [String]) -> String {
        var pairs: [Substring] = []
        for pair in fields.flatMap({ self.pairs($0) }) {
            let name = name(of: pair)
            pairs.removeAll { self.name(of: $0) == name }
            pairs.append(pair)
        }
        return pairs.joined(separator: "; ")
    }

    /// The field without the pairs of these names.
    static func removing(_ names: [[UInt8]], from field: String) -> String {
        pairs(field).filter { !names.contains(name(of: $0)) }.joined(separator: "; ")
    }

    private static func pairs(_ field: String) -> [Substring] {
        field.parts(at: ";").map(\.trimmedOfSpace).filter { !$0.isEmpty }
    }

    private static func name(of pair: Substring) -> [UInt8] {
        Array((pair.cut(at: "=")?.before ?? "").utf8)
    }
}
