#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// An open database: the connection that writes, and a pool of those that read.
final class Database: Sendable {
    let folder: StoreFolder
    let digests: Digests
    /// Used by the writing thread only.
    let writer: Connection
    private let identity: StoreFolder.Identity?
    private let isImmutable: Bool
    /// The size of the log at which it is copied into the database.
    private let logSize: Int64
    // Guarded by its lock.
    private let readers = Locked<[Connection]>([])

    /// More connections than callers that read at the same moment are not kept.
    private static let readerLimit = 16

    private init(
        _ folder: StoreFolder,
        _ writer: Connection,
        isImmutable: Bool = false,
        logSize: Int64 = 0,
        digestKey: [UInt8]
    ) {
        self.logSize = logSize
        self.folder = folder
        self.writer = writer
        self.isImmutable = isImmutable
        digests = Digests(digestKey)
        identity = folder.identity
    }

    deinit {
        // The last connection that is closed copies the log into the database, which only the writing one can.
        let idle = readers.withLock { connections in
            defer { connections = [] }
            return connections
        }
        withExtendedLifetime(idle) {}
    }

    /// Opens the database of a folder, makes it if there is none, and sets a damaged one aside.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - limit: The bytes that the entries may take.
    ///   - digestKey: The key for a new database.
    /// - Returns: The open database.
    /// - Throws: Why it cannot be opened or made.
    static func open(_ folder: StoreFolder, limit: Int64, digestKey: [UInt8]) throws(CacheError) -> Database {
        try folder.withLock { () throws(CacheError) in
            var hasSetAside = false
            while true {
                do throws(StoreFault) {
                    return try openFiles(folder, limit: limit, digestKey: digestKey)
                } catch {
                    guard error.kind == .damaged, !folder.isReadOnly, !hasSetAside else { throw error.fault }
                    folder.setAside()
                    hasSetAside = true
                }
            }
        }
    }

    private static func openFiles(
        _ folder: StoreFolder,
        limit: Int64,
        digestKey: [UInt8]
    ) throws(StoreFault) -> Database {
        guard !folder.isReadOnly else { return try openReadOnly(folder) }
        do throws(CacheError) { try folder.makeDatabaseFile() } catch { throw StoreFault(.refused(error), "") }
        let connection = try Connection(folder.databasePath, isReadOnly: false)
        // A store that is not opened is no cache for the whole life of its program; a write that waits is only dropped.
        connection.setPatience(.seconds(10))
        // Both settings have effect on a new file only.
        try connection.runOnce("PRAGMA page_size = 4096")
        try connection.runOnce("PRAGMA auto_vacuum = INCREMENTAL")
        // Several processes may change the mode of a new file at the same moment.
        var attempts = 0
        var isWriteAhead = false
        while !isWriteAhead {
            do throws(StoreFault) {
                try connection.runOnce("PRAGMA journal_mode = WAL") { isWriteAhead = $0.text(0).isSpelled(like: "wal") }
                if !isWriteAhead { throw StoreFault(.busy, "The file is in use in another mode") }
            } catch {
                attempts += 1
                guard error.kind == .busy, attempts < 20 else { throw error }
            }
        }
        try connection.runOnce("PRAGMA synchronous = NORMAL")
        try connection.runOnce("PRAGMA secure_delete = ON")
        try connection.runOnce("PRAGMA temp_store = MEMORY")
        let pages = min(max(limit / 20 / 4_096, 64), 1_000)
        try connection.runOnce("PRAGMA wal_autocheckpoint = \(pages)")
        // The file is cut to this size once its contents are in the database.
        try connection.runOnce("PRAGMA journal_size_limit = \(pages * 4_096)")
        let key = try Schema.make(connection, digestKey: digestKey, version: StoreFolder.version)
        connection.setPatience(.milliseconds(100))
        return Database(folder, connection, logSize: pages * 4_096, digestKey: key)
    }

    private static func openReadOnly(_ folder: StoreFolder) throws(StoreFault) -> Database {
        func open(_ isImmutable: Bool) throws(StoreFault) -> Database {
            let connection = try Connection(folder.databasePath, isReadOnly: true, isImmutable: isImmutable)
            let key = try Schema.digestKey(connection, version: StoreFolder.version)
            return Database(folder, connection, isImmutable: isImmutable, digestKey: key)
        }
        do throws(StoreFault) {
            return try open(false)
        } catch {
            // If the shared files are missing and cannot be made, no other process uses the database.
            guard error.kind != .damaged else { throw error }
            return try open(true)
        }
    }

    /// Copies the log into the database and empties it, as far as other connections let it.
    func checkpoint() throws(StoreFault) { try writer.runOnce("PRAGMA wal_checkpoint(TRUNCATE)") }

    /// Empties a log that readers kept from being reused; waits for them, which never read for long.
    func checkpointLongLog() {
        guard folder.logSize > 4 * logSize else { return }
        // The next transaction tries again.
        try? checkpoint()
    }

