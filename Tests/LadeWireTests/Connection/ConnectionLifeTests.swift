import Testing

@testable import LadeWire

@Suite("The life of a connection", .timeLimit(.minutes(5)))
struct ConnectionLifeTests {
    typealias Departure = ConnectionLife.Departure

    /// An event, and what it makes of each state: the action, and the state where that changes.
    ///
    /// States without a cell do nothing.
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        let event: ConnectionLife.Event
        let cells: [ConnectionLife: (ConnectionLife.Action, ConnectionLife)]

        init(
            _ description: String,
            _ event: ConnectionLife.Event,
            _ cells: [ConnectionLife: (ConnectionLife.Action, ConnectionLife)]
        ) {
            (self.description, self.event, self.cells) = (description, event, cells)
        }
    }

    private static let opening: [ConnectionLife] = [.resolving, .racing, .tunnelling, .securing]

    /// The same cell for states that keep their state.
    private static func staying(
        _ action: ConnectionLife.Action,
        _ states: [ConnectionLife] = opening
    ) -> [ConnectionLife: (ConnectionLife.Action, ConnectionLife)] {
        Dictionary(uniqueKeysWithValues: states.map { ($0, (action, $0)) })
    }

    /// The same cell for states that change to one.
    private static func changing(
        _ states: [ConnectionLife],
        to state: ConnectionLife,
        _ action: ConnectionLife.Action
    ) -> [ConnectionLife: (ConnectionLife.Action, ConnectionLife)] {
        Dictionary(uniqueKeysWithValues: states.map { ($0, (action, state)) })
    }

    private static let connected: [ConnectionLife] = [.racing, .tunnelling, .securing]

    private static func left(
        _ name: String,
        _ departure: Departure,
        opening action: ConnectionLife.Action,
        busy: (ConnectionLife.Action, ConnectionLife)
    ) -> Row {
        var cells = staying(action)
        cells[.busy] = busy
        return Row(name, .left(departure), cells)
    }

    static let rows: [Row] = [
        Row("the host is resolved", .resolved, [.resolving: (.race, .racing)]),
        Row("TLS follows", .reachedTLS, changing(connected, to: .securing, .secure)),
        Row("a tunnel follows", .reachedTunnel, changing([.racing, .securing], to: .tunnelling, .tunnel)),
        Row("open, to be shared", .reachedEnd(.shared), changing(connected, to: .streaming, .share)),
        Row("open, and awaited", .reachedEnd(.awaited), changing(connected, to: .busy, .send)),
        Row("open, and not awaited", .reachedEnd(.unawaited(mayRest: true)), changing(connected, to: .idle, .rest)),
        Row("open, not awaited, no idle life", .reachedEnd(.unawaited(mayRest: false)), staying(.close, connected)),
        Row("an exchange takes it", .taken, [.idle: (.send, .busy)]),
        Row("it ends", .ended, changing(ConnectionLife.allCases.filter { $0 != .closed }, to: .closed, .close)),
        left("a response that lets it be used again", Departure(keeps: true), opening: .orphan, busy: (.rest, .idle)),
        left("a response after which it closes", Departure(keeps: false), opening: .close, busy: (.close, .busy)),
        left("an error before anything moved", Departure(isUntouched: true), opening: .orphan, busy: (.rest, .idle)),
        left("an error after something moved", Departure(), opening: .orphan, busy: (.close, .busy)),
        left(
            "an error of an exchange that needs another",
            Departure(needsFresh: true),
            opening: .close,
            busy: (.close, .busy)
        ),
        left("a guest", Departure(isGuest: true, hasGuests: true), opening: .stay, busy: (.close, .busy)),
        left("an error beside guests", Departure(hasGuests: true), opening: .handOver, busy: (.close, .busy)),
        left(
            "a failed opening beside guests",
            Departure(keeps: false, hasGuests: true),
            opening: .close,
            busy: (.close, .busy)
        ),
        left(
            "a response, and no idle life",
            Departure(keeps: true, mayRest: false),
            opening: .orphan,
            busy: (.close, .busy)
        ),
    ]

    @Test("each event has one outcome in each state, and none after the end", arguments: rows)
    func transitions(row: Row) {
        for state in ConnectionLife.allCases {
            var life = state
            let action = life.transition(row.event)
            let expected = row.cells[state] ?? (.none, state)
            #expect(action == expected.0, "\(state)")
            #expect(life == expected.1, "\(state)")
        }
    }

    @Test("whatever happens in any order, a connection ends once and stays closed", arguments: 1...20)
    func ends(seed: UInt64) {
        var random = Weather(state: seed)
        for _ in 0..<200 {
            var life = ConnectionLife.resolving
            var ends = 0
            for _ in 0..<30 {
                let wasClosed = life == .closed
                let event = Self.rows[Int.random(in: 0..<Self.rows.count, using: &random)].event
                let action = life.transition(event)
                if event == .ended, action == .close { ends += 1 }
                #expect(!wasClosed || (life == .closed && action == .none))
            }
            #expect(ends <= 1)
        }
    }
}
