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

/// Measures CA-241, CA-245 and CA-213 once; `COUNT` entries of 1 KB.
struct StoreMeasurement {
    private let store: SQLiteStore
    private let calls: RandomCalls
    private let count: Int

    init(_ store: SQLiteStore, _ calls: RandomCalls, count: Int) {
        (self.store, self.calls, self.count) = (store, calls, count)
    }

    private func measure(_ name: String, _ operations: Int, _ body: () async throws -> Void) async throws {
        let clock = ContinuousClock()
        let before = Self.processorTime()
        let time = try await clock.measure { try await body() }
        let processor = Self.processorTime() - before
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
        report(
            "\(name): \(Int(Double(operations) / seconds))/s, \(seconds) s; \(processor / Double(operations) * 1e6) µs of processor each"
        )
    }

    static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    private func serve(_ keys: [CacheKey], _ rounds: Int, _ seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        for _ in 0..<rounds {
            let key = keys[Int(random.next() % UInt64(keys.count))]
            let lookup = try await store.lookUp(key)
            guard let head = lookup.heads.first else { continue }
            // As the cache does: what the lookup has opened needs no second one.
            var reader = lookup.opened?.use()
            if reader == nil { reader = try await store.open(head.id, span: nil) }
            guard reader?.bytes?.count == 1_000 else { exit(6) }
        }
    }

    @concurrent func run() async throws {
        let keys = (0..<count).map { RandomCalls.key("bench-\($0)") }
        let isFilled = try await calls.read("bench-\(count - 1)")
        if !isFilled {
            try await measure("store 1 KB", count) {
                for number in 0..<count { try await calls.put("bench-\(number)", length: 1_000, seed: UInt64(number)) }
                try await store.flush()
            }
        }
        try await measure("serve 1 KB, one caller, cache CA-241", 2 * count) { try await serve(keys, 2 * count, 1) }
        try await measure("serve 1 KB, 16 callers", 2 * count) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 { group.addTask { try await serve(keys, count / 8, UInt64(task)) } }
                try await group.waitForAll()
            }
        }
        let length = 100 << 20
        try await calls.put("large", length: length, seed: 1)
        try await store.flush()
        for _ in 0..<3 {
            try await measure("stream 100 MiB, in MiB, cache CA-245", 100) {
                guard let head = try await store.lookUp(RandomCalls.key("large")).heads.first,
                    let reader = try await store.open(head.id, span: nil)
                else { return }
                var read = 0
                while let chunk = try await reader.next() { read += chunk.count }
                precondition(read == length)
            }
        }
        let directory = CommandLine.arguments[2]
        try await measure("open", 1) { _ = try SQLiteStore(directory: directory) }
        await store.close()
    }
}
