import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

/// Thousands of scripted runs of the whole chain, compared with what was recorded of them.
///
/// `RecordedRuns.txt` has a line for each run: digests of what was sent, of the events, of the waits, and of the endings. A change
/// of the chain that shall change nothing leaves the file as it is. After a change that a caller shall notice,
/// `LADE_GOLDEN=write FILTER=RecordedRunTests make test` writes it anew, and the commit says which of the four changed and why.
@Suite("Recorded runs of the chain", .timeLimit(.minutes(10)))
struct RecordedRunTests {
    private static let count = 3_000
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("RecordedRuns.txt")
    private static let writes = ProcessInfo.processInfo.environment["LADE_GOLDEN"] == "write"
    /// A sixth of them in `make test`, all in `make soak`.
    private static let step = writes ? 1 : max(1, count / Soak.current.rounds(of: count, few: count / 6))

    @Test("finding FQ-26 each run sends, reports, waits and ends as it was recorded")
    func runs() async throws {
        // Another part of them on each day.
        let offset = Int(Date.now.timeIntervalSince1970 / 86_400) % Self.step
        let numbers = Array(stride(from: offset, to: Self.count, by: Self.step))
        let recorded =
            Self.writes
            ? [] : try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
        if !Self.writes { try #require(recorded.count == Self.count) }
        var digests: [String] = []
        var (unseen, shown) = (Self.everything, 0)
        for number in numbers {
            let story = try await ScriptedRun(number: number).run()
            digests.append(story.digest)
            let lines = story.events + story.endings
            unseen.removeAll { part in lines.contains { $0.contains(part) } }
            guard !Self.writes, story.digest != recorded[number] else { continue }
            let (now, before) = (story.digest.split(separator: " "), recorded[number].split(separator: " "))
            let parts = zip(["sent", "events", "waits", "endings"], zip(now, before)).filter { $0.1.0 != $0.1.1 }.map(
                \.0
            )
            // The first stories suffice to see what changed.
            shown += 1
            let text = shown > 3 ? "" : "\n" + (story.sent + story.events + story.endings).joined(separator: "\n")
            Issue.record("run \(number): \(parts.joined(separator: ", ")) changed\(text)")
        }
        // A part of the runs need not have what is rare.
        if Self.step == 1 { #expect(unseen.isEmpty, "no run has these") }
        if Self.writes { try Data((digests.joined(separator: "\n") + "\n").utf8).write(to: Self.file) }
    }

    @Test("a number repeats its run, line by line", arguments: [1, 2, 3, 4, 5])
    func repeats(number: Int) async throws {
        let (first, second) = (try await ScriptedRun(number: number).run(), try await ScriptedRun(number: number).run())

        #expect(first.sent == second.sent)
        #expect(first.events == second.events)
        #expect(first.waits == second.waits)
        #expect(first.endings == second.endings)
    }

    /// Parts of the lines that the runs must have, so that the comparison says something about each policy.
    private static let everything = [
        "redirectFollowed", "retryScheduled", "gateClosed", "hostMoved", "hostMarked", "refreshStarted",
        "refreshFailed",
        "requestReplayed", "cacheServed", "cacheStored", "cacheValidated", "cacheJoined", "call failed: cancelled",
        "call failed: deadlineExceeded", "wait started: the rate limit of", "which requested a delay",
        "wait started: another call to",
        "wait started: attempt", "wait started: the response to the equal call", "wait started: credentials of",
        "body failed",
    ]
}
