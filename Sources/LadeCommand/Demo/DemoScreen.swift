import Lade

/// The output of a running demonstration: permanent lines and, on a terminal, a status line that changes in place.
final class DemoScreen: Sendable {
    private struct State {
        var progress = Pages.Progress()
        var lastShown: Instant
        var isLive = false
        var isEnded = false
        var nextShare = 10
    }

    private static let interval = Duration.milliseconds(80)
    private static let barWidth = 28

    private let talk: LineLog
    private let time: any TimeSource
    private let start: Instant
    private let total: Int
    /// Whether lines can change in place and have colours.
    private let isLive: Bool
    private let usesColour: Bool
    // Guarded by its lock.
    private let state: Locked<State>

    init(_ console: Console, time: any TimeSource, total: Int) {
        talk = console.talk
        self.time = time
        self.total = max(total, 1)
        isLive = console.isTalkTerminal
        let isPlain = Environment.value(.noColour)?.isEmpty == false || Environment.value(.terminal) == "dumb"
        usesColour = isLive && !isPlain
        start = time.now
        state = Locked(State(lastShown: start))
    }

    /// Adds a permanent line with the time since the start.
    func show(_ line: String) {
        let at = Self.seconds(start.duration(to: time.now))
        let words = line.escapedForDisplay(limit: 200)
        let (bar, isEnded) = state.withLock { state in (state.isLive ? self.bar(state.progress) : "", state.isEnded) }
        guard !isEnded else { return }
        let text = usesColour ? "\u{1B}[2m\(at)\u{1B}[0m  \(coloured(words))" : "\(at)  \(words)"
        talk.write(bar.isEmpty ? text + "\n" : "\r\u{1B}[K\(text)\n\(bar)")
    }

    /// Shows the progress: a bar on a terminal, otherwise a line for every tenth.
    func show(_ progress: Pages.Progress) {
        let now = time.now
        let text: String? = state.withLock { state in
            state.progress = progress
            guard !state.isEnded else { return nil }
            guard isLive else {
                let share = progress.items * 100 / total
                guard share >= state.nextShare else { return nil }
                state.nextShare = share / 10 * 10 + 10
                return "\(Self.seconds(start.duration(to: now)))  \(Self.words(progress, of: total))\n"
            }
            guard state.lastShown.duration(to: now) >= Self.interval else { return nil }
            state.lastShown = now
            state.isLive = true
            return bar(progress)
        }
        if let text { talk.write(text) }
    }

    /// Removes the status line; nothing is shown afterwards.
    func end() {
        let wasLive = state.withLock { state in
            defer { state.isEnded = true }
            return state.isLive && !state.isEnded
        }
        if wasLive { talk.write("\r\u{1B}[K") }
    }

    // MARK: - Text

    private func bar(_ progress: Pages.Progress) -> String {
        let done = min(progress.items * Self.barWidth / total, Self.barWidth)
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: Self.barWidth - done)
        var text = usesColour ? "\u{1B}[36m\(bar)\u{1B}[0m " : "\(bar) "
        text += Self.words(progress, of: total)
        if let waiting = progress.waiting { text += ", \(Self.short(waiting))" }
        return "\r\(text)\u{1B}[K"
    }

    /// The text beside the bar.
    static func words(_ progress: Pages.Progress, of total: Int) -> String {
        let share = min(100, progress.items * 100 / max(total, 1))
        return "\(share) %, \(progress.items) of \(total), \(ProgressLine.bytes(progress.bytes))"
    }

    private static func short(_ reason: Call.WaitReason) -> String {
        switch reason {
        case .rateLimit: "keeping to the rate"
        case .gate: "waiting as the server requested"
        case .backoff(let attempt): "before try \(attempt)"
        case .authorisation: "getting a token"
        default: "waiting"
        }
    }

    private func coloured(_ words: String) -> String {
        if words.hasPrefix(" ") { return "\u{1B}[2m\(words)\u{1B}[0m" }
        let isGood = ["signed in", "a new token"].contains { words.hasPrefix($0) } || words.hasSuffix(" is back")
        return "\u{1B}[\(isGood ? 32 : 33)m\(words)\u{1B}[0m"
    }

    /// Seconds with one decimal, aligned to a column.
    static func seconds(_ duration: Duration) -> String {
        let tenths = duration.wholeNanoseconds / 100_000_000
        return "\(tenths / 10).\(tenths % 10) s".leftPadded(to: 7)
    }
}
