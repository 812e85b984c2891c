#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Follows every call by its events, and records violations.
final class StoryCheck: Call.Observer {
    private struct Story {
        var started = 0
        var endings = 0
        var key = ""
        var attempts = 0
        var hops = 0
        var retries = 0
        var replays = 0
        var isStreamed = false
        var isPaidBack = false
        var isCancelled = false
        var isSuccess = false
    }

    private struct State {
        var stories: [UInt64: Story] = [:]
        var violations: [String] = []
        var lines: [String] = []
        var events = 0
        var unattributed = Duration.zero
    }

    private let state = Locked(State())
    private let keepsLines: Bool

    /// - Parameter keepsLines: Whether all events are kept, to be compared with another run.
    init(keepsLines: Bool) {
        self.keepsLines = keepsLines
    }

    var calls: Int { state.withLock { $0.stories.count } }
    var lines: [String] { state.withLock(\.lines) }

    func record(_ event: Call.Event, of call: Call) {
        let now = call.time.now
        let number = state.withLock { state in
            state.events += 1
            return state.events
        }
        let isFailure = if case .callFailed = event { true } else { false }
        // Texts are expensive, and dumps more so: only failures and a fraction of the rest are searched.
        let text = keepsLines || isFailure || number % 8 == 0 ? "\(event)" : ""
        var shown = Self.showsSecret(text) ? text : nil
        if shown == nil, isFailure || number % 64 == 0 {
            var dumped = ""
            dump(event, to: &dumped)
            if case .callFailed(let error) = event { dumped += error.description + String(reflecting: error) }
            if Self.showsSecret(dumped) { shown = dumped }
        }
        let times: Call.Times? =
            switch event {
            case .callFinished, .callFailed: call.times
            default: nil
            }
        let line = keepsLines ? "\(now.nanoseconds) \(call.id).\(call.attempt) \(text)" : ""
        state.withLock { state in
            if let shown { state.violations.append("a secret is shown: \(shown.prefix(300))") }
            if keepsLines { state.lines.append(line) }
            follow(event, call, now, times, &state)
        }
    }

    private func follow(
        _ event: Call.Event,
        _ call: Call,
        _ now: Instant,
        _ times: Call.Times?,
        _ state: inout State
    ) {
        let id = call.id.number
        var story = state.stories[id] ?? Story()
        switch event {
        case .callStarted(_, let url):
            story.started += 1
            story.key = URL(string: url).map { ModelServers.key(of: $0).description } ?? ""
            if story.endings > 0 { state.violations.append("\(call.id) started after its end") }
        case .attemptStarted: story.attempts += 1
        case .redirectFollowed: story.hops += 1
        case .retryScheduled: story.retries += 1
        case .retryRefused(let record):
            story.isPaidBack = ["final-status", "accepted-status"].contains(record.rule.name)
        case .requestReplayed: story.replays += 1
        case .callFinished:
            story.endings += 1
            story.isSuccess = true
            checkTimes(call, now, times, &state)
        case .callFailed(let error):
            story.endings += 1
            story.isCancelled = error.isCancellation
            checkTimes(call, now, times, &state)
        default: break
        }
        state.stories[id] = story
    }

    /// Every nanosecond of a call is a wait with a reason, or an exchange.
    private func checkTimes(_ call: Call, _ now: Instant, _ times: Call.Times?, _ state: inout State) {
        guard let times else { return }
        let elapsed = times.start.duration(to: now)
        let total = times.stages.total
        if total != elapsed {
            state.violations.append("\(call.id) took \(elapsed), of which \(total) is accounted for: \(times.stages)")
        }
    }

    /// The violations after everything has ended.
    ///
    /// - Parameters:
    ///   - retryLimit: The most retries of one exchange.
    ///   - budget: The retry budget of a service.
    /// - Returns: A sentence for each violation.
    func violationsAtTheEnd(retryLimit: Int, budget: RetryBudget.Settings) -> [String] {
        state.withLock { state in
            var violations = state.violations
            var owed: [String: Int] = [:]
            var credit: [String: Int] = [:]
            for (id, story) in state.stories.sorted(by: { $0.key < $1.key }) {
                if story.started != 1 || story.endings != 1 {
                    violations.append("#\(id) has \(story.started) beginnings and \(story.endings) endings")
                }
                if story.attempts > (1 + retryLimit) * (1 + story.hops) {
                    violations.append("#\(id) made \(story.attempts) attempts in \(story.hops + 1) hops")
                }
                // A redirected call withdraws from more than one budget, a cancelled one may have refunded before.
                guard story.hops == 0 else { continue }
                owed[story.key, default: 0] += story.replays * budget.retryCost
                if !story.isCancelled, !story.isSuccess, !story.isPaidBack {
                    owed[story.key, default: 0] += story.retries * budget.retryCost
                }
                if story.retries == 0 { credit[story.key, default: 0] += (1 + story.replays) * budget.successCredit }
            }
            for (key, sum) in owed where sum > budget.capacity + (credit[key] ?? 0) {
                violations.append("\(key) cost \(sum) tokens of a budget of \(budget.capacity) and \(credit[key] ?? 0)")
            }
            return violations
        }
    }

    private static let needle = Array(ModelServers.canary.utf8)

    private static func showsSecret(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            // Every event of the simulation is searched: the C functions are many times faster in a debug build.
            guard var rest = bytes.baseAddress.map({ UnsafeRawPointer($0) }) else { return false }
            let end = rest + bytes.count
            while let found = memchr(rest, Int32(needle[0]), end - rest) {
                rest = UnsafeRawPointer(found)
                guard end - rest >= needle.count else { return false }
                if memcmp(rest, needle, needle.count) == 0 { return true }
                rest += 1
            }
            return false
        }
    }
}
