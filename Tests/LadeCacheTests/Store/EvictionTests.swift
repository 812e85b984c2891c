#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCore
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCache

/// The traces of CA-195; `LADE_SOAK` runs them whole.
@Suite(.timeLimit(.minutes(10)))
struct EvictionTests {
    private static let count = Soak.current.rounds(of: 300_000, few: 100_000)

    enum Trace: CaseIterable { case zipf, once, loop }

    /// Requests for keys, popular ones more often.
    private static func requests(_ trace: Trace, capacity: Int, count: Int) -> [Int] {
        let random = SeededRandom(seed: 1)
        let keys = 20_000
        var sums: [Double] = []
        var sum = 0.0
        for rank in 1...keys {
            sum += exp(-0.9 * log(Double(rank)))
            sums.append(sum)
        }
        func popular() -> Int {
            let target = random.unit() * sum
            var (low, high) = (0, keys - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < target { low = middle + 1 } else { high = middle }
            }
            return low
        }
        var requests: [Int] = []
        requests.reserveCapacity(count)
        var fresh = 1_000_000
        while requests.count < count {
            if trace == .once, random.chance(25) {
                fresh += 1
                requests.append(fresh)
                continue
            }
            requests.append(popular())
            if trace == .loop, requests.count % 20_000 == 0 {
                requests += (0..<(2 * capacity)).map { 2_000_000 + $0 }
            }
        }
        return Array(requests.prefix(count))
    }

    private static func cost(_ key: Int, isSized: Bool) -> Int64 {
        // 256 B to 1 MiB, evenly in the exponent.
        isSized ? 256 << (Int64((key &* 2_654_435_761) >> 7 & 0xFFFF) % 13) : 1
    }

    private static func queueHits(_ requests: [Int], limit: Int64, isSized: Bool) -> Int {
        var queue = EvictionQueue()
        var ids: [Int: UInt64] = [:]
        var keys: [UInt64: Int] = [:]
        var (size, hits, last): (Int64, Int, UInt64) = (0, 0, 0)
        for key in requests {
            if let id = ids[key] {
                hits += 1
                queue.touch(id)
                continue
            }
            let cost = cost(key, isSized: isSized)
            last += 1
            ids[key] = last
            keys[last] = key
            size += cost
            queue.insert(last, cost: cost, fingerprint: key, isExpendable: false)
            while size > limit, let id = queue.evict(limit: limit), let old = keys.removeValue(forKey: id) {
                ids[old] = nil
                size -= Self.cost(old, isSized: isSized)
            }
        }
        return hits
    }

    private static func leastRecentlyUsedHits(_ requests: [Int], limit: Int64, isSized: Bool) -> Int {
        var times: [Int: Int] = [:]
        var order: [(key: Int, time: Int)] = []
        var start = 0
        var (size, hits): (Int64, Int) = (0, 0)
        for (time, key) in requests.enumerated() {
            if times[key] != nil { hits += 1 } else { size += cost(key, isSized: isSized) }
            times[key] = time
            order.append((key, time))
            while size > limit {
                let oldest = order[start]
                start += 1
                guard times[oldest.key] == oldest.time else { continue }
                times[oldest.key] = nil
                size -= cost(oldest.key, isSized: isSized)
            }
        }
        return hits
    }

    /// Belady's choice, by a heap of the next uses.
    private static func optimalHits(_ requests: [Int], capacity: Int) -> Int {
        var next = Array(repeating: Int.max, count: requests.count)
        var seen: [Int: Int] = [:]
        for index in requests.indices.reversed() {
            next[index] = seen[requests[index]] ?? .max
            seen[requests[index]] = index
        }
        var held: [Int: Int] = [:]
        var heap: [(use: Int, key: Int)] = []
        var hits = 0
        for (index, key) in requests.enumerated() {
            if held[key] != nil {
                hits += 1
            } else if held.count == capacity {
                while let top = heap.first {
                    heap.swapAt(0, heap.count - 1)
                    heap.removeLast()
                    var parent = 0
                    while true {
                        let left = 2 * parent + 1
                        guard left < heap.count else { break }
                        let child = left + 1 < heap.count && heap[left + 1].use > heap[left].use ? left + 1 : left
                        guard heap[child].use > heap[parent].use else { break }
                        heap.swapAt(child, parent)
                        parent = child
                    }
                    guard held[top.key] == top.use else { continue }
                    held[top.key] = nil
                    break
                }
            }
            held[key] = next[index]
            heap.append((next[index], key))
            var child = heap.count - 1
            while child > 0, heap[(child - 1) / 2].use < heap[child].use {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
        }
        return hits
    }

    @Test("cache CA-195 eviction beats the least recently used and is near the optimum", arguments: Trace.allCases)
    func evictsWell(trace: Trace) {
        for capacity in Soak.current.share == 1 ? [1_000, 2_000] : [1_000] {
            let requests = Self.requests(trace, capacity: capacity, count: Self.count)
            let count = Double(requests.count)
            let queue = Double(Self.queueHits(requests, limit: Int64(capacity), isSized: false)) / count
            let recent = Double(Self.leastRecentlyUsedHits(requests, limit: Int64(capacity), isSized: false)) / count
            let optimum = Double(Self.optimalHits(requests, capacity: capacity)) / count

            #expect(queue >= recent + 0.05, "\(trace) \(capacity): \(queue), LRU \(recent), optimum \(optimum)")
            #expect(queue >= 0.83 * optimum, "\(trace) \(capacity): \(queue), LRU \(recent), optimum \(optimum)")
        }
    }

    @Test(
        "cache CA-195 with entries of many sizes eviction is no worse than the least recently used",
        arguments: Trace.allCases
    )
    func evictsSizes(trace: Trace) {
        let requests = Self.requests(trace, capacity: 1_000, count: Self.count)
        let limit: Int64 = 64 << 20
        let queue = Self.queueHits(requests, limit: limit, isSized: true)
        let recent = Self.leastRecentlyUsedHits(requests, limit: limit, isSized: true)

        #expect(queue >= recent, "\(trace): \(queue) of \(requests.count), LRU \(recent)")
    }

    @Test("cache CA-195 every entry is evicted once, in any order of removals")
    func evictsOnce() {
        let random = SeededRandom(seed: Soak.current.seed)
        var queue = EvictionQueue()
        var live: Set<UInt64> = []
        for id in UInt64(1)...5_000 {
            queue.insert(
                id,
                cost: Int64(1 + random.below(100)),
                fingerprint: random.below(500),
                isExpendable: random.chance(5)
            )
            live.insert(id)
            if random.chance(60) { queue.touch(UInt64(1 + random.below(Int(id)))) }
            if random.chance(30), let gone = live.randomElement() {
                queue.remove(gone)
                live.remove(gone)
            }
            while live.count > 100 {
                guard let evicted = queue.evict(limit: 5_000) else {
                    Issue.record("seed \(random.seed): nothing to evict")
                    return
                }
                #expect(live.remove(evicted) != nil, "seed \(random.seed): \(evicted) twice")
            }
        }
        while let evicted = queue.evict(limit: 5_000) { live.remove(evicted) }
        #expect(live.isEmpty, "seed \(random.seed)")
    }
}
