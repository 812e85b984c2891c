import Foundation
import LadeTesting
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import Lade
@testable import LadeCommand

/// One way in which the arguments of a call make it that of a user.
private struct Way: Sendable, CustomTestStringConvertible {
    /// The options that it is made of, or what else.
    let name: String
    /// The arguments for one user; files are made in a folder of that user.
    let arguments: @Sendable (_ user: String, MarkedCommand) throws -> [String]

    init(_ name: String, _ arguments: @escaping @Sendable (String, MarkedCommand) throws -> [String]) {
        (self.name, self.arguments) = (name, arguments)
    }

    var testDescription: String { name }
}

extension Way {
    private static let users: Void = {
        for user in ["alice", "bob"] {
            for suffix in [""] + (0..<100).map({ "\($0)" }) {
                setenv("LADE_TEST_SECRET_\(user)\(suffix)", "secret of \(user)\(suffix)", 1)
            }
        }
    }()

    private static func variable(_ user: String) -> String {
        _ = users
        return "LADE_TEST_SECRET_\(user)"
    }

    private static let oauth2 = ["--auth", "oauth2:http://client@127.0.0.1/token"]

    /// Every way that `lade get --help --all` knows; a test asks for a row for each option.
    static let all: [Way] = [
        Way("--header") { user, _ in ["-H", "Authorization: Bearer \(user)"] },
        Way("--header X-Api-Key") { user, _ in ["-H", "X-Api-Key: \(user)"] },
        Way("--header Cookie") { user, _ in ["-H", "Cookie: sid=\(user)"] },
        Way("--header @FILE") { user, marked in
            ["-H", try "@" + marked.file(user, "fields", "X-Auth-Token: \(user)\n")]
        },
        Way("a field as an item") { user, _ in [MarkedCommand.address, "X-Vault-Token:\(user)"] },
        Way("a query as an item") { user, _ in [MarkedCommand.address, "api_key==\(user)"] },
        Way("the user of the address") { user, _ in ["http://\(user):pw@127.0.0.1/thing"] },
        Way("--url") { user, _ in ["--url", "http://127.0.0.1/thing?access_token=\(user)"] },
        Way("--url-query") { user, _ in ["--url-query", "key=\(user)"] },
        Way("--get --data") { user, _ in ["-G", "-d", "token=\(user)"] },
        Way("--data") { user, _ in ["-X", "GET", "-d", "user=\(user)"] },
        Way("--data-raw") { user, _ in ["-X", "GET", "--data-raw", "user=\(user)"] },
        Way("--data-binary") { user, marked in
            ["-X", "GET", "--data-binary", try "@" + marked.file(user, "body", user)]
        },
        Way("--data-urlencode") { user, _ in ["-X", "GET", "--data-urlencode", "user=\(user)"] },
        Way("--json") { user, _ in ["-X", "GET", "--json", "{\"user\":\"\(user)\"}"] },
        Way("--form-part") { user, _ in ["-X", "GET", "-F", "user=\(user)"] },
        Way("--form-string") { user, _ in ["-X", "GET", "--form-string", "user=\(user)"] },
        Way("--form") { user, _ in ["--form", "-X", "GET", MarkedCommand.address, "user=\(user)"] },
        Way("--upload-file") { user, marked in ["-X", "GET", "-T", try marked.file(user, "upload", user)] },
        Way("--user") { user, _ in ["-u", "u:\(user)"] },
        Way("--basic") { user, _ in ["--basic", "-u", "\(user):x"] },
        Way("--digest") { user, _ in ["--digest", "-u", "digest:\(user)"] },
        Way("--anyauth") { user, _ in ["--anyauth", "-u", "digest:\(user)"] },
        Way("--oauth2-bearer") { user, _ in ["--oauth2-bearer", user] },
        Way("--cookie") { user, _ in ["-b", "sid=\(user)"] },
        Way("--cookie FILE") { user, marked in ["-b", try marked.jar("jar", user)] },
        Way("--cookie-jar") { user, marked in
            let path = try marked.jar("both", user)
            return ["-b", path, "-c", path]
        },
        Way("--session") { user, marked in
            marked.remove("session.json")
            return ["--session", marked.path("session.json"), "-b", "sid=\(user)"]
        },
        Way("--netrc-file") { user, marked in
            ["--netrc-file", try marked.secret("netrc", "machine 127.0.0.1 login u password \(user)\n")]
        },
        Way("--netrc-optional") { user, marked in
            ["--netrc-optional", "--netrc-file", try marked.secret("netrc", "default login \(user) password x\n")]
        },
        Way("--auth basic --secret-env") { user, _ in ["--auth", "basic:u", "--secret-env", variable(user)] },
        Way("--auth basic --secret-fd") { user, marked in
            ["--auth", "basic:u", "--secret-fd", try marked.descriptor(user)]
        },
        Way("--auth bearer") { user, _ in ["--auth", "bearer", "--secret-env", variable(user)] },
        Way("--auth oauth2") { user, _ in oauth2 + ["--secret-env", variable(user)] },
        Way("--client-auth") { user, _ in oauth2 + ["--client-auth", "post", "--secret-env", variable(user)] },
        Way("--scope") { user, _ in oauth2 + ["--scope", user, "--secret-env", variable("alice")] },
        Way("--audience") { user, _ in oauth2 + ["--audience", user, "--secret-env", variable("alice")] },
        Way("--token-param") { user, _ in
            oauth2 + ["--token-param", "subject=\(user)", "--secret-env", variable("alice")]
        },
        Way("--refresh-token-env") { user, _ in
            oauth2 + ["--client-auth", "none", "--refresh-token-env", variable(user)]
        },
        Way("--cert") { user, marked in ["-E", try marked.file("", "client.pem", "certificate of \(user)")] },
        Way("--key") { user, marked in
            [
                "-E", try marked.file(user, "client.pem", "certificate of \(user)"), "--key",
                try marked.file(user, "key.pem", "key"),
            ]
        },
        Way("--config") { user, marked in ["-K", try marked.secret("config", "header = \"X-Api-Key: \(user)\"\n")] },
    ]

