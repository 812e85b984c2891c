import Foundation
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// `lade pages --fleet` in several processes on a real store, some of which are killed.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct FleetHarvestProcessTests {
    /// The program that the tests were built with.
    private static let program =
        URL(fileURLWithPath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")
        .deletingLastPathComponent().path + "/lade"
    private static let pages = 120

    private struct State {
        var requests: [String: Int] = [:]
        var isWell = true
        var count = 0
    }

    /// Pages by number, with links as well; the first request for some of them fails.
    private static func server(_ state: Locked<State>, _ random: SeededRandom) throws -> LoopbackServer {
        try LoopbackServer { request in
            let page = request.queryItem("page").flatMap { Int($0) } ?? 1
            let region = request.queryItem("region") ?? "0"
            let fault = random.next(below: 40)
            let isFirst = state.withLock { state in
                state.count += 1
                state.requests["\(page) \(region)", default: 0] += 1
                return state.requests["\(page) \(region)"] == 1 && !state.isWell
            }
            if isFirst {
                switch fault {
                case 0: return .status(503)
                case 1: return .status(429)
                case 2: return .json("{\"items\":[")
                default: break
                }
            }
            let last = region == "0" ? pages : 20
            let items =
                page > last ? "" : (0..<5).map { #"{ "id" : "\#(region)-\#(page)-\#($0)" }"# }.joined(separator: " , ")
            let next = page < last ? ", \"next\": \"/list?page=\(page + 1)&region=\(region)\"" : ""
            return .json("{\"items\": [\(items)]\(next)}")
        }
    }

    private func line(_ address: String, _ form: String, _ output: String) -> [String] {
        ["pages", address, "--items", "/items", "--no-config", "--silent", "-o", output]
            + (form == "pages" ? ["--next", "page:page"] : [])
    }

    @Test(
        "fleet RD-79 RD-100 RD-121 RD-126 processes that are killed at random moments write the bytes of one",
        arguments: ["pages", "links", "partitions"]
    )
    func killed(form: String) async throws {
        let seed = Soak.current.seed(for: "processes of a harvest, \(form)")
        let random = SeededRandom(seed: seed)
        let store = try StoreServer.start()
        let folder = try TemporaryFolder()
        let state = Locked(State())
        let server = try Self.server(state, random)
        let address = server.address("/list")

        var expected = ""
        for region in form == "partitions" ? ["1", "2", "3"] : ["0"] {
            let single = line("\(address)?region=\(region)", form, folder.file("single\(region)"))
            #expect(try await ChildProcess(Self.program, single).ended() == 0)
            expected += try #require(folder.text("single\(region)"))
        }
        state.withLock { $0 = State(isWell: false) }

        let output = folder.file("out")
        let fleet = ["--fleet", store.url, "--segment", "4"]
        let partitions = form == "partitions" ? ["--partition", "region=1..4/1"] : []
        let list = form == "partitions" ? address : "\(address)?region=0"
        func start(_ number: Int) throws -> ChildProcess {
            try ChildProcess(
                Self.program,
                line(list, form, output) + fleet + partitions + ["--worker", "w\(number)"]
            )
        }
        var processes = try (0..<3).map { try start($0) }
        for _ in 0..<3 {
            let count = state.withLock(\.count) + 5 + random.next(below: 15)
            while state.withLock(\.count) < count, folder.text("out") == nil {
                try await SystemTime().sleep(for: .milliseconds(2))
            }
            let victim = random.next(below: 3)
            processes[victim].send(SIGKILL)
            _ = try await processes[victim].ended()
            processes[victim] = try start(victim)
        }
        for process in processes { #expect(try await process.ended() == 0, "seed \(seed)") }

        #expect(folder.text("out") == expected, "seed \(seed)")
        let before = state.withLock(\.count)
        #expect(try await start(9).ended() == 0)
        #expect(state.withLock(\.count) == before)
    }

    @Test("fleet RD-88 other arguments are exit code 1 with what differs, and nothing is fetched")
    func otherArguments() async throws {
        let store = try StoreServer.start()
        let folder = try TemporaryFolder()
        let state = Locked(State())
        let server = try Self.server(state, SeededRandom(seed: 1))
        let list = line(server.address("/list?region=1"), "pages", folder.file("out"))
        #expect(try await ChildProcess(Self.program, list + ["--fleet", store.url]).ended() == 0)
        let count = state.withLock(\.count)
        let other = list + ["--fleet", store.url, "--segment", "7", "--worker", "other"]
        #expect(try await ChildProcess(Self.program, other).ended() == 1)
        #expect(state.withLock(\.count) == count)
    }
}
