import Foundation
import Lade
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

/// A list in one of several forms behind a server, and the folder, the board and the workers of a run.
final class FleetRig: Sendable {
    /// How the pages of the list are found.
    enum Form: String, CaseIterable, Sendable {
        case pages, offsets, links, cursors, partitionedPages, partitionedLinks
    }

    struct Settings: Sendable {
        var form = Form.pages
        var count = 100
        var pageSize = 3
        var segment = 4
        var seed: UInt64 = 1
        /// Of 100 first requests for a page so many fail.
        var faults = 0
        /// The most milliseconds that a response takes.
        var slowness = 100
    }

    private struct State {
        var requests: [String: Int] = [:]
        var fails: @Sendable (PagedSource.Asked) -> ScriptedResponse? = { _ in nil }
        var isWell = false
    }

    let settings: Settings
    let time = VirtualTime()
    let folder: TemporaryFolder
    let board: LocalBoard
    private let transport = ScriptedTransport()
    private let state: Locked<State>
    /// The numbers of runs, each of which is another one, as those of the system are.
    private let epochs: SeededRandom

    init(_ settings: Settings = Settings()) throws {
        self.settings = settings
        folder = try TemporaryFolder()
        board = LocalBoard(time: time)
        state = Locked(State())
        epochs = SeededRandom(seed: settings.seed)
        let random = SeededRandom(seed: settings.seed)
        transport.onAnyRequest().respond(
            .computed { [state] (request, _) async throws(LoadingError) in
                Self.response(request, settings, state, random)
            }
        )
    }

    /// Responses for chosen requests, instead of pages.
    func fail(_ fails: @escaping @Sendable (PagedSource.Asked) -> ScriptedResponse?) {
        state.withLock { $0.fails = fails }
    }

    var output: String { folder.file("out") }
    var requestCount: Int { state.withLock { $0.requests.values.reduce(0, +) } }
    var loader: Loader { transport.makeLoader(.still(in: time)) }
    var requests: [Request] { transport.requests }

    /// The names of the parts in the folder.
    var parts: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: output + ".parts")) ?? []
        return names.filter { $0.hasPrefix("part-") && !$0.hasSuffix(".end") }.sorted()
    }

    private static func response(
        _ request: Request,
        _ settings: Settings,
        _ state: Locked<State>,
        _ random: SeededRandom
    ) -> ScriptedResponse {
        let asked = PagedSource.Asked(request)
        let size = settings.pageSize
        let (fault, delay) = (random.next(below: 100), random.next(below: settings.slowness))
        let (isFirst, chosen) = state.withLock { state in
            state.requests[request.url.absoluteString, default: 0] += 1
            let isFirst = state.requests[request.url.absoluteString] == 1 && !state.isWell
            return (isFirst, state.fails)
        }
        if let response = chosen(asked) { return response }
        if isFirst, fault < settings.faults {
            switch fault % 4 {
            case 0: return .status(429)
            case 1: return .status(503)
            case 2: return .json("{\"items\":[{\"id\":1},")
            default: return .connectionLost()
            }
        }
        let start: Int
        switch settings.form {
        case .pages, .partitionedPages: start = ((asked["page"] ?? 1) - 1) * size
        case .offsets: start = asked["offset"] ?? 0
        case .links, .partitionedLinks, .cursors: start = asked["from"] ?? 0
        }
        let region = asked["region"] ?? 0
        // The lists of the partitions have different lengths.
        let count = max(0, settings.count - region * 7)
        let end = min(start + size, count)
        let items = (min(start, count)..<max(end, min(start, count))).map {
            #"{ "id": \#(region * 10_000 + $0), "é" : "\u00e9 \#($0)" }"#
        }
        var members = "\"items\": [\(items.joined(separator: " ,\n"))]"
        if end < count {
            let partition = asked.query["region"].map { "&region=\($0)" } ?? ""
            let token = asked.query["key"].map { "&key=\($0)" } ?? ""
            switch settings.form {
            case .links, .partitionedLinks: members += ", \"next\": \"/list?from=\(end)\(partition)\(token)\""
            case .cursors: members += ", \"cursor\": \(end)"
            case .pages, .offsets, .partitionedPages: break
            }
        }
        return .json("{\(members)}").after(.milliseconds(delay))
    }

    func harvest(_ calls: any DiskCalls = SystemDiskCalls()) throws -> Harvest {
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.time = time
        harvest.calls = calls
        switch settings.form {
        case .pages, .partitionedPages: harvest.rules = [.pageNumber(query: "page")]
        case .offsets:
            harvest.rules = [.offset(query: "offset", first: 0)]
            harvest.size = settings.pageSize
        case .links, .partitionedLinks: harvest.rules = [.body(["next"])]
        case .cursors: harvest.rules = [.bodyCursor(["cursor"], query: "from")]
        }
        return harvest
    }

    func worker(_ name: String = "one", _ calls: any DiskCalls = SystemDiskCalls()) throws -> HarvestWorker {
        var worker = HarvestWorker(try harvest(calls), run: "shows", name: name, output: output)
        worker.segmentSize = settings.segment
        worker.random = epochs
        if [.partitionedPages, .partitionedLinks].contains(settings.form) {
            worker.partitions = HarvestPartitions(range: "region=0..5/1") ?? .none
        }
        return worker
    }

    /// The output of one harvest without interruptions, one for each partition.
    func expected(_ change: (inout Harvest) -> Void = { _ in }) async throws -> String {
        let partitions = try worker().partitions
        state.withLock { $0.isWell = true }
        defer {
            state.withLock { state in
                state.isWell = false
                state.requests = [:]
            }
        }
        var text = ""
        for index in 0..<partitions.count {
            var harvest = try harvest()
            harvest.request = partitions.request(index, of: harvest.request)
            change(&harvest)
            let lines = Locked(Data())
            let (list, loader) = (harvest, loader)
            _ = try await time.runAutomatically {
                try await list.run(with: loader, to: .writer { data in lines.withLock { $0 += data } })
            }
            text += String(decoding: lines.withLock(\.self), as: UTF8.self)
        }
        return text
    }

    /// Runs workers at the same time, and returns their summaries.
    func run(_ workers: [HarvestWorker]) async throws -> [HarvestWorker.Summary] {
        let (board, loader) = (board, loader)
        return try await time.runAutomatically {
            try await withThrowingTaskGroup(of: (Int, HarvestWorker.Summary).self) { group in
                for (index, worker) in workers.enumerated() {
                    group.addTask {
                        // A process that has ended extends no lease.
                        defer { board.silence(worker.name) }
                        return (index, try await worker.work(on: board.worker(worker.name), with: loader))
                    }
                }
                var found: [Int: HarvestWorker.Summary] = [:]
                for try await (index, summary) in group { found[index] = summary }
                return workers.indices.compactMap { found[$0] }
            }
        }
    }
}

