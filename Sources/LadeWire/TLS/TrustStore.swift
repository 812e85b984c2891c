#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import COpenSSL
import CWire
import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The authorities and revocation lists that certificates are checked against.
///
/// Parsing those of a system takes 20 ms and 1 MiB, so all transports of a process with the same sources share one
/// store. The files are read again when they have changed.
final class TrustStore: Sendable {
    /// Where authorities and lists come from.
    struct Sources: Hashable, Sendable {
        /// The file of the system's authorities; one that cannot be read counts as missing.
        var system: String?
        var authorities: [TransportSettings.TLS.CertificateSource]
        var revocationLists: [String]

        init(_ settings: TransportSettings.TLS) {
            system = settings.trustsSystemAuthorities ? SettingsCheck.systemBundle() : nil
            authorities = settings.authorities
            revocationLists = settings.revocationLists
        }

        var files: [String] {
            let given = authorities.compactMap { if case .file(let path) = $0 { path } else { nil } }
            return (system.map { [$0] } ?? []) + given + revocationLists
        }
    }

    /// The facts by which a changed file is noticed.
    private struct Stamp: Equatable {
        var inode: UInt64 = 0
        var size: Int64 = 0
        var seconds: Int = 0
        var nanoseconds: Int = 0

        /// The stamp of a file; a missing file has a stamp that differs from all others.
        init(_ path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return }
            inode = UInt64(facts.st_ino)
            size = Int64(facts.st_size)
            seconds = facts.st_mtim.tv_sec
            nanoseconds = facts.st_mtim.tv_nsec
        }
    }

    private struct State {
        /// Nil until ``load()``.
        var store: Parsed?
        var stamps: [Stamp]
        var checkedAt: Int64
        var isChecking = false
    }

    /// OpenSSL's store.
    ///
    /// It has a lock of its own, and does not change any more. This justifies `@unchecked Sendable`.
    final class Parsed: @unchecked Sendable {
        let raw: OpaquePointer

        init(_ raw: OpaquePointer) {
            self.raw = raw
        }

        deinit {
            X509_STORE_free(raw)
        }
    }

    /// How long the files are not looked at again, in nanoseconds.
    static let patience: Int64 = 60_000_000_000

    private let sources: Sources
    private let state: Locked<State>
    /// Runs work that may block.
    private let inBackground: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Checks the sources; those of the system alone are read by ``load()``, because not every transport needs them.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a source that cannot be read.
    init(
        _ sources: Sources,
        now: Int64,
        inBackground: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { body in
            // Without a thread the store stays as it is.
            _ = SystemThread.start {
                body()
                OPENSSL_thread_stop()
            }
        }
    ) throws(LoadingError) {
        self.sources = sources
        self.inBackground = inBackground
        let stamps = sources.files.map(Stamp.init)
        let isOfSystem = sources.system != nil && sources.authorities.isEmpty && sources.revocationLists.isEmpty
        let store = isOfSystem ? nil : try Self.parse(sources)
        state = Locked(State(store: store, stamps: stamps, checkedAt: now))
    }

    /// Reads the sources unless that is done; blocks meanwhile.
    func load() {
        guard state.withLock({ $0.store == nil }), let store = try? Self.parse(sources) else { return }
        state.withLock { if $0.store == nil { $0.store = store } }
    }

    /// The store to check a new connection against; nil when it was not loaded.
    ///
    /// Once a minute the files are looked at in the background; until a change is read, the old store serves.
    func current(at now: Int64) -> Parsed? {
        let (store, isDue) = state.withLock { state in
            let isDue = !state.isChecking && now - state.checkedAt >= Self.patience && !sources.files.isEmpty
            if isDue { state.isChecking = true }
            return (state.store, isDue)
        }
        if isDue { inBackground { [self] in refresh(at: now) } }
        return store
    }

    private func refresh(at now: Int64) {
        let stamps = sources.files.map(Stamp.init)
        let known = state.withLock { $0.stamps }
        // A file that cannot be read now leaves the old store in use.
        let store = stamps == known ? nil : try? Self.parse(sources)
        state.withLock { state in
            if let store {
                state.store = store
                state.stamps = stamps
            }
            state.checkedAt = now
            state.isChecking = false
        }
    }

    // MARK: - Parsing

    private static func parse(_ sources: Sources) throws(LoadingError) -> Parsed {
        guard let raw = X509_STORE_new() else { throw LoadingError(.transport(code: 0, message: "out of memory")) }
        let store = Parsed(raw)
        // A system bundle that cannot be read is treated as missing.
        if let system = sources.system,
            let bytes = try? FileContents.read(system, limit: SettingsCheck.fileLimit, kind: "PEM")
        {
            add(bytes, to: store)
        }
        for authority in sources.authorities {
            let (bytes, source): (Data, String)
            switch authority {
            case .file(let path):
                bytes = try SettingsCheck.pem(path, "CERTIFICATE", setting: "authority")
                source = "the file \(path)"
            case .pem(let given):
                try SettingsCheck.pem(given, "CERTIFICATE", setting: "authority", source: "the given bytes")
                bytes = given
                source = "the given bytes"
            }
            try check(add(bytes, to: store), setting: "authority", "the CERTIFICATE in \(source) is damaged")
        }
        for path in sources.revocationLists {
            let bytes = try SettingsCheck.pem(path, "X509 CRL", setting: "revocation list")
            try check(
                add(bytes, to: store),
                setting: "revocation list",
                "the X509 CRL in the file \(path) is damaged"
            )
        }
        return store
    }

    private static func check(_ isGood: Bool, setting: String, _ reason: String) throws(LoadingError) {
        guard isGood else { throw LoadingError(.invalidSetting(name: setting, reason: reason)) }
    }

    @discardableResult
    private static func add(_ bytes: Data, to store: Parsed) -> Bool {
        ERR_clear_error()
        return bytes.withUnsafeBytes { lade_store_add_pem(store.raw, $0.baseAddress, CInt(clamping: $0.count)) } > 0
    }

    // MARK: - Sharing

    private struct Weak: Sendable {
        weak let store: TrustStore?
    }

    private static let shared = Locked<[Sources: Weak]>([:])

    /// The store of these sources, which all transports of the process share while one of them has it.
    static func shared(_ sources: Sources, now: Int64) throws(LoadingError) -> TrustStore {
        if let store = shared.withLock({ $0[sources]?.store }) { return store }
        // Outside of the lock, because it reads files; of two that are made at the same time, the first one stays.
        let made = try TrustStore(sources, now: now)
        return shared.withLock { table in
            if let store = table[sources]?.store { return store }
            table = table.filter { $0.value.store != nil }
            table[sources] = Weak(store: made)
            return made
        }
    }
}
