import Lade

/// Whether and how a command uses a cache.
struct CachingSettings: Sendable {
    /// Whether responses are stored and served.
    var isOn = false
    /// The folder of the cache; nil for the user's own.
    var directory: String?
    /// How the cache is used.
    var mode = Request.CacheMode.standard
    /// Whether the command says what the cache did.
    var showsStatus = false

    /// The options that set these values.
    static let rows: [OptionRow<CachingSettings>] = [
        OptionRow(info: folderInfo) { settings, value in
            settings.isOn = true
            settings.directory = value.isEmpty ? nil : value
        },
        .flag("no-cache", .request, "Use no cache, also if the configuration does", isCommon: false) {
            $0.isOn = false
        },
        .value(
            "cache-mode",
            "MODE",
            .request,
            "standard, bypass, revalidate, prefer, only",
            details:
                "bypass sends the request and stores nothing; revalidate asks the server whether what is stored is "
                + "current; prefer takes what is stored, however old; only never asks a server.",
            isCommon: false,
            completion: .words(["standard", "bypass", "revalidate", "prefer", "only"])
        ) { settings, value throws(CommandError) in
            guard let mode = modes[value] else {
                throw .usage(
                    "--cache-mode: there is no mode “\(value.asArgument)”",
                    advice: "It is standard, bypass, revalidate, prefer or only."
                )
            }
            settings.mode = mode
        },
        .flag("cache-status", .request, "Say what the cache did", isCommon: false) { $0.showsStatus = true },
    ]

    /// `--cache`, whose value is optional.
    static let folderInfo = OptionInfo(
        name: "cache",
        letter: nil,
        metavar: nil,
        optionalMetavar: "DIR",
        section: .request,
        summary: "Store responses, and use stored ones",
        details: "In DIR, or else in lade's own folder below $XDG_CACHE_HOME or ~/.cache. Several calls may share a "
            + "folder. A response is served only to calls with the same credentials: cookies, keys, users, passwords and client "
            + "certificate. If the store does not work, the call goes on without it.",
        isCommon: false,
        completion: .files
    )

    private static let modes: [String: Request.CacheMode] = [
        "standard": .standard, "bypass": .bypass, "revalidate": .revalidate, "prefer": .preferStored,
        "only": .storedOnly,
    ]

    /// The settings of the service's cache.
    ///
    /// - Parameter onFault: Receives why the store does not work.
    /// - Returns: The settings; nil without a cache, and where the store does not work now.
    /// - Throws: A local error for a folder that is refused.
    func cache(onFault: (String) -> Void) throws(CommandError) -> ResponseCache.Settings? {
        guard isOn, let store = try CommandCache.store(at: CommandCache.folder(directory), onFault: onFault) else {
            return nil
        }
        var cache = ResponseCache.Settings(store: store)
        cache.addsStatusField = showsStatus
        return cache
    }
}
