public import LadeCore

extension Service {
    /// Records the events of one call: every wait with its reason, every attempt, and where the time went.
    ///
    /// ```swift
    /// let story = Service.CallStory()
    /// let observation = service.observe(with: story)
    /// _ = try await loader.load(request)
    /// observation.end()
    /// print(story.timeline)
    /// ```
    ///
    /// It keeps events only, and therefore no secret and no body.
    public final class CallStory: Call.Observer {
        private struct State {
            var id: Call.ID?
            var records: [Service.CallTimeline.Record] = []
            var omitted = 0
        }

        private let limit: Int
        // Guarded by its lock.
        private let state: Locked<State>

        /// Makes a story without events.
        ///
        /// - Parameters:
        ///   - id: The call to record; nil for the first call that it is notified of.
        ///   - limit: How many events it keeps, 10,000 by default. The time of later events is recorded, but not the events.
        public init(of id: Call.ID? = nil, limit: Int = 10_000) {
            self.limit = max(1, limit)
            state = Locked(State(id: id))
        }

        /// Records an event of the call; events of other calls are ignored.
        public func record(_ event: Call.Event, of call: Call) {
            let record = Service.CallTimeline.Record(instant: call.time.now, event: event, hedge: call.hedge)
            state.withLock { state in
                if state.id == nil { state.id = call.id }
                guard state.id == call.id else { return }
                if state.records.count < limit {
                    state.records.append(record)
                } else {
                    state.omitted += 1
                    state.records[limit - 1] = record
                }
            }
        }

        /// The timeline of the call so far.
        public var timeline: Service.CallTimeline {
            let (records, omitted) = state.withLock { ($0.records, $0.omitted) }
            return Service.CallTimeline(records, omitted: omitted)
        }
    }
}