    /// Whether the file that was opened still has its name.
    var hasItsName: Bool { identity != nil && folder.identity == identity }

    /// Runs a closure with a connection that reads.
    func read<Result>(_ body: (Connection) throws(StoreFault) -> Result) throws(StoreFault) -> Result {
        let connection: Connection
        if let idle = readers.withLock({ $0.popLast() }) {
            connection = idle
        } else {
            connection = try Connection(folder.databasePath, isReadOnly: true, isImmutable: isImmutable)
        }
        let result = try body(connection)
        readers.withLock { if $0.count < Self.readerLimit { $0.append(connection) } }
        return result
    }
}

/// The tables.
enum Schema {
    private static let application = 0x4C61_6465

    private static let statements = [
        """
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, version INTEGER NOT NULL, key BLOB NOT NULL, head BLOB NOT NULL,
            sum INTEGER NOT NULL, length INTEGER NOT NULL, segments BLOB NOT NULL, blob INTEGER,
            place BLOB NOT NULL, address BLOB NOT NULL, text TEXT NOT NULL, partition TEXT NOT NULL, account TEXT,
            host TEXT NOT NULL, tags BLOB NOT NULL, received REAL NOT NULL,
            cost INTEGER NOT NULL, line INTEGER NOT NULL, position INTEGER NOT NULL, hits INTEGER NOT NULL,
            used INTEGER NOT NULL, fingerprint INTEGER NOT NULL
        )
        """,
        "CREATE INDEX entry_key ON entry (key)",
        "CREATE INDEX entry_place ON entry (place)",
        "CREATE INDEX entry_line ON entry (line, position)",
        """
        CREATE TABLE blob (
            id INTEGER PRIMARY KEY, uses INTEGER NOT NULL, length INTEGER NOT NULL, seed INTEGER NOT NULL,
            sums BLOB NOT NULL, bytes BLOB
        )
        """,
        "CREATE INDEX blob_file ON blob (seed) WHERE bytes IS NULL",
        "CREATE TABLE refusal (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, rule TEXT NOT NULL)",
        "CREATE TABLE removal (number INTEGER PRIMARY KEY, selection BLOB NOT NULL, invalidates INTEGER NOT NULL)",
        "CREATE TABLE ghost (fingerprint INTEGER PRIMARY KEY, position INTEGER NOT NULL)",
        "CREATE INDEX ghost_position ON ghost (position)",
        """
        CREATE TABLE total (
            digest_key BLOB NOT NULL, next_id INTEGER NOT NULL, clock INTEGER NOT NULL, count INTEGER NOT NULL,
            cost INTEGER NOT NULL, files INTEGER NOT NULL, short_cost INTEGER NOT NULL, main_count INTEGER NOT NULL,
            ghosts INTEGER NOT NULL
        )
        """,
    ]

    /// Makes the tables of a new database; returns the key of the digests.
    static func make(_ connection: Connection, digestKey key: [UInt8], version: Int) throws(StoreFault) -> [UInt8] {
        var current: Int64 = 0
        try connection.runOnce("PRAGMA user_version") { current = $0.number(0) }
        if current == 0 {
            try connection.runOnce("BEGIN IMMEDIATE")
            do throws(StoreFault) {
                var tables: Int64 = 0
                try connection.runOnce("PRAGMA user_version") { current = $0.number(0) }
                try connection.runOnce("SELECT count(*) FROM sqlite_schema") { tables = $0.number(0) }
                if current == 0 {
                    guard tables == 0 else { throw StoreFault(.damaged, "The database belongs to another program") }
                    for statement in statements { try connection.runOnce(statement) }
                    try connection.runOnce("INSERT INTO total VALUES (?, 1, 1, 0, 0, 0, 0, 0, 0)", [.bytes(key)])
                    try connection.runOnce("PRAGMA application_id = \(application)")
                    try connection.runOnce("PRAGMA user_version = \(version)")
                }
                try connection.runOnce("COMMIT")
            } catch {
                // The error above is the cause; a second error here changes nothing.
                try? connection.runOnce("ROLLBACK")
                throw error
            }
        }
        return try digestKey(connection, version: version)
    }

    /// The key of the digests of a database that has its tables.
    static func digestKey(_ connection: Connection, version: Int) throws(StoreFault) -> [UInt8] {
        var (current, owner): (Int64, Int64) = (0, 0)
        try connection.runOnce("PRAGMA user_version") { current = $0.number(0) }
        try connection.runOnce("PRAGMA application_id") { owner = $0.number(0) }
        guard current == Int64(version), owner == Int64(application) else {
            throw StoreFault(.damaged, "The database belongs to another program")
        }
        var key: [UInt8] = []
        try connection.runOnce("SELECT digest_key FROM total") { key = $0.bytes(0) }
        guard key.count == 32 else { throw StoreFault(.damaged, "The database has no key") }
        return key
    }
}
