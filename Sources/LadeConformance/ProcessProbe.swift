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
import LadeTesting

/// The system's report about this process, where it has `/proc`.
enum ProcessProbe {
    static var isAvailable: Bool {
        residentBytes != nil && descriptorCount != nil
    }

    /// The memory in use; always zero under a sanitizer.
    static var residentBytes: Int? { isSanitized ? 0 : status("VmRSS") }

    /// The peak of memory in use since the last ``resetPeak()``; always zero under a sanitizer.
    static var peakBytes: Int? { isSanitized ? 0 : status("VmHWM") }

    /// Whether the process runs under the Thread or the Address Sanitizer, whose own memory is several times the
    /// program's and varies independently.
    private static let isSanitized: Bool = {
        let marks = ["__tsan_init", "__asan_init"]
        let isSanitized = marks.contains { (name: String) in dlsym(dlopen(nil, RTLD_NOW), name) != nil }
        if isSanitized { print("memory is not measured: the process runs under a sanitizer") }
        return isSanitized
    }()

    /// Resets the peak of memory in use.
    static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    /// Open descriptors, without the one used to count them.
    static var descriptorCount: Int? { count("/proc/self/fd").map { $0 - 1 } }

    static var threadCount: Int? { count("/proc/self/task") }

    /// A description of each open descriptor, for findings.
    static var descriptors: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")).map {
                "\(name) → \($0)"
            }
        }.sorted()
    }

    /// Processor time of all threads, user and system.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func count(_ directory: String) -> Int? {
        guard let handle = opendir(directory) else { return nil }
        defer { closedir(handle) }
        var count = 0
        while readdir(handle) != nil { count += 1 }
        return count - 2
    }

    private static func status(_ name: String) -> Int? {
        guard let file = fopen("/proc/self/status", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix(name + ":") else { continue }
            return text.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
                .map { $0 << 10 }
        }
        return nil
    }
}

extension ConformanceContext {
    /// Polls a state of the system that has no notification until it is as expected.
    ///
    /// For delayed effects in the kernel: ended threads, descriptors of closed connections.
    func settles(_ what: String, _ isSettled: @escaping @Sendable () -> String?) async throws {
        let finding = Watched<String??>(nil)
        Threads.start("lade-settle") {
            var last = isSettled()
            // A minute: the machine may be busy.
            for _ in 0..<12_000 where last != nil {
                poll(nil, 0, 5)
                last = isSettled()
            }
            let result = last
            finding.change { $0 = .some(result) }
        }
        if let finding = try await finding.value({ $0 }) { fail("\(what): \(finding)") }
    }
}
