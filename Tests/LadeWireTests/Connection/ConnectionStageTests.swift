import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

@Suite("The stage of a connection", .timeLimit(.minutes(5)))
struct ConnectionStageTests {
    typealias Action = ConnectionStage.Action
    typealias Departure = ConnectionStage.Departure

    /// A stage, and the exchanges in it: one, none, or one and a guest while the connection is being opened.
    enum State: String, CaseIterable {
        case resolving, racing, tunnelling, securing
        case resolvingWithGuest, securingWithGuest, resolvingForNone, securingForNone
        case idle, busy, touched, streaming, closed

        var life: ConnectionLife {
            switch self {
            case .resolving, .resolvingWithGuest, .resolvingForNone: .resolving
            case .racing: .racing
            case .tunnelling: .tunnelling
            case .securing, .securingWithGuest, .securingForNone: .securing
            case .idle: .idle
            case .busy, .touched: .busy
            case .streaming: .streaming
            case .closed: .closed
            }
        }

        var isOpening: Bool { [.resolving, .racing, .tunnelling, .securing].contains(life) }
        var isAwaited: Bool { isOpening && !rawValue.hasSuffix("ForNone") }
        var hasGuest: Bool { rawValue.hasSuffix("WithGuest") }
        /// Whether a socket is connected, or about to be.
        var isConnecting: Bool { isOpening && life != .resolving }
    }

    /// The exchanges of a row, and the stage in a state that only events lead to.
    struct Scene {
        let exchange = Scene.exchange()
        let guest = Scene.exchange()
        let stranger = Scene.exchange()
        let tunnel = Tunnel.socks5(SOCKS5(to: Tunnel.Target(host: "a.test", port: 1), credentials: nil))
        var stage: ConnectionStage

        static func exchange() -> Exchange {
            do {
                let request = try Request(.get, "http://a.test/")
                return try Exchange(request, call: Call(), rules: Exchange.Rules(TransportSettings()), lane: .direct)
            } catch { preconditionFailure("\(error)") }
        }

        static var session: HTTP2Session {
            guard let session = HTTP2Session(rules: Exchange.Rules(TransportSettings()), known: nil, at: 0) else {
                preconditionFailure("no memory")
            }
            return session
        }

        init(_ state: State) {
            stage = .opening(Opening(for: exchange, through: nil, [], wantsHTTP2: true))
            var events: [ConnectionStage.Event] =
                switch state.life {
                case .resolving: []
                case .racing: [.resolved(Racing(nil))]
                case .tunnelling: [.resolved(Racing(nil)), .reachedTunnel(tunnel)]
                case .securing: [.resolved(Racing(nil)), .reachedTLS]
                case .busy: [.resolved(Racing(nil)), .reachedEnd(mayRest: true)]
                case .idle: [.resolved(Racing(nil)), .reachedEnd(mayRest: true), .left(exchange, Departure())]
                case .streaming: [.resolved(Racing(nil)), .reachedStreams(Self.session)]
                case .closed: [.ended]
                }
            if state.hasGuest { events.append(.joined(guest)) }
            if state.isOpening, !state.isAwaited { events.append(.left(exchange, Departure())) }
            for event in events { _ = stage.transition(event, at: 1) }
            if state == .touched, case .busy(let carried) = stage { carried.carriage.hasSent = true }
        }
    }

    /// An event, and what it makes of a state: the action, and the life where that changes; nil when it changes nothing.
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        let event: @Sendable (Scene) -> ConnectionStage.Event
        let outcome: @Sendable (State) -> (Action, ConnectionLife?)?

