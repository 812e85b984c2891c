import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Disk calls that are recorded, one of which fails.
final class RecordingCalls: DiskCalls {
    /// The effect of a call on the disk.
    enum Change: Equatable {
        case open(String, truncated: Bool)
        case lock(String)
        case write(String, Data)
        case synchronise(String)
        case truncate(String, Int64)
        case rename(String, String)
    }

    /// How the chosen call fails.
    enum Fault: Sendable, CaseIterable {
        case inputOutput, noSpace, shortWrite, interrupted
    }

    private struct State {
        var changes: [Change] = []
        var names: [Int32: String] = [:]
        var count = 0
    }

    private let state = Locked(State())
    private let system = SystemDiskCalls()
    private let failing: Int?
    private let fault: Fault
    private let opening: @Sendable (String) -> Void

    /// Records the calls, and calls `opening` with the path before each file is opened.
    init(
        failing: Int? = nil,
        _ fault: Fault = .inputOutput,
        opening: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.failing = failing
        self.fault = fault
        self.opening = opening
    }

    var changes: [Change] { state.withLock(\.changes) }

    /// How many calls were made.
    var count: Int { state.withLock(\.count) }

    private func name(_ descriptor: Int32) -> String { state.withLock { $0.names[descriptor] ?? "?" } }

    private func add(_ change: Change) { state.withLock { $0.changes.append(change) } }

    /// Whether this call is the one that fails, with `errno` set.
    ///
    /// Only a write can be short, so only writes count then.
    private func fails(isWrite: Bool = false) -> Bool {
        guard isWrite || fault != .shortWrite else { return false }
        let isChosen = state.withLock { state in
            defer { state.count += 1 }
            return state.count == failing
        }
        guard isChosen else { return false }
        errno = fault == .noSpace ? ENOSPC : fault == .interrupted ? EINTR : EIO
        return true
    }

    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        guard !fails() else { return -1 }
        opening(path)
        let descriptor = system.open(path, flags, mode)
        let name = path.split(separator: "/").last.map(String.init) ?? "/"
        guard descriptor >= 0 else { return descriptor }
        state.withLock { $0.names[descriptor] = name }
        add(.open(name, truncated: flags & O_TRUNC != 0))
        return descriptor
    }

    func lock(_ descriptor: Int32) -> Int32 {
        add(.lock(name(descriptor)))
        return system.lock(descriptor)
    }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        var bytes = bytes
        if fails(isWrite: true) {
            guard fault == .shortWrite else { return -1 }
            bytes = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
        }
        let count = system.write(descriptor, bytes)
        if count > 0 { add(.write(name(descriptor), Data(bytes[..<count]))) }
        return count
    }

    func synchronise(_ descriptor: Int32) -> Int32 {
        guard !fails() else { return -1 }
        add(.synchronise(name(descriptor)))
        return system.synchronise(descriptor)
    }

    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 {
        guard !fails() else { return -1 }
        add(.truncate(name(descriptor), Int64(size)))
        return system.truncate(descriptor, size)
    }

    func rename(_ path: String, _ target: String) -> Int32 {
        guard !fails() else { return -1 }
        let names = [path, target].map { $0.split(separator: "/").last.map(String.init) ?? "" }
        add(.rename(names[0], names[1]))
        return system.rename(path, target)
    }

    /// The files on the disk after a number of changes, as a loss of power leaves them.
    ///
    /// Everything after the first unsynchronised byte is lost; renames take effect immediately.
    static func files(after changes: ArraySlice<Change>, isPowerLost: Bool) -> [String: Data] {
        var live: [String: Data] = [:]
        var safe: [String: Data] = [:]
        for change in changes {
            switch change {
            case .open(let name, let truncated):
                if truncated || live[name] == nil { live[name] = Data() }
                if safe[name] == nil { safe[name] = Data() }
            case .lock: break
            case .write(let name, let bytes): live[name, default: Data()] += bytes
            case .synchronise(let name): safe[name] = live[name]
            case .truncate(let name, let size):
                live[name] = live[name]?.prefix(Int(size))
                safe[name] = safe[name]?.prefix(Int(size))
            case .rename(let old, let new):
                live[new] = live.removeValue(forKey: old)
                safe[new] = safe.removeValue(forKey: old)
            }
        }
        return isPowerLost ? safe : live
    }
}

