import Lade

/// An event as a line of NDJSON: a name and facts, without secrets.
struct EventRecord {
    /// The name of the event, as in the library.
    let name: String
    /// The facts of the event; each value is already JSON.
    let facts: [(name: String, value: String)]

    /// The line, with the elapsed time and the call's identifier.
    func line(at elapsed: Duration, of call: Call) -> String {
        var head = [
            ("seconds", Self.seconds(elapsed)), ("call", String(call.id.number)), ("attempt", String(call.attempt)),
            ("event", JSONQuoting.string(name)),
        ]
        if call.hedge > 0 { head.insert(("hedge", String(call.hedge)), at: 3) }
        return JSONQuoting.object(head.map { (name: $0.0, value: $0.1) } + facts) + "\n"
    }

    /// Makes the record of an event.
    init(_ event: Call.Event) {
        let row = EventFacts(event)
        name = row.name
        facts = row.facts.map { (name: $0.name, value: Self.json($0.value)) }
    }

    private static func json(_ value: EventFacts.Value) -> String {
        switch value {
        case .nothing: "null"
        case .text(let text): JSONQuoting.string(text)
        case .count(let number): String(number)
        case .number(let number): String(number)
        case .flag(let flag): String(flag)
        case .time(let duration): seconds(duration)
        case .group(let facts): JSONQuoting.object(facts.map { (name: $0.name, value: json($0.value)) })
        case .fields(let headers):
            "["
                + headers.map { "[\(JSONQuoting.string($0.name)),\(JSONQuoting.string($0.redactedValue))]" }
                .joined(separator: ",") + "]"
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        // Finer units than microseconds mean nothing over a network.
        String(Double(duration.wholeNanoseconds / 1_000) / 1_000_000)
    }
}
