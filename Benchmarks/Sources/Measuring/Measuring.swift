import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One request of a peer: the number of body bytes of a 200 response.
public typealias Exchange = @Sendable (_ number: Int) async throws -> Int

/// What the command line of every peer says: `URL REQUESTS CONCURRENCY collect|count`.
public struct Arguments: Sendable {
    /// What is asked for, again and again.
    public var url: String
    /// How many measured requests.
    public var requests: Int
    /// How many at a time.
    public var concurrency: Int
    /// Whether bodies are only counted, as they come; else each is collected.
    public var counting: Bool

    /// Reads the command line; ends the program with a usage line when it is not understood.
    public init() {
        let words = CommandLine.arguments
        guard words.count == 5, let requests = Int(words[2]), let concurrency = Int(words[3]), requests > 0,
            concurrency > 0
        else {
            print("usage: \(words[0]) URL REQUESTS CONCURRENCY collect|count")
            exit(2)
        }
        url = words[1]
        self.requests = requests
        self.concurrency = concurrency
        counting = words[4] == "count"
    }

    /// The requests before the measured ones, so that connections are open; none for large bodies.
    var warmUp: Int {
        if let given = getenv("BENCH_WARM_UP") { return Int(String(cString: given)) ?? 0 }
        return counting ? 0 : max(2 * concurrency, requests / 20)
    }
}

/// Makes the requests, as many loops as concurrency says, each awaiting one at a time, and prints the result.
///
/// The calling thread is blocked meanwhile and the loops run apart from it: a main thread that ends at the first `await`
/// is what valgrind cannot follow, and one that runs the loops would hop to the main actor at each of them.
///
/// - Parameters:
///   - peer: The name in the result.
///   - arguments: What to do.
///   - executor: Where the loops run; on Swift's own threads by default.
///   - exchange: One request.
public func measure(
    _ peer: String,
    _ arguments: Arguments,
    on executor: (any TaskExecutor)? = nil,
    _ exchange: @escaping Exchange
) {
    let done = Latch()
    let owner = Task.detached(executorPreference: executor) {
        await run(peer, arguments, exchange)
        done.signal()
    }
    done.wait()
    _ = owner
}

private func run(_ peer: String, _ arguments: Arguments, _ exchange: @escaping Exchange) async {
    if arguments.warmUp > 0 {
        let outcome = await phase(arguments.warmUp, arguments.concurrency, exchange)
        guard outcome.errors < arguments.warmUp else {
            printError("no request succeeded")
            exit(1)
        }
    }
    let processor = processorSeconds()
    let start = nanoseconds()
    var outcome = await phase(arguments.requests, arguments.concurrency, exchange)
    let wall = Double(nanoseconds() - start) / 1e9
    let spent = processorSeconds() - processor
    outcome.latencies.sort()
    let count = outcome.latencies.count
    print(
        """
        {"peer":"\(peer)","requests":\(count),"seconds":\(wall),"processorSeconds":\(spent),"bytes":\(outcome.bytes),\
        "errors":\(outcome.errors),"leastCalls":\(outcome.least),"mostCalls":\(outcome.most),"p50":\(outcome.latencies[count / 2]),"p99":\(outcome.latencies[count * 99 / 100]),\
        "peakKilobytes":\(peakKilobytes())}
        """
    )
}

private struct Outcome: Sendable {
    var latencies: [UInt32] = []
    var bytes = 0
    var errors = 0
    /// The calls of the loop that made the fewest.
    var least = Int.max
    /// The calls of the loop that made the most.
    var most = 0
}

private final class Tickets: Sendable {
    let taken = Atomic<Int>(0)
    let failed = Atomic<Bool>(false)
}

private func phase(_ total: Int, _ concurrency: Int, _ exchange: @escaping Exchange) async -> Outcome {
    let tickets = Tickets()
    return await withTaskGroup(of: Outcome.self) { group in
        for _ in 0..<concurrency {
            group.addTask {
                var outcome = Outcome()
                outcome.latencies.reserveCapacity(total / concurrency * 2)
                while true {
                    let number = tickets.taken.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard number < total else { return outcome }
                    let start = nanoseconds()
                    do {
                        outcome.bytes += try await exchange(number)
                    } catch {
                        outcome.errors += 1
                        if !tickets.failed.exchange(true, ordering: .relaxed) { printError("first error: \(error)") }
                    }
                    outcome.latencies.append(UInt32(clamping: (nanoseconds() - start) / 1000))
                }
            }
        }
        var all = Outcome()
        for await outcome in group {
            all.latencies += outcome.latencies
            all.bytes += outcome.bytes
            all.errors += outcome.errors
            all.least = min(all.least, outcome.latencies.count)
            all.most = max(all.most, outcome.latencies.count)
        }
        return all
    }
}

private func printError(_ text: String) {
    _ = (text + "\n").withCString { write(2, $0, strlen($0)) }
}

private func nanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

private func processorSeconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

/// The most memory held so far; 0 where the system does not report it in this way.
private func peakKilobytes() -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix("VmHWM:") { return Int(text.filter(\.isNumber)) ?? 0 }
    }
    return 0
}

/// Lets a plain thread wait for a task, with nothing but the C library.
private final class Latch: @unchecked Sendable {
    // The memory of a mutex and a condition must not move; each is touched only through their own functions.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var signalled = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func signal() {
        pthread_mutex_lock(mutex)
        signalled = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while !signalled { pthread_cond_wait(condition, mutex) }
        pthread_mutex_unlock(mutex)
    }
}
