import CSQLite
import LadeCache
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An error of SQLite or of the files beside it.
struct StoreFault: Error, Sendable {
    /// The kind of the error, by what can be done about it.
    enum Kind: Sendable, Hashable { case busy, full, damaged, readOnly, other, refused(CacheError) }

    var kind: Kind
    var text: String

    init(_ kind: Kind, _ text: String) {
        (self.kind, self.text) = (kind, text)
    }

    /// The error for a result code, and for the number of the system call that failed.
    init(code: Int32, system: Int32 = 0, _ text: String) {
        let kind: Kind =
            switch code & 0xFF {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            // A statement that is refused has other tables than it expects.
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR: .damaged
            case SQLITE_READONLY: .readOnly
            // A file cannot grow: neither its pages nor the memory that processes share (SQLITE_IOERR_SHMSIZE). The size
            // of files may be limited, or the quota used up; SQLite reports only the absence of space as such.
            case SQLITE_IOERR where code >> 8 == 3 || code >> 8 == 19: .full
            case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(system): .full
            case SQLITE_CANTOPEN where [ENOSPC, EDQUOT, EFBIG].contains(system): .full
            default: .other
            }
        self.init(kind, "SQLite: \(text) (\(code))")
    }

    /// The error that a caller of the store sees.
    var fault: CacheError {
        switch kind {
        case .busy: CacheError(.busy)
        case .full: CacheError(.full)
        case .damaged: CacheError(.damaged)
        case .readOnly, .other: CacheError(.system(text))
        case .refused(let fault): fault
        }
    }
}

/// One connection to a database, with its prepared statements.
///
/// Sendable: one thread at a time uses it: the writing thread, or the thread that took it from the pool.
final class Connection: @unchecked Sendable {
    /// A value of a parameter.
    enum Value {
        case number(Int64)
        case real(Double)
        case text(String)
        case bytes([UInt8])
        case null

        static func optional(_ text: String?) -> Value { text.map(Value.text) ?? .null }

        static func id(_ id: UInt64) -> Value { .number(Int64(bitPattern: id)) }
    }

    /// The current row of a statement.
    struct Row {
        fileprivate let statement: OpaquePointer

        func number(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        func id(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }

        func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

        func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

        /// Runs a closure with the bytes of a column; empty for null.
        func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            let start = sqlite3_column_blob(statement, column)
            return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }

        func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

        func text(_ column: Int32) -> String { withBytes(column) { String(decoding: $0, as: UTF8.self) } }

        func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
    }

    private let handle: OpaquePointer
    /// By the address of the text, which is a literal.
    private var statements: [UnsafePointer<UInt8>: OpaquePointer] = [:]

    /// Opens a database file.
    init(_ path: String, isReadOnly: Bool, isImmutable: Bool = false) throws(StoreFault) {
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        var opened: OpaquePointer?
        let name = isImmutable ? "file:\(Self.escaped(path))?immutable=1" : path
        let code = sqlite3_open_v2(
            name,
            &opened,
            access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | (isImmutable ? SQLITE_OPEN_URI : 0),
            nil
        )
        guard code == SQLITE_OK, let opened else {
            let text = String(cString: sqlite3_errstr(code))
            let system = sqlite3_system_errno(opened)
            sqlite3_close_v2(opened)
            throw StoreFault(code: code, system: system, text)
        }
        handle = opened
        sqlite3_extended_result_codes(opened, 1)
        setPatience(.milliseconds(100))
        sqlite3_exec(opened, "PRAGMA cache_size = -4096", nil, nil, nil)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Sets how long a statement waits for other connections.
    func setPatience(_ patience: Duration) {
        sqlite3_busy_timeout(handle, Int32(clamping: patience.wholeNanoseconds / 1_000_000))
    }

    private static func escaped(_ path: String) -> String {
        var bytes: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in path.utf8 {
            if [UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(byte) {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Runs a statement, which is prepared once, and calls a closure for each row.
    func run(
        _ sql: StaticString,
        _ values: [Value] = [],
        _ row: (Row) throws(StoreFault) -> Void = { _ in }
    ) throws(StoreFault) {
        let statement: OpaquePointer
        if let known = statements[sql.utf8Start] {
            statement = known
        } else {
            statement = try prepare(sql.utf8Start, sql.utf8CodeUnitCount)
            statements[sql.utf8Start] = statement
        }
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        try step(statement, values, row)
    }

    /// Runs statements of a text that was put together.
    func runOnce(
        _ sql: String,
        _ values: [Value] = [],
        _ row: (Row) throws(StoreFault) -> Void = { _ in }
    ) throws(StoreFault) {
        let text = Array(sql.utf8)
        let statement = try text.withUnsafeBufferPointer { text throws(StoreFault) in
            try prepare(text.baseAddress, text.count)
        }
        defer { sqlite3_finalize(statement) }
        try step(statement, values, row)
    }

    /// How many rows the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    private func prepare(_ text: UnsafePointer<UInt8>?, _ count: Int) throws(StoreFault) -> OpaquePointer {
        var statement: OpaquePointer?
        let code = (text.map { UnsafeRawPointer($0) }?.assumingMemoryBound(to: CChar.self)).map {
            sqlite3_prepare_v3(handle, $0, Int32(count), UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        }
        guard code == SQLITE_OK, let statement else { throw failure(code ?? SQLITE_ERROR) }
        return statement
    }

    private func step(
        _ statement: OpaquePointer,
        _ values: [Value],
        _ row: (Row) throws(StoreFault) -> Void
    ) throws(StoreFault) {
        var index: Int32 = 0
        for value in values {
            index += 1
            let code =
                switch value {
                case .number(let number): sqlite3_bind_int64(statement, index, number)
                case .real(let number): sqlite3_bind_double(statement, index, number)
                case .text(var text):
                    text.withUTF8 { text in
                        lade_bind_text(
                            statement,
                            index,
                            UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self),
                            Int32(text.count)
                        )
                    }
                case .bytes(let bytes):
                    bytes.withUnsafeBytes { lade_bind_blob(statement, index, $0.baseAddress, Int32($0.count)) }
                case .null: sqlite3_bind_null(statement, index)
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while true {
            let code = sqlite3_step(statement)
            switch code {
            case SQLITE_ROW: try row(Row(statement: statement))
            case SQLITE_DONE: return
            default: throw failure(code)
            }
        }
    }

    private func failure(_ code: Int32) -> StoreFault {
        StoreFault(code: code, system: sqlite3_system_errno(handle), String(cString: sqlite3_errmsg(handle)))
    }
}