/// The life of a worker's process: it ends after a number of steps, each a call to disk, board or server.
final class Mortal: Sendable {
    private struct State {
        var left: Int
        var isLastCarriedOut: Bool
    }

    private let state: Locked<State>
    private let onDeath: @Sendable () -> Void

    /// Ends before the step with this number, or after it.
    init(steps: Int, isLastCarriedOut: Bool, onDeath: @escaping @Sendable () -> Void) {
        state = Locked(State(left: steps, isLastCarriedOut: isLastCarriedOut))
        self.onDeath = onDeath
    }

    var isDead: Bool { state.withLock { $0.left < 0 } }

    /// Takes a step: whether it is carried out, and whether the process lives after it.
    func step() -> (isCarriedOut: Bool, lives: Bool) {
        let (isCarriedOut, lives, diesNow) = state.withLock { state in
            state.left -= 1
            return (state.left >= 0 || state.left == -1 && state.isLastCarriedOut, state.left >= 0, state.left == -1)
        }
        if diesNow { onDeath() }
        return (isCarriedOut, lives)
    }
}

/// The board of a worker that may end.
final class MortalBoard: WorkBoard {
    private let board: any WorkBoard
    private let life: Mortal

    init(_ board: any WorkBoard, _ life: Mortal) { (self.board, self.life) = (board, life) }

    func carryOut(_ order: BoardOrder) async -> BoardReply? {
        let (isCarriedOut, lives) = life.step()
        guard isCarriedOut else { return nil }
        let reply = await board.carryOut(order)
        return lives ? reply : nil
    }

    func standing(of lease: BoardLease) -> BoardStanding { board.standing(of: lease) }
    func holdsMerge(fence: Int) -> Bool { !life.isDead && board.holdsMerge(fence: fence) }
}

/// The disk of a worker that may end.
final class MortalDisk: DiskCalls {
    private let life: Mortal
    private let system = SystemDiskCalls()

    init(_ life: Mortal) { self.life = life }

    private func perform<Value: BinaryInteger>(_ call: () -> Value) -> Value {
        let (isCarriedOut, lives) = life.step()
        let value = isCarriedOut ? call() : -1
        guard !lives else { return value }
        errno = EIO
        return -1
    }

    // Files that are only read, and those that must be closed again, are none of the steps.
    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        guard !life.isDead else {
            errno = EIO
            return -1
        }
        return system.open(path, flags, mode)
    }

    func lock(_ descriptor: Int32) -> Int32 { system.lock(descriptor) }
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        perform { system.write(descriptor, bytes) }
    }
    func synchronise(_ descriptor: Int32) -> Int32 { perform { system.synchronise(descriptor) } }
    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { perform { system.truncate(descriptor, size) } }
    func rename(_ path: String, _ target: String) -> Int32 { perform { system.rename(path, target) } }
}