/// Writes that are observed, or for which the disk has no space within one text.
final class InterceptedWrites: DiskCalls {
    private let system = SystemDiskCalls()
    private let failed: @Sendable (Int32) -> Void
    private let full: [UInt8]
    private let isFull = Locked(false)

    /// Writes only the first three of the bytes that begin with `full`; `failed` receives the cause of each failure.
    init(full: String = "", failed: @escaping @Sendable (Int32) -> Void = { _ in }) {
        self.full = Array(full.utf8)
        self.failed = failed
    }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        let wasFull = isFull.withLock { isFull in
            defer { isFull = !full.isEmpty && bytes.starts(with: full) }
            return isFull
        }
        if wasFull {
            errno = ENOSPC
            return -1
        }
        if isFull.withLock(\.self) {
            return system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<3]))
        }
        let count = system.write(descriptor, bytes)
        if count < 0 {
            let code = errno
            failed(code)
            errno = code
        }
        return count
    }

    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { system.open(path, flags, mode) }
    func lock(_ descriptor: Int32) -> Int32 { system.lock(descriptor) }
    func synchronise(_ descriptor: Int32) -> Int32 { system.synchronise(descriptor) }
    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { system.truncate(descriptor, size) }
    func rename(_ path: String, _ target: String) -> Int32 { system.rename(path, target) }
}

@Suite("Harvests on a disk that fails", .timeLimit(.minutes(5)))
struct HarvestDiskTests {
    private static let names = ["out", "out.journal", "out.journal.new"]

    private func harvest(_ calls: RecordingCalls, prefetch: Int = 0) throws -> Harvest {
        var harvest = try HarvestSample.harvest()
        harvest.calls = calls
        harvest.prefetch = prefetch
        return harvest
    }

    /// The changes of a whole run.
    private func recorded() async throws -> [RecordingCalls.Change] {
        let folder = try TemporaryFolder()
        let calls = RecordingCalls()
        _ = try await harvest(calls).run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        #expect(folder.text("out") == HarvestSample.lines(0..<15))
        return calls.changes
    }

    @Test("finding FQ-8 flushes the items before the journal says that they are there")
    func order() async throws {
        let changes = try await recorded()
        var written = 0
        var flushed = 0
        var journals: [Int64] = []
        for change in changes {
            switch change {
            case .write("out", let bytes): written += bytes.count
            case .synchronise("out"): flushed = written
            case .write("out.journal.new", let bytes):
                let journal = try JSONDecoder().decode(HarvestJournal.self, from: bytes)
                #expect(journal.bytes == Int64(flushed))
                journals.append(journal.bytes)
            default: break
            }
        }
        #expect(Set(journals).count == 6 && journals.first == 0)
        let renames = changes.indices.filter { changes[$0] == .rename("out.journal.new", "out.journal") }
        #expect(renames.count == journals.count)
        for index in renames {
            #expect(changes[index - 1] == .synchronise("out.journal.new"))
            // The new name is in the folder, which is a file of its own.
            guard changes.indices.contains(index + 2), case .open(let folder, truncated: false) = changes[index + 1]
            else {
                Issue.record("\(changes[index...].prefix(3))")
                continue
            }
            #expect(folder.hasPrefix("lade-") && changes[index + 2] == .synchronise(folder))
        }
    }

