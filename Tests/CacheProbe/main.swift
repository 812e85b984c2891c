import LadeCache
import LadeCacheSQLite
import LadeCore

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

// Uses a store on disk with random calls: CacheProbe MODE FOLDER LIMIT SEED COUNT
//
// A separate program, for the tests that kill it, fill its disk, and run several of it at once.
//
//     kill   calls without an end; the program kills itself after COUNT microseconds
//     mix    COUNT calls; exits with 0 when every body was right, no removal failed, and one call in fifty at most was dropped
//            because the store was busy
//     fill   stores until a write fails, and then reads everything; exits with 0 when every body was right
//     hold   reserves the exchange for one key, and kills itself
//     bench  measures the store, with COUNT entries
//     fetch  measures calls to the server that PROBE_URL names, COUNT in each row
//     calls  measures calls of services, COUNT in each row
//     empty  COUNT calls of a service without policies
//     plain  COUNT calls of a service without a cache
//     served COUNT calls that are served from memory
//     missed COUNT calls whose responses are stored in memory
//
// A body that is not what was stored ends it with 3, an error of the store with 4.

signal(SIGXFSZ, SIG_IGN)
let arguments = CommandLine.arguments
guard arguments.count == 6, let limit = Int64(arguments[3]), let seed = UInt64(arguments[4]),
    let count = Int(arguments[5])
else { exit(1) }
var settings = SQLiteStore.Settings()
settings.limit = limit
settings.largestBody = 1 << 30
let store: SQLiteStore
do {
    store = try SQLiteStore(directory: arguments[2], settings: settings)
} catch {
    report("opening: \(error)")
    exit(4)
}
let calls = RandomCalls(store, seed: seed)

switch arguments[1] {
case "kill":
    signal(SIGALRM) { _ in kill(getpid(), SIGKILL) }
    ualarm(UInt32(count), 0)
    await withTaskGroup(of: Void.self) { group in
        for task in 0..<3 {
            group.addTask {
                let random = SeededRandom(seed: seed &+ UInt64(task))
                while true {
                    // Another process may be busy for a while; only wrong bytes matter here.
                    try? await calls.call(random, keeps: task == 0)
                }
            }
        }
    }
case "mix":
    let random = SeededRandom(seed: seed)
    do {
        for _ in 0..<count { try await calls.call(random, keeps: false) }
        guard calls.dropped <= count / 50 else {
            report("The store was busy in \(calls.dropped) of \(count) calls")
            exit(4)
        }
    } catch {
        report(error)
        exit(4)
    }
    await store.close()
case "fill":
    var failures = 0
    for number in 0..<count where failures < 3 {
        do {
            try await calls.put("fill-\(number)", length: 20_000, seed: UInt64(number))
            try await store.flush()
        } catch {
            failures += 1
        }
    }
    var found = 0
    for number in 0..<count where try await calls.read("fill-\(number)") { found += 1 }
    report("failures \(failures), found \(found)")
    exit(failures > 0 && found > 0 ? 0 : 5)
case "hold":
    if store.reserveExchange(for: RandomCalls.key("held")) { report("held") }
    kill(getpid(), SIGKILL)
case "bench": try await StoreMeasurement(store, calls, count: count).run()
case "fetch":
    let address = ProcessInfo.processInfo.environment["PROBE_URL"] ?? ""
    try await ServiceMeasurement(arguments[2] + "-calls", count: count).fetch(address)
case "empty", "plain", "served", "missed":
    try await ServiceMeasurement(arguments[2], count: count).repeatCalls(arguments[1])
case "calls": try await ServiceMeasurement(arguments[2] + "-calls", count: count).run()
default: exit(1)
}
exit(0)
