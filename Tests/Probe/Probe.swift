import Dispatch
import LadeHarvest

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A separate program, for tests and measurements that need one.
///
///     Probe harvest URL FILE PREFETCH SAVE-INTERVAL-MS
///
/// harvests a list into a file, again and again until it is complete, for the tests that kill it, fill its disk and measure
/// it. Exits with 0 when complete, with 14 when it cannot write, and with 15 when the test has ended before it. On Linux
/// it prints its peak memory in kilobytes at the end.
///
///     Probe load URL COUNT
///
/// loads an address so often, with every setting at its default, for Benchmarks/walk.
///
///     Probe hedge URL COUNT DELAY
///
/// loads an address so often, ten at a time, and prints how many milliseconds each call took, for Benchmarks/hedging. DELAY is that of
/// the hedges in milliseconds, a percentile such as p98, or none.
@main
enum Probe {
    // The first thread waits in `main`: valgrind does not survive its end, which an asynchronous `main` has.
    static func main() {
        let done = DispatchSemaphore(value: 0)
        let outcome = Locked<Int32>(1)
        Task.detached {
            let status = await status(Array(CommandLine.arguments.dropFirst()))
            outcome.withLock { $0 = status }
            done.signal()
        }
        done.wait()
        exit(outcome.withLock(\.self))
    }

    private static func status(_ arguments: [String]) async -> Int32 {
        do {
            if arguments.count == 3, arguments[0] == "load", let count = Int(arguments[2]) {
                try await load(arguments[1], count)
                return 0
            }
            if arguments.count == 4, arguments[0] == "hedge", let count = Int(arguments[2]) {
                try await hedge(arguments[1], count, arguments[3])
                return 0
            }
            guard arguments.count == 5, arguments[0] == "harvest", let prefetch = Int(arguments[3]),
                let interval = Int(arguments[4])
            else { return 1 }
            return try await harvest(arguments[1], to: arguments[2], prefetch, saveInterval: .milliseconds(interval))
        } catch {
            print(error)
            return 1
        }
    }

    private static func load(_ address: String, _ count: Int) async throws {
        let loader = try Service().anonymous.makeLoader()
        let request = try Request(address)
        for _ in 0..<count { _ = try await loader.load(request) }
    }

    private static func hedge(_ address: String, _ count: Int, _ delay: String) async throws {
        var settings = Service.Settings()
        if let percent = Double(delay.dropFirst()), delay.hasPrefix("p") {
            settings.hedging = .percentile(percent)
        } else {
            settings.hedging = Int(delay).map { .delay(.milliseconds($0)) }
        }
        settings.transport.connections.perHost = 40
        let loader = try Service(settings).anonymous.makeLoader()
        let request = try Request(address)
        try await withThrowingTaskGroup(of: [Duration].self) { tasks in
            for _ in 0..<10 {
                tasks.addTask {
                    var times: [Duration] = []
                    for _ in 0..<count / 10 {
                        let start = ContinuousClock.now
                        _ = try await loader.load(request)
                        times.append(start.duration(to: .now))
                    }
                    return times
                }
            }
            for try await times in tasks {
                for time in times {
                    print(
                        Double(time.components.attoseconds / 1_000_000_000) / 1e6 + Double(time.components.seconds)
                            * 1e3
                    )
                }
            }
        }
    }

    private static func harvest(
        _ address: String,
        to file: String,
        _ prefetch: Int,
        saveInterval: Duration
    ) async throws -> Int32 {
        // Without these settings the system would end the program instead of returning an error.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        var harvest = Harvest(try Request(address))
        harvest.items = ["items"]
        harvest.rules = [.body(["next"])]
        harvest.prefetch = prefetch
        harvest.saveInterval = saveInterval
        harvest.request.timeouts.idle = .seconds(2)
        // Every fault must end the harvest, not only an attempt.
        var settings = Service.Settings()
        settings.retries.limit = 0
        let loader = try Service(settings).anonymous.makeLoader()
        let test = getppid()
        for _ in 0..<10_000 {
            guard getppid() == test else { return 15 }
            do throws(HarvestError) {
                guard try await harvest.run(with: loader, to: .file(file)).ending == .complete else { continue }
                // getrusage is not used, because its peak includes that of the parent process.
                let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
                for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
                    print(line.filter(\.isNumber))
                }
                return 0
            } catch {
                switch error {
                case .page: continue
                case .diskFull, .file: return 14
                default: throw error
                }
            }
        }
        return 12
    }
}
