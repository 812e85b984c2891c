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

// Harvests a list into a file, again and again until it is complete: HarvestProbe URL FILE PREFETCH SAVE-INTERVAL-MS
//
// A separate program, for the tests that kill it, fill its disk and measure it. Exits with 0 when complete, with 14 when
// it cannot write, and with 15 when the test has ended before it. On Linux it prints its peak memory in kilobytes at the
// end.

let arguments = CommandLine.arguments
guard arguments.count == 5, let prefetch = Int(arguments[3]), let interval = Int(arguments[4]) else { exit(1) }
// Without these settings the system would end the program instead of returning an error.
signal(SIGPIPE, SIG_IGN)
signal(SIGXFSZ, SIG_IGN)

var harvest = Harvest(try Request(arguments[1]))
harvest.items = ["items"]
harvest.rules = [.body(["next"])]
harvest.prefetch = prefetch
harvest.saveInterval = .milliseconds(interval)
harvest.request.timeouts.idle = .seconds(2)
// Every fault must end the harvest, not only an attempt.
var settings = Service.Settings()
settings.retries.limit = 0
let loader = try Service(settings).anonymous.makeLoader()

let test = getppid()
attempts: for _ in 0..<10_000 {
    guard getppid() == test else { exit(15) }
    do throws(HarvestError) {
        let summary = try await harvest.run(with: loader, to: .file(arguments[2]))
        if summary.ending == .complete {
            // getrusage is not used, because its peak includes that of the parent process.
            let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
            for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") { print(line.filter(\.isNumber)) }
            exit(0)
        }
    } catch {
        switch error {
        case .page: continue attempts
        case .diskFull, .file: exit(14)
        default:
            print(error)
            exit(1)
        }
    }
}
exit(12)
