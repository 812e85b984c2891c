extension Call {
    /// Where the time of a call went: its waits and exchanges, in the order of their first occurrence.
    package struct StageTimes: Sendable, Hashable {
        /// A part of a call that takes time.
        package enum Stage: Sendable, Hashable {
            /// Waiting, for the reason given.
            case wait(Call.WaitReason)
            /// Finding and opening a connection to the server.
            case connecting
            /// Sending the request.
            case sending
            /// Waiting for the first byte of the response, once the request was sent.
            case awaiting
            /// Receiving the response.
            case receiving
            /// Talking to the server, where the transport does not tell the four apart.
            case exchange
            /// Everything else: the app's own interceptors, and the scheduling of tasks.
            case other
        }

        /// A stage and the time that it took.
        package struct Entry: Sendable, Hashable {
            /// The stage.
            package var stage: Stage
            /// The total time of the stage.
            package var duration: Duration

            /// Makes an entry.
            package init(stage: Stage, duration: Duration) {
                self.stage = stage
                self.duration = duration
            }
        }

        /// The times of exchanges by their stages, in nanoseconds.
        package struct Exchange: Sendable, Hashable {
            var connecting: Int64 = 0
            var sending: Int64 = 0
            var awaiting: Int64 = 0
            var receiving: Int64 = 0
            /// The time that is not told apart.
            var whole: Int64 = 0

            package var total: Int64 { connecting + sending + awaiting + receiving + whole }

            /// The stages that took time, in their order; the whole exchange where none did.
            var entries: [Entry] {
                let times = withoutOverlap
                let all: [(Stage, Int64)] = [
                    (.connecting, times.connecting), (.sending, times.sending), (.awaiting, times.awaiting),
                    (.receiving, times.receiving), (.exchange, times.whole),
                ]
                let known = all.filter { $0.1 > 0 }.map { Entry(stage: $0.0, duration: .nanoseconds($0.1)) }
                return known.isEmpty ? [Entry(stage: .exchange, duration: .zero)] : known
            }

            /// The same times, where those of two exchanges in progress together count once.
            ///
            /// That time is subtracted from the whole. It passes mostly while the response is awaited.
            private var withoutOverlap: Exchange {
                var times = self
                for stage in [\Exchange.awaiting, \.connecting, \.receiving, \.sending] where times.whole < 0 {
                    let part = min(times[keyPath: stage], -times.whole)
                    times[keyPath: stage] -= part
                    times.whole += part
                }
                return times
            }

            static func += (sum: inout Exchange, times: Exchange) {
                sum.connecting += times.connecting
                sum.sending += times.sending
                sum.awaiting += times.awaiting
                sum.receiving += times.receiving
                sum.whole += times.whole
            }
        }

        // The time with the server is stored separately, because most calls have no other stage and then need no list.
        private var others: [Entry] = []
        private var exchange: (times: Exchange, place: Int)?

        /// The stages, in the order of their first occurrence; those of exchanges together.
        package var entries: [Entry] {
            var entries = others
            if let exchange { entries.insert(contentsOf: exchange.times.entries, at: exchange.place) }
            return entries
        }

        /// Makes an empty table.
        package init() {}

        /// The sum of all times.
        package var total: Duration {
            others.reduce(.nanoseconds(exchange?.times.total ?? 0)) { $0 + $1.duration }
        }

        /// The stage that took the most time.
        package var longest: Entry? { entries.max { $0.duration < $1.duration } }

        /// Adds time to a stage.
        package mutating func add(_ duration: Duration, to stage: Stage) {
            if let times = Exchange(stage, duration) {
                add(times)
            } else if let index = others.firstIndex(where: { $0.stage == stage }) {
                others[index].duration += duration
            } else {
                others.append(Entry(stage: stage, duration: duration))
            }
        }

        /// Adds the times of an exchange.
        package mutating func add(_ times: Exchange) {
            exchange = exchange ?? (Exchange(), others.count)
            exchange?.times += times
        }

        /// Whether both have the same stages with the same times in the same order.
        package static func == (lhs: Call.StageTimes, rhs: Call.StageTimes) -> Bool { lhs.entries == rhs.entries }

        /// Feeds the stages and their times into a hasher.
        package func hash(into hasher: inout Hasher) { hasher.combine(entries) }

        /// The same table with the rest of the elapsed time added as ``Stage/other``, so that the sum is the elapsed time.
        package func filled(to elapsed: Duration) -> Call.StageTimes {
            var filled = self
            if elapsed > total { filled.add(elapsed - total, to: .other) }
            return filled
        }
    }
}

