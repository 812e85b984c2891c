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
        do throws(CacheError) {
            return try open(folder)
        } catch {
            throw refused(error, folder)
        }
    }

    /// Opens the store of a folder for calls, which a fault of the store does not fail.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - onFault: Receives why the store does not work.
    /// - Returns: The store; nil where it does not work.
    /// - Throws: A local error for a folder that is refused.
    static func store(at folder: String, onFault: (String) -> Void) throws(CommandError) -> (any CacheStore)? {
        do throws(CacheError) {
            return try open(folder)
        } catch {
            if case .file = error.reason { throw refused(error, folder) }
            onFault(error.description)
            return nil
        }
    }

    private static func open(_ folder: String) throws(CacheError) -> any CacheStore {
        makeParents(of: folder)
        return try SQLiteStore(directory: folder)
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
    /// Ends the service of a command: validations in the background get a few seconds, and stored responses are written.
    ///
    /// - Parameters:
    ///   - time: The clock.
    ///   - onFault: Receives the reason why a stored response cannot be written.
    func end(at time: any TimeSource, onFault: (String) -> Void) async {
        await cache?.finishBackgroundWork(within: CommandCache.patience, time: time)
        await shutDown()
        guard let store = cache?.settings.store else { return }
        do throws(CacheError) {
            try await store.flush()
            // Writes are not waited for while the call runs.
            if let fault = (store as? SQLiteStore)?.takeFault() { onFault(fault.description) }
        } catch {
            onFault(error.description)
        }
        await store.close()
    }
}