    /// The options of calls that say nothing about the user, with the reason where it is not plain.
    static let others: Set<String> = [
        // The request: what they ask for is part of the address or of what Vary names.
        "globoff", "request", "path-as-is", "range", "time-cond", "etag-compare", "head", "user-agent", "referer",
        // From the standard input, as the other bodies.
        "stdin",
        // The file is that of --netrc-file, in the home.
        "netrc",
        // Their options are others of this list and the table.
        "profile", "no-config",
        // The limit of a rate, which the store shares, and its password.
        "share", "fleet-secret-env", "fleet-secret-fd", "fleet-insecure",
        // It removes cookies of a jar, and those that are left are sent and count.
        "junk-session-cookies",
        // The cache itself.
        "cache", "no-cache", "cache-mode", "cache-status",
        // What is done with the response, and again after a failure.
        "location", "cross-origin-body", "max-redirects", "location-trusted", "retry", "retry-delay", "retry-unsafe",
        "retry-max-time", "idempotency-key", "hedge", "deadline", "max-wait", "rate", "host",
        // The way to the server. Credentials for a proxy are never sent to a server.
        "max-time", "connect-timeout", "idle-timeout", "proxy", "noproxy", "proxy-user", "proxy-digest",
        "proxy-anyauth", "proxy-header", "proxytunnel", "resolve", "ipv4", "ipv6", "cacert", "pin", "insecure",
        "unix-socket", "connect-to", "http2", "http1.1", "http2-prior-knowledge",
        "compressed", "raw",
    ]
}

/// A command whose server marks each body with the user that it is for.
private final class MarkedCommand: Sendable {
    static let address = "http://127.0.0.1/thing"

    private let command: CachingCommand
    private let label = Locked("")
    private let open = Locked<Descriptor?>(nil)