        init(
            _ description: String,
            _ event: @escaping @Sendable (Scene) -> ConnectionStage.Event,
            _ outcome: @escaping @Sendable (State) -> (Action, ConnectionLife?)?
        ) {
            (self.description, self.event, self.outcome) = (description, event, outcome)
        }
    }

    /// The row of an exchange that leaves: the actions while the connection is opened alone, with a guest, and for none, and
    /// after something was sent and before.
    private static func left(
        _ name: String,
        _ departure: Departure,
        alone: Action,
        beside: Action,
        untouched: (Action, ConnectionLife?),
        touched: (Action, ConnectionLife?)
    ) -> Row {
        Row(name, { .left($0.exchange, departure) }) { state in
            switch state {
            case .busy: untouched
            case .touched: touched
            case _ where !state.isOpening: nil
            case _ where !state.isAwaited: (.stay, nil)
            default: (state.hasGuest ? beside : alone, nil)
            }
        }
    }

    static let rows: [Row] = [
        Row("the host is resolved", { _ in .resolved(Racing(nil)) }) { $0.life == .resolving ? (.race, .racing) : nil },
        Row("TLS follows", { _ in .reachedTLS }) { $0.isConnecting ? (.secure, .securing) : nil },
        Row("a tunnel follows", { .reachedTunnel($0.tunnel) }) {
            $0.isConnecting && $0 != .tunnelling ? (.tunnel, .tunnelling) : nil
        },
        Row("open, to be shared", { _ in .reachedStreams(Scene.session) }) {
            $0.isConnecting ? (.share, .streaming) : nil
        },
        Row("open", { _ in .reachedEnd(mayRest: true) }) {
            $0.isConnecting ? ($0.isAwaited ? (.send, .busy) : (.rest, .idle)) : nil
        },
        Row("open, and no idle life", { _ in .reachedEnd(mayRest: false) }) {
            $0.isConnecting ? ($0.isAwaited ? (.send, .busy) : (.close, nil)) : nil
        },
        Row("an exchange takes it", { .taken($0.stranger) }) {
            $0 == .idle ? (.send, .busy) : $0.isOpening && !$0.isAwaited ? (.stay, nil) : nil
        },
        Row("an exchange waits to share it", { .joined($0.stranger) }) { $0.isOpening ? (.stay, nil) : nil },
        Row("a guest leaves", { .left($0.guest, Departure()) }) {
            $0.isOpening ? (.stay, nil) : $0 == .busy ? (.rest, .idle) : $0 == .touched ? (.close, nil) : nil
        },
        Row("it ends", { _ in .ended }) { $0 == .closed ? nil : (.close, .closed) },
        left(
            "a response that lets it be used again",
            Departure(keeps: true),
            alone: .orphan,
            beside: .orphan,
            untouched: (.rest, .idle),
            touched: (.rest, .idle)
        ),
        left(
            "a response after which it closes, or a failed opening",
            Departure(keeps: false),
            alone: .close,
            beside: .close,
            untouched: (.close, nil),
            touched: (.close, nil)
        ),
        left(
            "an error",
            Departure(),
            alone: .orphan,
            beside: .handOver,
            untouched: (.rest, .idle),
            touched: (.close, nil)
        ),
        left(
            "an error of an exchange that needs another",
            Departure(needsFresh: true),
            alone: .close,
            beside: .handOver,
            untouched: (.rest, .idle),
            touched: (.close, nil)
        ),
        left(
            "a response, and no idle life",
            Departure(keeps: true, mayRest: false),
            alone: .orphan,
            beside: .orphan,
            untouched: (.close, nil),
            touched: (.close, nil)
        ),
    ]

    @Test("each event has one outcome in each stage, and none after the end", arguments: rows)
    func transitions(row: Row) {
        for state in State.allCases {
            var scene = Scene(state)
            #expect(scene.stage.life == state.life, "\(state)")
            let action = scene.stage.transition(row.event(scene), at: 5)
            let expected = row.outcome(state) ?? (.none, nil)
            #expect(action == expected.0, "\(state)")
            #expect(scene.stage.life == expected.1 ?? state.life, "\(state)")
        }
    }

    @Test("a connection is opened for the first guest when its exchange leaves, and carries all of them over HTTP/2")
    func guests() {
        var scene = Scene(.resolvingWithGuest)
        _ = scene.stage.transition(.joined(scene.stranger), at: 2)
        _ = scene.stage.transition(.left(scene.exchange, Departure()), at: 3)
        guard case .opening(let opening) = scene.stage else { return #expect(Bool(false), "it is being opened") }
        #expect(opening.exchange === scene.guest)
        _ = scene.stage.transition(.resolved(Racing(nil)), at: 4)
        opening.surplus = [1, 2]
        _ = scene.stage.transition(.reachedStreams(Scene.session), at: 7)
        guard case .streaming(let streams) = scene.stage else { return #expect(Bool(false), "it streams") }
        #expect(streams.waiting.map(ObjectIdentifier.init) == [scene.guest, scene.stranger].map(ObjectIdentifier.init))
        #expect(streams.frames == [1, 2])
        #expect(streams.idleSince == 7)
    }

    @Test("an idle connection has been so since its exchange left, and its units are new each time")
    func rest() {
        var scene = Scene(.idle)
        for instant in [10, 20] as [Int64] {
            _ = scene.stage.transition(.taken(scene.stranger), at: instant - 1)
            _ = scene.stage.transition(.left(scene.stranger, Departure(keeps: true)), at: instant)
            guard case .idle(let rest) = scene.stage else { return #expect(Bool(false), "it is idle") }
            #expect(rest.since == instant)
            let isLeft = scene.stage.withdraw(ConnectionStage.Rest.units - 1)
            #expect(isLeft)
            let isMore = scene.stage.withdraw(1)
            #expect(!isMore)
        }
    }

    @Test("whatever happens in any order, a connection ends once and stays closed", arguments: 1...20)
    func ends(seed: UInt64) {
        var random = Weather(state: seed)
        for _ in 0..<50 {
            var scene = Scene(.resolving)
            var ends = 0
            for _ in 0..<30 {
                let wasClosed = scene.stage.life == .closed
                let event = Self.rows[Int.random(in: 0..<Self.rows.count, using: &random)].event(scene)
                let action = scene.stage.transition(event, at: 0)
                if case .ended = event, action == .close { ends += 1 }
                #expect(!wasClosed || (scene.stage.life == .closed && action == .none))
            }
            #expect(ends <= 1)
        }
    }
}
