import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// Harvests in a separate process that is killed, runs out of disk space, or has a failing server.
@Suite("Harvests that are killed", .timeLimit(.minutes(5)))
struct HarvestCrashTests {
    /// The shared state of the probe and the server.
    private final class KilledHarvest: Sendable {
        struct State {
            let random: SeededRandom
            var requests = 0
            var killAt = Int.max
            var process: ChildProcess?
        }

        let state: Locked<State>
        /// Entered while the probe is about to be killed: it gets no page, because on a busy machine it would finish.
        let dying = DispatchGroup()

        init(seed: UInt64) { state = Locked(State(random: SeededRandom(seed: seed))) }
    }

    private static let itemsPerPage = 4

    private static func page(_ number: Int, of count: Int) -> String {
        let first = number * itemsPerPage
        let items = (first..<first + itemsPerPage).map { #"{ "id": \#($0), "title": "Numéro \#($0)" }"# }
        let next = number + 1 < count ? ", \"next\": \"/list?page=\(number + 1)\"" : ""
        return "{\n  \"items\": [\n    \(items.joined(separator: ",\n    "))\n  ]\(next)\n}"
    }

    private static func expected(_ pages: Int) -> Data {
        Data((0..<pages * itemsPerPage).map { #"{"id":\#($0),"title":"Numéro \#($0)"}"# + "\n" }.joined().utf8)
    }

    private static func server(_ pages: Int, _ killedHarvest: KilledHarvest) throws -> LoopbackServer {
        var options = LoopbackServer.Options()
        options.keptRequests = 0
        return try LoopbackServer(options) { request in
            killedHarvest.dying.wait()
            let random = killedHarvest.state.withLock { $0.random }
            let (fault, pause) = (random.next(below: 100), random.next(below: 3_000_000))
            let victim = killedHarvest.state.withLock { state -> ChildProcess? in
                state.requests += 1
                guard state.requests >= state.killAt, let process = state.process else { return nil }
                state.killAt = .max
                return process
            }
            if let victim {
                // In the 3 ms after a page was requested, the page before is written, flushed and saved.
                killedHarvest.dying.enter()
                DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(pause)) {
                    victim.send(SIGKILL)
                    killedHarvest.dying.leave()
                }
            }
            let number = request.queryItem("page").flatMap { Int($0) } ?? 0
            switch fault {
            case 0: return .status(503)
            case 1: throw CancellationError()
            case 2:
                let body = Data(page(number, of: pages).utf8)
                return ServerResponse(
                    fields: [ServerField("Content-Length", String(body.count))],
                    body: .raw { try $0.send(body.prefix(body.count / 2)) }
                )
            default: return .json(page(number, of: pages))
            }
        }
    }

    /// The program that was built with the tests.
    static let probe: String = {
        #if os(Linux)
            let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        #else
            let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") } ?? ""
        #endif
        return URL(filePath: bundle).deletingLastPathComponent().path() + "Probe"
    }()

    private static func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(probe, ["harvest"] + arguments)
    }

    /// There are thousands of pages and 50 kills in `make soak`, and a quarter of them in `make test`.
    @Test(
        "pages PA-22 comes out byte-identical from a harvest of many pages that is killed at random moments",
        // A page takes the journal to the disk: 10,000 pages took five minutes beside the other tests.
        arguments: [(0, 4_000), (2, 2_000)]
    )
    func killed(prefetch: Int, allPages: Int) async throws {
        let folder = try TemporaryFolder()
        let seed = Soak.current.seed(for: "killed harvests")
        let pages = Soak.current.rounds(of: allPages, few: allPages / 4)
        let rounds = Soak.current.rounds(of: 50, few: 12)
        let killedHarvest = KilledHarvest(seed: seed)
        let server = try Self.server(pages, killedHarvest)
        let arguments = [server.address("/list"), folder.file("out"), String(prefetch), "1"]
        var kills = 0
        for _ in 0..<rounds {
            let next = killedHarvest.state.withLock { $0.random }.next(below: pages * 5 / 4 / rounds) + 1
            killedHarvest.state.withLock { state in
                state.process = nil
                state.killAt = state.requests + next
            }
            let process = try Self.start(arguments)
            killedHarvest.state.withLock { $0.process = process }
            let status = try await process.ended()
            killedHarvest.state.withLock { $0.process = nil }
            if status == -SIGKILL { kills += 1 }
            #expect(status == -SIGKILL || status == 0, "seed \(seed): the probe ended with \(status)")
        }

        let status = try await Self.start(arguments).ended()

        #expect(status == 0)
        #expect(kills >= rounds / 2, "seed \(seed): only \(kills) kills met a running harvest")
        let output = FileManager.default.contents(atPath: folder.file("out"))
        #expect(output == Self.expected(pages), "seed \(seed)")
    }

    /// Whether Scripts/sanitize runs the tests.
    static let isSanitized = ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil

    @Test(
        "pages PA-25 ends when the disk is full, and continues when there is space again",
        .disabled(if: isSanitized, "a sanitizer writes larger files than the limit allows"),
        arguments: [0, 2]
    )
    func diskFull(prefetch: Int) async throws {
        let pages = 400
        let folder = try TemporaryFolder()
        let server = try Self.server(pages, KilledHarvest(seed: 3))
        let arguments = [server.address("/list"), folder.file("out"), String(prefetch), "50"]

        // The unit is 512 bytes in some shells and 1,024 in others: in any case less than the whole.
        let limit = "ulimit -f 20; exec \"$0\" \"$@\""
        let full = try await ChildProcess("/bin/sh", ["-c", limit, Self.probe, "harvest"] + arguments).ended()
        let journal = FileManager.default.contents(atPath: folder.file("out.journal"))
        let whole = try await Self.start(arguments).ended()

        #expect(full == 14)
        #expect(journal != nil)
        #expect(whole == 0)
        #expect(FileManager.default.contents(atPath: folder.file("out")) == Self.expected(pages))
    }
}