    @Test("finding FQ-24 pages PA-21 each journal replaces the one before whole, and has what the output then has")
    func journals() async throws {
        let folder = try TemporaryFolder()
        let calls = RecordingCalls()
        let harvest = try harvest(calls)
        let source = HarvestSample.source(total: true)

        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        let changes = calls.changes
        let output = Data(try #require(folder.text("out")).utf8)
        var journals: [HarvestJournal] = []
        for (index, change) in changes.enumerated() {
            guard case .write("out.journal.new", let bytes) = change else {
                // The journal itself is only ever replaced.
                switch change {
                case .write("out.journal", _), .truncate("out.journal", _), .open("out.journal", truncated: true):
                    Issue.record("\(change)")
                default: break
                }
                continue
            }
            let journal = try JSONDecoder().decode(HarvestJournal.self, from: bytes)
            journals.append(journal)
            #expect(journal.checksum == String(CRC64.checksum(Array(output.prefix(Int(journal.bytes)))), radix: 16))
            #expect(
                changes[(index + 1)...].prefix(2) == [
                    .synchronise("out.journal.new"), .rename("out.journal.new", "out.journal"),
                ]
            )
        }
        // The last page ends the list, so its journal is the last one.
        #expect(journals.map(\.pages) == [0, 1, 2, 3, 4, 5])
        for journal in journals {
            #expect(journal.items == 3 * journal.pages && journal.skippedItems == 0 && journal.duplicates == 0)
            #expect(journal.bytes == Int64(HarvestSample.lines(0..<journal.items).utf8.count))
            #expect(journal.isComplete == (journal.pages == 5))
            #expect(journal.nextNumber == journal.pages)
            #expect(journal.total == (journal.pages == 0 ? nil : 15))
            let next = "https://api.example.com/list?page=\(journal.pages)&token=secret"
            #expect(journal.nextURL == ((1...4).contains(journal.pages) ? next : nil))
            #expect(
                journal.arguments == [
                    "url": "https://api.example.com/list", "method": "GET", "items": "/items", "next": "body /next",
                    "size": "0", "duplicates": "kept",
                ]
            )
        }
        #expect(try #require(journals.last).bodyBytes > Int64(output.count))
    }

    @Test("finding FL-4 reads the journal only when it holds the lock of the output")
    func lockFirst() async throws {
        let folder = try TemporaryFolder()
        _ = try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        let calls = RecordingCalls()
        _ = try await harvest(calls).run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        let changes = calls.changes
        let lock = try #require(changes.firstIndex(of: .lock("out")))
        let read = try #require(changes.firstIndex(of: .open("out.journal", truncated: false)))
        #expect(lock < read)
    }

    @Test("finding FL-4 locks what has the name of the output now, when it was replaced meanwhile")
    func replaced() async throws {
        /// Replaces the output between opening and locking.
        struct Replacing: DiskCalls {
            let system = SystemDiskCalls()
            let path: String
            let wasReplaced = Locked(false)

            func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { system.open(path, flags, mode) }
            func lock(_ descriptor: Int32) -> Int32 {
                let isFirst = wasReplaced.withLock { was in
                    defer { was = true }
                    return !was
                }
                if isFirst { _ = system.rename(path, path + ".moved") }
                return system.lock(descriptor)
            }
            func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int { system.write(descriptor, bytes) }
            func synchronise(_ descriptor: Int32) -> Int32 { system.synchronise(descriptor) }
            func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { system.truncate(descriptor, size) }
            func rename(_ path: String, _ target: String) -> Int32 { system.rename(path, target) }
        }
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.calls = Replacing(path: folder.file("out"))

        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == HarvestSample.lines(0..<15))
        #expect(folder.text("out.moved") == "")
    }

    @Test(
        "finding FQ-8 continues from any moment of a run, after a kill and after a loss of power",
        arguments: [false, true]
    )
    func anyMoment(isPowerLost: Bool) async throws {
        let changes = try await recorded()
        for moment in 0...changes.count {
            let folder = try TemporaryFolder()
            let files = RecordingCalls.files(after: changes[..<moment], isPowerLost: isPowerLost)
            for name in Self.names {
                if let bytes = files[name] { try bytes.write(to: URL(filePath: folder.file(name))) }
            }

            let summary = try await harvest(RecordingCalls(), prefetch: moment % 3)
                .run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

            #expect(summary.ending == .complete && summary.items == 15, "moment \(moment)")
            #expect(folder.text("out") == HarvestSample.lines(0..<15), "moment \(moment)")
        }
    }

    @Test("finding FQ-8 loses nothing when any call fails", arguments: RecordingCalls.Fault.allCases)
    func anyFault(fault: RecordingCalls.Fault) async throws {
        var failures = 0
        for failing in 0..<1_000 {
            let folder = try TemporaryFolder()
            let calls = RecordingCalls(failing: failing, fault)
            let harvest = try harvest(calls)
            do throws(HarvestError) {
                _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
                #expect(folder.text("out") == HarvestSample.lines(0..<15), "call \(failing)")
            } catch {
                failures += 1
                switch error {
                case .file, .diskFull: break
                default: Issue.record("call \(failing): \(error)")
                }
                #expect(HarvestSample.lines(0..<15).hasPrefix(folder.text("out") ?? ""))
                #expect(!folder.names.contains("out.journal.new"), "call \(failing)")
            }

            let again = try await HarvestSample.harvest()
                .run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

            #expect(again.ending == .complete, "call \(failing)")
            #expect(folder.text("out") == HarvestSample.lines(0..<15), "call \(failing)")
            if calls.count <= failing { break }
        }
        #expect(fault == .shortWrite ? failures == 0 : failures >= 10)
    }

    @Test(
        "finding FQ-9 refuses, by its name, each argument that changes what is written",
        arguments: [
            "url", "method", "items", "next", "size", "duplicates", "identity", "body", "total", "accept",
            "accept-language",
        ]
    )
    func arguments(name: String) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request.headers.set("Accept", "application/json")
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        var changed = harvest
        changed.pageLimit = nil
        switch name {
        case "url": changed.request.url = try #require(URL(string: "https://api.example.com/other"))
        case "method": changed.request.method = .post
        case "items": changed.items = ["other"]
        case "next": changed.rules = [.body(["other"])]
        case "size": changed.size = 7
        case "duplicates": changed.duplicates = .dropped
        case "identity": changed.identity = ["id"]
        case "body": changed.request.body = .text("a")
        case "total": changed.total = .body(["total"])
        case "accept-language": changed.request.headers.set("Accept-Language", "de")
        default: changed.request.headers.set("Accept", "application/xml")
        }

        let error = await #expect(throws: HarvestError.self) {
            try await changed.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.map(\.argument) == [name])
        #expect(folder.text("out") == HarvestSample.lines(0..<3) && folder.text("out.journal") == journal)
    }

    @Test("finding FQ-9 refuses another body, identity and total, with both values")
    func changedValues() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request.method = .post
        harvest.request.body = .text("a")
        harvest.identity = ["id"]
        harvest.total = .body(["total"])
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        harvest.request.body = .text("b")
        harvest.identity = ["x"]
        harvest.total = .header("X-Total")

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.map(\.argument) == ["body", "identity", "total"])
        #expect(differences.allSatisfy { $0.before != nil && $0.now != nil && $0.before != $0.now })
    }

    @Test("finding FQ-9 refuses another way to ask for the size of pages, as part of the address")
    func changedSizer() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.size = 3
        harvest.sizer = .query("limit")
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        harvest.sizer = .query("per_page")

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let url = "https://api.example.com/list"
        #expect(differences == [.init(argument: "url", before: url + "?limit=3", now: url + "?per_page=3")])
    }

    @Test("finding FQ-9 finding CF-13 refuses another value of a query item that is a secret, and does not show it")
    func changedSecret() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request = try Request("https://api.example.com/list?channel-of-mine=first")
        harvest.request.secretQueryNames = ["channel-of-mine"]
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        #expect(folder.text("out.journal")?.contains("first") == false)
        harvest.request.url = try #require(URL(string: "https://api.example.com/list?channel-of-mine=second"))
        harvest.pageLimit = nil

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(
            differences == [
                .init(argument: "a secret in the url", before: "one value", now: "another value", isRenewal: true)
            ]
        )
    }

    @Test("finding FQ-9 refuses another offset in the file of the body")
    func changedOffset() async throws {
        let folder = try TemporaryFolder()
        try "body".write(toFile: folder.file("body"), atomically: false, encoding: .utf8)
        var harvest = try HarvestSample.harvest()
        harvest.request.method = .post
        harvest.request.body = try .file(folder.file("body"))
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        harvest.request.body = try .file(folder.file("body"), offset: 1)

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let path = folder.file("body")
        #expect(differences == [.init(argument: "body", before: "\(path) from 0", now: "\(path) from 1")])
    }

    @Test("the journal is for its owner alone, because addresses of pages may contain tokens")
    func privateJournal() async throws {
        let folder = try TemporaryFolder()
        _ = try await HarvestSample.stoppedHarvest(in: folder)

        #expect(folder.text("out.journal")?.contains("token=secret") == true)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("out.journal"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("refuses a journal of another format, and says which")
    func otherFormat() async throws {
        let folder = try TemporaryFolder()
        let harvest = try await HarvestSample.stoppedHarvest(in: folder)
        let journal = try #require(folder.text("out.journal")).replacing("\"format\" : 1", with: "\"format\" : 2")
        try journal.write(toFile: folder.file("out.journal"), atomically: false, encoding: .utf8)

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .invalidJournal(_, let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason == "its format is 2")
        #expect(folder.text("out") == HarvestSample.lines(0..<3) && folder.text("out.journal") == journal)
    }

    @Test(
        "finding FL-1 refuses a journal whose numbers no run can have written",
        arguments: [
            "pages", "items", "bytes", "bodyBytes", "nextNumber", "skippedItems", "duplicates", "itemsBefore", "total",
        ]
    )
    func implausibleJournal(name: String) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.pageLimit = 1
        harvest.total = .body(["total"])
        let source = HarvestSample.source(total: true)
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        // A server can announce any total.
        for number in name == "total" ? [-1, .min] : [Int.max, Int.max - 1, .min] {
            let damaged = journal.replacing(try Regex("\"\(name)\" : [0-9]+"), with: "\"\(name)\" : \(number)")
            #expect(damaged != journal)
            try damaged.write(toFile: folder.file("out.journal"), atomically: false, encoding: .utf8)

            let error = await #expect(throws: HarvestError.self) {
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }

            guard case .invalidJournal = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(
        "finding LX-12 no number of a crafted journal ends the program",
        arguments: ["itemsBefore", "total", "firstTotal", "every", "items", "bytes", "format", "stride"]
    )
    func craftedJournal(name: String) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.pageLimit = 1
        let source = HarvestSample.source(total: true)
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        let output = try #require(folder.text("out"))
        harvest.pageLimit = nil
        harvest.prefetch = 2
        for number in [Int.max, .max - 1, .max / 2 + 1, .max / 4, .max / 4 + 1, 1 << 53, 0, -1, .min] {
            let crafted = journal.replacing(try Regex("\"\(name)\" : [0-9]+"), with: "\"\(name)\" : \(number)")
            try crafted.write(toFile: folder.file("out.journal"), atomically: false, encoding: .utf8)
            try output.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

            // Either is right; a trap ends the tests.
            _ = await Result<Harvest.Summary, any Error> { [harvest] in
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }
        }
    }

    @Test(
        "pages PA-25 reports a full disk, a quota and a limit of files as lack of space",
        arguments: [ENOSPC, EDQUOT, EFBIG]
    )
    func lackOfSpace(code: Int32) {
        guard case .diskFull("out") = Disk.failure("out", code, .write) else {
            Issue.record("\(code)")
            return
        }
    }

    @Test(
        "writes to file systems that cannot flush, and reports a flush that fails",
        arguments: [(EINVAL, true), (ENOTSUP, true), (EROFS, true), (EIO, false)]
    )
    func flushes(code: Int32, isComplete: Bool) async throws {
        /// Flushes that fail with one cause.
        struct Unflushed: DiskCalls {
            let system = SystemDiskCalls()
            let code: Int32

            func synchronise(_ descriptor: Int32) -> Int32 {
                errno = code
                return -1
            }
            func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { system.open(path, flags, mode) }
            func lock(_ descriptor: Int32) -> Int32 { system.lock(descriptor) }
            func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int { system.write(descriptor, bytes) }
            func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { system.truncate(descriptor, size) }
            func rename(_ path: String, _ target: String) -> Int32 { system.rename(path, target) }
        }
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.calls = Unflushed(code: code)

        let result = await Result<Harvest.Summary, any Error> { [harvest] in
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        #expect((try? result.get().ending == .complete) == (isComplete ? true : nil))
        #expect(folder.text("out") == (isComplete ? HarvestSample.lines(0..<15) : nil))
    }

    @Test("continues a write that a signal interrupted")
    func interruptedWrites() async throws {
        /// Writes of which each second one is interrupted before it begins.
        struct Interrupted: DiskCalls {
            let system = SystemDiskCalls()
            let count = Locked(0)

            func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
                let isInterrupted = count.withLock { count in
                    count += 1
                    return count % 2 == 1
                }
                guard isInterrupted else { return system.write(descriptor, bytes) }
                errno = EINTR
                return -1
            }
            func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { system.open(path, flags, mode) }
            func lock(_ descriptor: Int32) -> Int32 { system.lock(descriptor) }
            func synchronise(_ descriptor: Int32) -> Int32 { system.synchronise(descriptor) }
            func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { system.truncate(descriptor, size) }
            func rename(_ path: String, _ target: String) -> Int32 { system.rename(path, target) }
        }
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.calls = Interrupted()

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete)
        #expect(folder.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("flushes the folder of a new journal, wherever that is", arguments: ["/j": "/", "/a/j": "/a", "j": "."])
    func folders(target: String, folder: String) throws {
        final class Opened: DiskCalls {
            let paths = Locked<[String]>([])
            func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
                paths.withLock { $0.append(path) }
                return -1
            }
            func lock(_ descriptor: Int32) -> Int32 { 0 }
            func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int { 0 }
            func synchronise(_ descriptor: Int32) -> Int32 { 0 }
            func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { 0 }
            func rename(_ path: String, _ target: String) -> Int32 { 0 }
        }
        let calls = Opened()

        try Disk.rename(target + ".new", to: target, calls)

        #expect(calls.paths.withLock(\.self) == [folder])
    }

    @Test("closes every file that it opened, also of a run that is refused", .enabled(if: isLinux))
    func openFiles() async throws {
        let folder = try TemporaryFolder()
        let running = PagedSource { asked in
            asked["p"] == nil ? .json(#"{"items":[1],"next":"/list?p=1"}"#) : .stalls
        }
        let harvest = try HarvestSample.harvest()
        let task = Task { try await harvest.run(with: running.loader, to: .file(folder.file("out"))) }
        _ = try await running.transport.request(at: 1)
        await #expect(throws: HarvestError.self) {
            try await harvest.run(with: running.loader, to: .file(folder.file("out")))
        }
        #expect(openFiles(in: folder) == ["out"])
        task.cancel()
        _ = await task.result

        // The journal of the first run is read by this one.
        let summary = try await harvest.run(
            with: PagedSource { _ in .json(#"{"items":[2]}"#) }.loader,
            to: .file(folder.file("out"))
        )

        #expect(summary.items == 2 && summary.resumedPages == 1)
        #expect(openFiles(in: folder) == [])
    }

    /// The names of the open files in a folder, and "" for the folder itself.
    private func openFiles(in folder: TemporaryFolder) -> [String] {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let paths = descriptors.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }
        return paths.filter { $0.hasPrefix(folder.path) }.map { String($0.dropFirst(folder.path.count)) }.sorted()
    }
}

#if os(Linux)
    private let isLinux = true
#else
    private let isLinux = false
#endif
