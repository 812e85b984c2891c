#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import Lade
import LadeCacheSQLite

/// The store of the command on disk.
enum CommandCache {
    /// How long the command waits for responses that are validated in the background.
    static let patience = Duration.seconds(5)

    /// The folder of the cache: the given one, or lade's own.
    ///
    /// - Throws: A usage error where the environment names no folder.
    static func folder(_ given: String?) throws(CommandError) -> String {
        if let given { return given }
        // The XDG Base Directory Specification requires that relative paths are ignored.
        if let base = Environment.value(.cache), base.begins(with: "/") { return base + "/lade" }
        if let home = Environment.value(.home), !home.isEmpty { return home + "/.cache/lade" }
        throw .usage("--cache without a folder: there is no home directory", advice: "Name one: --cache=DIR.")
    }

    /// Whether there is a folder; a command that only looks makes none.
    static func exists(_ folder: String) -> Bool { access(folder, F_OK) == 0 }

    /// Opens the store of a folder, and makes the folder if there is none.
    ///
    /// - Throws: A local error that says what is wrong with it.
    static func store(at folder: String) throws(CommandError) -> any CacheStore {
        makeParents(of: folder)
        do throws(CacheError) {
            return try SQLiteStore(directory: folder)
        } catch {
            throw refused(error, folder)
        }
    }

    /// The error for a store that cannot be used.
    static func refused(_ fault: CacheError, _ folder: String) -> CommandError {
        CommandError(
            what: "\(fault).",
            advice: fault.reason == .busy
                ? "Try again, or name another folder with --cache=DIR."
                : "Name another folder with --cache=DIR, or remove \(folder.escapedForDisplay()).",
            code: .localFile
        )
    }

    private static func makeParents(of path: String) {
        guard let (parent, _) = path.cut(atLast: "/"), !parent.isEmpty, access(String(parent), F_OK) != 0 else {
            return
        }
        makeParents(of: String(parent))
        // A folder that cannot be made is reported when the store is opened.
        mkdir(String(parent), 0o700)
    }
}

extension Service {
    /// Ends the service of a command: validations in the background get a few seconds, and what was stored is written.
    func end(at time: any TimeSource) async {
        await cache?.finishBackgroundWork(within: CommandCache.patience, time: time)
        await shutDown()
        await cache?.settings.store.close()
    }
}

extension PolicySettings {
    /// The name under which the cache keeps what belongs to the user of a call.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - secret: The secret of the user, of which only a digest with the key of the store is used.
    ///   - cache: The cache.
    /// - Returns: The identifier of the account; empty for a call without a user.
    func cacheAccount(of call: PreparedCall, secret: String?, _ cache: CacheSettings) -> String {
        var parts: [String] = []
        switch authorisation {
        case .basic(let user): parts.append(user)
        case .bearer, .oauth2:
            let digest = CacheDigester(key: cache.store.digestKey).digest(Array((secret ?? "").utf8))
            parts.append(
                "token-" + digest.prefix(6).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            )
        case nil: break
        }
        if let credentials = call.credentials { parts.append(credentials.user) }
        if let source = call.cookieSource { parts.append(source) }
        return parts.joined(separator: ", ")
    }
}