extension Call.StageTimes.Exchange {
    /// The time of one stage; nil for a stage that is no part of an exchange.
    fileprivate init?(_ stage: Call.StageTimes.Stage, _ duration: Duration) {
        let time = duration.wholeNanoseconds
        switch stage {
        case .connecting: connecting = time
        case .sending: sending = time
        case .awaiting: awaiting = time
        case .receiving: receiving = time
        case .exchange: whole = time
        case .wait, .other: return nil
        }
    }

    /// The times of an exchange that took a duration; the rest beside its stages is not told apart.
    ///
    /// - Parameters:
    ///   - stages: The stages that the transport has measured; nil where it does not.
    ///   - duration: How long the exchange took, the wait for a connection included.
    package init(_ stages: Call.StageTimes.Exchange?, lasting duration: Duration) {
        self = stages ?? Self()
        whole = max(0, duration.wholeNanoseconds - total)
    }
}

extension LoadingError {
    /// The stages that used up the time of a call.
    public struct DeadlineReport: Sendable, Hashable {
        /// How long the call was allowed to take.
        public var limit: Duration
        /// The setting that the limit comes from: `request.deadline`, `timeouts.whole`, `deadlines.buffered`,
        /// `deadlines.uploading` or `deadlines.streamed`; nil for a deadline that the caller of the chain set.
        public var setting: String?
        /// How long it had taken when it was cancelled.
        public var elapsed: Duration
        /// Where that time went; the sum is ``elapsed``.
        package var stages: Call.StageTimes
        /// The wait that would have ended after the deadline, when that is why the call ended early.
        package var impossibleWait: Call.StageTimes.Entry?
        /// Whether an exchange was in progress at the deadline; false when the call was waiting for something else.
        public var endedExchange = false

        /// Makes a report.
        package init(
            limit: Duration,
            elapsed: Duration,
            stages: Call.StageTimes,
            impossibleWait: Call.StageTimes.Entry? = nil
        ) {
            self.limit = limit
            self.elapsed = elapsed
            self.stages = stages.filled(to: elapsed)
            self.impossibleWait = impossibleWait
        }
    }
}

extension Call.StageTimes.Stage: CustomStringConvertible {
    /// A few words that complete a sentence, such as “talking to the server”.
    public var description: String {
        switch self {
        case .wait(let reason): "waiting for \(reason)"
        case .connecting: "connecting to the server"
        case .sending: "sending the request"
        case .awaiting: "waiting for the response"
        case .receiving: "receiving the response"
        case .exchange: "talking to the server"
        case .other: "work of the program"
        }
    }
}

extension Call.WaitReason: CustomStringConvertible {
    /// A few words that follow “waiting for”.
    public var description: String {
        switch self {
        case .connection(let host): "a connection to \(host)"
        case .connectivity: "a network"
        case .rateLimit(let key): "the rate limit of \(key)"
        case .gate(let key): "\(key), which requested a delay"
        case .fleet(let key): "the store that shares the rate limit of \(key)"
        case .concurrency(let key): "another call to \(key) to end"
        case .backoff(let attempt): "attempt \(attempt)"
        case .coalescing(let call): "the response to the equal call \(call)"
        case .anotherProcess: "the response to the equal call of another process"
        case .authorisation(let authoriser): "credentials of \(authoriser)"
        case .probe(let address): "a probe of \(address)"
        }
    }
}

extension LoadingError.DeadlineReport: CustomStringConvertible {
    /// One plain clause: the limit and its setting, the time that passed, and what used it or would have.
    public var description: String { sentence(attempts: 0) }

    func sentence(attempts: Int) -> String {
        let head =
            "No complete response within \(limit.shortText)" + (setting.map { " (\($0))" } ?? "")
            + LoadingError.Context.effort(attempts: attempts, elapsed)
        if let wait = impossibleWait { return "\(head): \(wait.stage) would take \(wait.duration.shortText)" }
        guard let longest = stages.longest else { return head }
        return "\(head): \(longest.duration.shortText) went into \(longest.stage)"
    }
}

extension Duration {
    /// The duration for people: `350 ms`, `1.5 s`, `90 s`, `2 min 5 s`, `3 h 20 min`, `2 days 4 h`.
    package var shortText: String {
        let seconds = inSeconds
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        if seconds < 10 { return "\(Double(Int((seconds * 10).rounded())) / 10) s" }
        let whole = Int(min(seconds, 1e15).rounded())
        func words(_ unit: Int, _ name: String, _ part: Int, _ partName: String) -> String {
            let parts = whole % unit / part
            return "\(whole / unit) \(name)" + (parts == 0 ? "" : " \(parts) \(partName)")
        }
        return switch whole {
        case ..<120: "\(whole) s"
        case ..<7_200: words(60, "min", 1, "s")
        case ..<172_800: words(3_600, "h", 60, "min")
        case ..<63_072_000: words(86_400, "days", 3_600, "h")
        default: words(31_536_000, "years", 86_400, "days")
        }
    }
}
