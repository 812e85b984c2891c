#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The state from earlier calls and from files: cookies, session, `.netrc`, configuration.
struct SessionSettings: Sendable {
    var cookieTexts: [String] = []
    var cookieFiles: [String] = []
    var cookieOutput: String?
    /// Whether cookies that servers set are kept for the later requests of the command, though no file has any.
    var keepsNewCookies = false
    /// Whether the cookies of files that end with a session are left out.
    var dropsSessionCookies = false
    var name: String?
    var readsNetrc = false
    /// Whether a missing `.netrc` is no error.
    var netrcIsOptional = false
    var netrcPath: String?
    var profile: String?
    var ignoresConfiguration = false

    /// The options that set these values.
    static let rows: [OptionRow<SessionSettings>] = [
        .value(
            "cookie",
            letter: "b",
            "NAME=VALUE|FILE",
            .request,
            "Send cookies from text or file",
            details:
                "A text with an equals sign is sent as it is; anything else is a file as --cookie-jar writes it. A file "
                + "that others can change is refused.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty else {
                throw .usage("--cookie: neither a cookie nor a file", advice: "Write NAME=VALUE or the path of a file.")
            }
            if value.has("=") { settings.cookieTexts.append(value) } else { settings.cookieFiles.append(value) }
        },
        .value(
            "cookie-jar",
            letter: "c",
            "FILE",
            .request,
            "Write cookies to FILE after the call",
            details:
                "In the format that curl and wget read; - is the standard output. Only its owner can read the file.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty else {
                throw .usage("--cookie-jar: no file", advice: "Name the file that gets the cookies, or -.")
            }
            settings.cookieOutput = value
        },
        .flag("junk-session-cookies", letter: "j", .request, "Drop session cookies of files", isCommon: false) {
            $0.dropsSessionCookies = true
        },
        .value(
            "session",
            "NAME|PATH",
            .request,
            "Keep headers and cookies for later",
            details: "They are kept for the origin of the address, in ~/.config/lade/sessions or in the file of a path "
                + "with a slash. A call of the same session sends them again, and what it is given replaces them. Calls may run at "
                + "the same time."
        ) { settings, value throws(CommandError) in
            try SessionFile.check(value)
            settings.name = value
        },
        .flag("netrc", letter: "n", .request, "Take the user from ~/.netrc", isCommon: false) {
            $0.readsNetrc = true
        },
        .flag("netrc-optional", .request, "The same, if the file exists", isCommon: false) { settings in
            settings.readsNetrc = true
            settings.netrcIsOptional = true
        },
        .value(
            "netrc-file",
            "FILE",
            .request,
            "The same, from another file",
            isCommon: false,
            completion: .files
        ) { $0.netrcPath = $1 },
        .value(
            "profile",
            "NAME",
            .request,
            "Use a profile's options",
            details:
                "The file ~/.config/lade/config has “option = value” in each line, first those for every call, then "
                + "those of profiles behind their names in brackets. Arguments come after all of them.",
            isCommon: false
        ) { $0.profile = $1 },
        .flag("no-config", letter: "q", .request, "Read no configuration file", isCommon: false) {
            $0.ignoresConfiguration = true
        },
    ]

    /// Checks rules that involve several options.
    func validate() throws(CommandError) {
        if ignoresConfiguration, let profile {
            throw .usage("--profile \(profile) with --no-config", advice: "Choose one of them.")
        }
    }

    // Thousands of cookies take less.
    private static let cookieFileLimit = 16 << 20

    /// Whether cookies are kept between requests.
    var keepsCookies: Bool { name != nil || cookieOutput != nil || !cookieFiles.isEmpty || keepsNewCookies }

    /// The file `.netrc`; nil when it is not read.
    func netrc() throws(CommandError) -> Netrc? {
        guard readsNetrc || netrcPath != nil else { return nil }
        let home = Environment.value(.home).map { $0 + "/.netrc" }
        guard let path = netrcPath ?? Environment.value(.netrc) ?? home else {
            throw .usage("--netrc: there is no home", advice: "Name the file with --netrc-file FILE.")
        }
        guard !netrcIsOptional || InputReader.exists(path) else { return nil }
        return try Netrc(PrivateFile(path: path, kind: "netrc file"))
    }

    /// The cookie jar for a call, filled from the files; nil when cookies are not kept.
    ///
    /// - Parameters:
    ///   - session: The session with further cookies.
    ///   - now: The date that expiries are compared with.
    ///   - warn: Receives a line for each file with lines that are skipped.
    /// - Returns: The jar.
    /// - Throws: A local error for a file that cannot be read, or that others can change.
    func makeJar(
        _ session: SessionFile?,
        now: Date,
        warn: (String) -> Void
    ) async throws(CommandError) -> CookieJar? {
        guard keepsCookies else { return nil }
        let jar = session.map { CookieJar(of: $0.home) } ?? CookieJar()
        var cookies = session?.cookies ?? []
        for path in cookieFiles {
            let found = CookieText.contents(try await bytes(of: path))
            guard !found.isForeign else {
                throw CommandError(
                    what: "The file \(path) has no cookies in lines of seven fields.",
                    advice: "Name a file that --cookie-jar or curl has written, or write NAME=VALUE.",
                    code: .localFile
                )
            }
            if !found.oddLines.isEmpty { warn(Self.warning(path, found.oddLines)) }
            cookies += found.cookies.filter { !dropsSessionCookies || $0.expires != nil }
        }
        for cookie in cookies { jar.insert(cookie, at: now) }
        return jar
    }

    private func bytes(of path: String) async throws(CommandError) -> Data {
        if path != "-", InputReader.isRegularFile(path) {
            // Other tools write their files so that others can read them.
            let trust = FileTrust.own.followingLinks
            let file = PrivateFile(path: path, kind: "cookie file", trust: trust, limit: Self.cookieFileLimit)
            if let data = try file.read() { return data }
        }
        guard let data = try await InputReader(path).all(atMost: Self.cookieFileLimit) else {
            throw CommandError(
                what: "The file \(path) is larger than 16 MB, so it is no list of cookies.",
                advice: "Name a file that --cookie-jar or curl has written, or write NAME=VALUE.",
                code: .localFile
            )
        }
        return data
    }

    // More numbers would fill the screen.
    private static let namedLines = 10

    /// The warning that names the lines of a file that are skipped.
    static func warning(_ path: String, _ lines: [Int]) -> String {
        let names = lines.prefix(namedLines).map(String.init).joined(separator: ", ")
        let more = lines.count > namedLines ? " and \(lines.count - namedLines) more" : ""
        return "lade: The cookie file \(path) has no cookie in line\(lines.count == 1 ? "" : "s") \(names)\(more); "
            + "\(lines.count == 1 ? "it is" : "they are") skipped."
    }

    /// Writes the cookie jar to its file.
    func write(_ jar: CookieJar?, on console: Console) throws(CommandError) {
        guard let jar, let path = cookieOutput else { return }
        let text = CookieText.text(jar.cookies)
        if path == "-" { return try console.write(text) }
        try PrivateFile(path: path, kind: "cookie file").write(text)
    }
}
