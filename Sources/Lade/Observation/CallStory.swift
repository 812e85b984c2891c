public import LadeCore

/// Remembers what happens to one call, to be told when it is over: every wait and its reason, every attempt, and where
/// every millisecond went.
///
/// ```swift
/// let story = CallStory()
/// let observation = service.observe(with: story)
/// _ = try await loader.load(request)
/// observation.end()
/// print(story.timeline)
/// ```
///
/// Source: policies PL-60. It keeps events, and so no secret and no body.
public final class CallStory: EventSink {
    private struct State {
        var id: Call.ID?
        var records: [CallTimeline.Record] = []
        var omitted = 0
    }

    private let limit: Int
    // Guarded by its lock.
    private let state: Locked<State>

    /// Makes a story without events.
    ///
    /// - Parameters:
    ///   - id: The call it is of; nil for the first call that it is told of.
    ///   - limit: How many events it keeps, 10,000 by default; the time of later ones is told, and not what they were.
    public init(of id: Call.ID? = nil, limit: Int = 10_000) {
        self.limit = max(1, limit)
        state = Locked(State(id: id))
    }

    /// Keeps an event of the call; those of other calls are ignored.
    public func record(_ event: Event, of call: Call) {
        let record = CallTimeline.Record(instant: call.time.now, event: event)
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

    /// The story so far.
    public var timeline: CallTimeline {
        let (records, omitted) = state.withLock { ($0.records, $0.omitted) }
        return CallTimeline(records, omitted: omitted)
    }
}