    init() throws {
        command = try CachingCommand()
        command.transport.on("token", where: { $0.url.path == "/token" }).respond(
            .json(#"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#)
        )
        command.transport.onAnyRequest().respond(
            .computed { [label] request, _ in
                let isDigest = label.withLock { $0.hasPrefix("--digest") || $0.hasPrefix("--anyauth") }
                if isDigest, request.headers["Authorization"] == nil {
                    return .status(
                        401,
                        headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#]
                    )
                }
                return .text(
                    label.withLock { $0 },
                    headers: ["Cache-Control": "private, max-age=60, stale-while-revalidate=60", "ETag": "\"1\""]
                )
            }
        )
    }

    func end() { command.folder.remove() }

    func path(_ name: String) -> String { command.folder.path + name }

    func remove(_ name: String) { unlink(path(name)) }

    func file(_ user: String, _ name: String, _ text: String) throws -> String {
        try command.folder.file(user + name, text)
    }

    func secret(_ name: String, _ text: String) throws -> String {
        let path = try command.folder.file(name, text)
        chmod(path, 0o600)
        return path
    }

    func jar(_ name: String, _ user: String) throws -> String {
        try secret(name, "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t\(user)\n")
    }

    func descriptor(_ user: String) throws -> String {
        let descriptor = try Descriptor.open(command.folder.file("fd", user + "\n"), O_RDONLY)
        open.withLock { $0 = descriptor }
        return "\(descriptor.number)"
    }

    func advance(by duration: Duration) { command.time.advance(by: duration) }

    /// The user whose page a user gets; nil where nothing is stored and no server may be asked.
    func page(_ way: Way?, _ user: String, mode: String = "standard") async throws -> String? {
        var words = try way?.arguments(user, self) ?? []
        if !words.contains(where: { $0.hasPrefix("http://127.0.0.1/thing") || $0.contains("@127.0.0.1/thing") }) {
            words.append(Self.address)
        }
        label.withLock { $0 = "\(way?.name ?? "nobody") \(user)" }
        let outcome = try await command.run(["get", "--no-config", "--cache", "--cache-mode", mode] + words)
        if let descriptor = open.withLock({ open in
            defer { open = nil }
            return open
        }) {
            try descriptor.close()
        }
        if mode == "only", outcome.code == .usage { return nil }
        #expect(outcome.code == .success, "\(outcome.talk)")
        return outcome.output
    }

    var files: [Data] {
        let names = FileManager.default.enumerator(atPath: path("cache"))?.compactMap { $0 as? String } ?? []
        return names.compactMap { FileManager.default.contents(atPath: path("cache") + "/" + $0) }
    }

    var count: Int { command.transport.received.count }
}

/// Who a call of the command is, for every option that says so.
@Suite(.timeLimit(.minutes(5)))
struct CacheIdentityTests {
    @Test(
        "finding CK-1 no user of the command gets the page of another, and each gets its own again",
        arguments: Way.all
    )
    fileprivate func keepsUsersApart(way: Way) async throws {
        let marked = try MarkedCommand()
        defer { marked.end() }
        _ = try await marked.page(nil, "")
        for user in ["alice", "bob", "alice"] {
            #expect(try await marked.page(way, user) == "\(way.name) \(user)")
        }
        let sent = marked.count
        for user in ["alice", "bob"] {
            #expect(try await marked.page(way, user, mode: "prefer") == "\(way.name) \(user)")
        }
        // All but files that are sent as a body, and forms with a new boundary each time, are found again.
        #expect(
            marked.count
                == (["--upload-file", "--data-binary", "--form-part", "--form-string"].contains(way.name)
                    ? marked.count : sent)
        )
        #expect(try await marked.page(nil, "", mode: "only") == "nobody ")
    }

    @Test(
        "finding CK-1 any users, options, modes and orders in one folder: no page of another user, no secret in its files"
    )
    func neverMixes() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let marked = try MarkedCommand()
        defer { marked.end() }
        for step in 0..<Soak.current.rounds(of: 5_000, few: 80) {
            // Ways that send the same are the same user.
            let number = random.next(below: Way.all.count)
            let way = random.next(below: 12) == 0 ? nil : Way.all[number]
            let user = way == nil ? "" : ["alice\(number)", "bob\(number)"][random.next(below: 2)]
            let mode = ["standard", "revalidate", "prefer", "only", "bypass"][random.next(below: 5)]
            if random.next(below: 10) == 0 { marked.advance(by: .seconds(Int64(random.next(below: 90)))) }
            guard let page = try await marked.page(way, user, mode: mode) else { continue }
            #expect(page == "\(way?.name ?? "nobody") \(user)", "seed \(random.seed), step \(step), \(mode)")
        }
        let secrets = ["secret of alice", "secret of bob"].map { Data($0.utf8) }
        #expect(marked.files.allSatisfy { file in secrets.allSatisfy { file.range(of: $0) == nil } })
    }

    @Test("finding CK-1 each option of a call has a row in the table of users, or in the list of those without one")
    func tableIsWhole() {
        let settings = [
            RequestSettings.rows.map(\.info.name), SessionSettings.rows.map(\.info.name),
            CachingSettings.rows.map(\.info.name),
            PolicySettings.rows.map(\.info.name), ConnectionSettings.rows.map(\.info.name),
        ]
        let rows = Set(
            Way.all.flatMap { $0.name.split(separator: " ") }.filter { $0.hasPrefix("--") }.map { $0.dropFirst(2) }
        )
        for name in settings.joined() {
            #expect(rows.contains(Substring(name)) != Way.others.contains(name), "--\(name)")
        }
    }

    @Test("finding CK-2 a wrong secret is a miss, in every mode", arguments: ["standard", "prefer", "only"])
    func wrongSecrets(mode: String) async throws {
        let marked = try MarkedCommand()
        defer { marked.end() }
        let ways = ["--auth basic --secret-env", "--auth bearer", "--user", "--digest"]
        for way in Way.all where ways.contains(way.name) {
            #expect(try await marked.page(way, "alice") == "\(way.name) alice")
            #expect(try await marked.page(way, "bob", mode: mode) != "\(way.name) alice")
        }
    }
}
