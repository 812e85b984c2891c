import Foundation
import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

/// A run of the whole transport over simulated sockets: calls, their outcomes, and what must hold in every turn.
final class Simulation: @unchecked Sendable {
    /// A call and what it must return when nothing goes wrong.
    struct Call {
        enum Reader {
            /// The response is buffered.
            case none
            case eager
            /// A chunk every third turn.
            case slow
            /// Nothing before the calls of all other readers are over.
            case last
        }

        var target: String
        var scheme = "http"
        /// Whether HTTP/2 is spoken in clear text.
        var knowsHTTP2 = false
        var host = "10.0.0.1"
        var method = Request.Method.get
        var headers = Headers()
        var destination: Request.Destination?
        var body: Request.Body?
        var reader = Reader.none
        var status = 200
        var content = ""
        /// How long the call may take; nil for no limit.
        var deadline: Duration?
        /// What it fails with when nothing goes wrong.
        var error: LoadingError.Kind?
        /// Whether the body may end anywhere, because its end is that of the connection.
        var endsAnywhere = false
        /// The request's body as the server must see it; nil when it need not see all of it.
        var upload: String?
    }

    /// What became of one call.
    struct Outcome {
        var isOver = false
        /// The time of the simulation at which it was over.
        var endedAt: Int64 = 0
        var status: Int?
        var content: [UInt8] = []
        var trailers = Headers()
        var error: LoadingError.Kind?
        /// How many ends of the exchange were reported, and whether anything was after one.
        var endings = 0
        var starts = 0
        var hasEventAfterEnd = false
        var repeats = 0
        /// All events as text.
        var events = ""

        var isSuccess: Bool { isOver && error == nil }
    }

    /// Counts the events of one call; used by one thread.
    private final class Tally: LadeCore.Call.Observer, @unchecked Sendable {
        let simulation: Simulation
        let index: Int

        init(_ simulation: Simulation, _ index: Int) {
            self.simulation = simulation
            self.index = index
        }

        func record(_ event: LadeCore.Call.Event, of call: LadeCore.Call) {
            if simulation.recordsEvents { simulation.outcomes[index].events += "\(event)\n" }
            if simulation.outcomes[index].endings > 0 { simulation.outcomes[index].hasEventAfterEnd = true }
            switch event {
            case .exchangeFinished, .exchangeFailed: simulation.outcomes[index].endings += 1
            case .exchangeStarted: simulation.outcomes[index].starts += 1
            case .exchangeRepeated: simulation.outcomes[index].repeats += 1
            default: break
            }
        }
    }

    let system: SimulatedSystem
    let loop: WireLoop
    let transport: WireTransport
    /// Each lane makes its calls one after the other.
    private let lanes: [[Call]]
    private(set) var calls: [Call]
    var outcomes: [Outcome]
    private var tasks: [Task<Void, Never>] = []
    private var gates: [CheckedContinuation<Void, Never>] = []
    private var lastGates: [CheckedContinuation<Void, Never>] = []
    private(set) var turns = 0
    /// How many turns in a row have neither waited nor moved anything.
    private var emptyTurns = 0
    private(set) var isStopped = false
    private let hasProducers: Bool

    init(
        _ lanes: [[Call]],
        _ settings: TransportSettings,
        proxies: ProxyRules? = nil,
        on system: SimulatedSystem
    ) {
        self.lanes = lanes
        self.system = system
        calls = lanes.flatMap(\.self)
        outcomes = calls.map { _ in Outcome() }
        hasProducers = calls.contains { if case .bytes? = $0.body?.content { false } else { $0.body != nil } }
        guard
            let loop = try? WireLoop(
                settings,
                system: system,
                proxies: proxies,
                now: { system.now() },
                lookUp: system.lookUp
            )
        else {
            preconditionFailure("the settings of TLS are the default ones")
        }
        self.loop = loop
        loop.adoptThread()
        transport = WireTransport(over: loop)
        system.onWait = { [unowned self] moment in
            isWaiting = moment != nil
            check(waitingUntil: moment)
            beforeWait?()
        }
        system.awaitsMessage = { [unowned self] in
            hasProducers && self.loop.watched.values.contains(where: Self.awaitsProducer)
        }
        system.onPlace = { [unowned self] in cancel() }
        system.onFinding = { [unowned self] in find($0) }
    }

    /// Whether the task that makes a body has no bytes for a request of a connection, and will post when it has.
    private static func awaitsProducer(_ connection: Connection) -> Bool {
        switch connection.stage {
        case .busy(let carried): carried.carriage.awaitsProducer
        case .streaming(let streams):
            streams.carried.values.contains { carried in
                guard let stream = streams.session.stream(carried.number) else { return false }
                return stream.isDeferred && stream.sending == .body
            }
        case .opening, .idle, .closed: false
        }
    }

    /// Whether the events of calls are kept as text.
    var recordsEvents = false
    /// Called at the beginning of a wait, and whether the loop would have slept in it.
    var beforeWait: (() -> Void)?
    private(set) var isWaiting = false

    /// The errors of the calls that have one.
    var errors: [LoadingError.Kind] { outcomes.compactMap(\.error) }

    var haveAllSucceeded: Bool { outcomes.allSatisfy { $0.isSuccess } }

    /// What does not hold.
    private(set) var findings: [String] = []

    private func find(_ finding: String) {
        if !findings.contains(finding) { findings.append(finding) }
    }

    /// What a place of a cancellation does.
    var stops = false

    /// Makes another call, in a lane of its own.
    func again(_ call: Call) {
        let index = calls.count
        calls.append(call)
        outcomes.append(Outcome())
        tasks.append(Task(executorPreference: loop.executor) { [unowned self] in await make(call, index) })
    }

    /// Cancels the calls of a lane.
    func cancel(lane: Int) { tasks[lane].cancel() }

    /// Ends the transport with whatever runs.
    func stop() {
        loop.inbox.stop()
        while turn() {}
        finish()
    }

    private func cancel() {
        if stops {
            loop.inbox.stop()
        } else {
            for task in tasks { task.cancel() }
        }
    }

    /// Settings under which everything of the simulation happens: little buffering, short limits.
    static var settings: TransportSettings {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.limits.streamHighWater = 16
        settings.connections.perHost = 2
        settings.connections.total = 4
        settings.connections.idleLife = .seconds(60)
        return settings
    }

    /// Runs until all calls have ended, then until nothing is left.
    func run(turnsAtMost most: Int = 6_000) {
        if tasks.isEmpty { start() }
        while outcomes.contains(where: { !$0.isOver }), turns < most, turn() {}
        if outcomes.contains(where: { !$0.isOver }), !isStopped { find("a call did not end") }
        for _ in 0..<3 where !isStopped { _ = turn() }
        finish()
    }

    func start() {
        var index = 0
        for lane in lanes {
            let first = index
            index += lane.count
            tasks.append(
                Task(executorPreference: loop.executor) { [unowned self] in
                    for (offset, call) in lane.enumerated() { await make(call, first + offset) }
                }
            )
        }
    }

    @discardableResult
    func turn() -> Bool {
        turns += 1
        if turns % 3 == 0 {
            let open = gates
            gates = []
            for gate in open { gate.resume() }
        }
        if !lastGates.isEmpty, zip(calls, outcomes).allSatisfy({ $0.reader == .last || $1.isOver }) {
            gates += lastGates
            lastGates = []
        }
        system.beginTurn()
        let moves = system.moves
        isStopped = !loop.turn()
        emptyTurns = isWaiting || system.moves > moves ? 0 : emptyTurns + 1
        if emptyTurns > 100 { find("wire WR-3: the loop turns without waiting, and nothing moves") }
        checkTurn()
        return !isStopped
    }

    /// Runs turns until a condition holds, within reason.
    func turn(until condition: () -> Bool) {
        for _ in 0..<3_000 {
            if condition() { return }
            guard turn() else { return }
        }
        find("what a test waits for never came")
    }

    /// Ends the transport and checks that nothing is left.
    func finish() {
        if !isStopped {
            if !loop.running.isEmpty { find("an exchange is left") }
            let isLeft = loop.watched.values.contains { $0.streams.map { !$0.carried.isEmpty } ?? !$0.isIdle }
            if isLeft { find("a connection is left") }
        }
        loop.inbox.stop()
        loop.shutDown()
        system.forgetLookUps()
        // The tasks that were resumed last have run, because the executor of a stopped loop runs them immediately.
        for gate in gates + lastGates { gate.resume() }
        gates = []
        lastGates = []
        if outcomes.contains(where: { !$0.isOver }) { find("a call survives the transport") }
        if outcomes.contains(where: { $0.starts != $0.endings }) { find("finding WF-11: an exchange has no end") }
        if system.openSockets > 0 { find("\(system.openSockets) sockets are left") }
        if !loop.watched.isEmpty || !loop.resolving.isEmpty { find("connections are left") }
        if loop.pool.open != 0 { find("the pool counts \(loop.pool.open) connections") }
        if loop.dues.next != .max { find("a due time is left") }
    }

    // MARK: - A call

    private func make(_ call: Call, _ index: Int) async {
        do throws(LoadingError) {
            var request = try Request(call.method, "\(call.scheme)://\(call.host)\(call.target)")
            if call.knowsHTTP2 { request.version = .http2PriorKnowledge }
            request.headers = call.headers
            request.body = call.body
            request.destination = call.destination
            request.timeouts.idle = .seconds(5)
            request.timeouts.connect = .seconds(10)
            if call.reader != .none { request.delivery = .streamed }
            var context = LadeCore.Call(events: [Tally(self, index)])
            if let deadline = call.deadline { context.deadline = context.time.now.advanced(by: deadline) }
            let response = try await transport.send(request, call: context)
            outcomes[index].status = response.status.code
            if let bytes = response.body.bytes {
                outcomes[index].content = Array(bytes)
            } else {
                if call.reader == .last {
                    await withCheckedContinuation { gate in
                        if isStopped { gate.resume() } else { lastGates.append(gate) }
                    }
                }
                for try await chunk in response.body {
                    if chunk.isEmpty { find("finding LX-1: a chunk is empty") }
                    outcomes[index].content += chunk
                    if call.reader == .slow {
                        await withCheckedContinuation { gate in
                            if isStopped { gate.resume() } else { gates.append(gate) }
                        }
                    }
                }
            }
            outcomes[index].trailers = response.body.trailers
        } catch {
            outcomes[index].error = error.kind
        }
        outcomes[index].isOver = true
        outcomes[index].endedAt = system.now()
    }

    // MARK: - What must hold

    private func check(waitingUntil moment: Int64?) {
        // WR-3: the wake time is the least of all due times, by a plain scan.
        guard let moment else { return }
        var least = loop.deadlines.first ?? .max
        for connection in loop.watched.values { least = min(least, loop.due(of: connection)) }
        for connection in loop.running.compactMap(\.connection) { least = min(least, loop.due(of: connection)) }
        for connection in loop.resolving.values { least = min(least, loop.due(of: connection)) }
        if !loop.resolving.isEmpty { least = min(least, loop.resolver.due) }
        for stream in loop.running.compactMap(\.stream) where stream.isMarked {
            least = min(least, stream.dueTime(now: loop.now) ?? 0)
        }
        if moment != least { find("wire WR-3: the loop waits until \(moment), and the least due time is \(least)") }
    }

    private func checkTurn() {
        if !isStopped, loop.backlog.isEmpty, loop.wakeTime <= loop.now {
            find("finding WF-1: a due time was not acted on in its turn")
        }
        for (index, outcome) in outcomes.enumerated() {
            if outcome.endings > 1 { find("call \(index) ended \(outcome.endings) times") }
            if outcome.endings > outcome.starts { find("finding WF-11: an exchange ended that had not begun") }
            if outcome.hasEventAfterEnd { find("call \(index) has an event after its end") }
        }
        if loop.pool.open > loop.settings.connections.total { find("too many connections") }
        for entry in loop.pool.keys.values {
            let isRight =
                entry.opening.allSatisfy(\.isOpening) && entry.idle.allSatisfy(\.isIdle)
                && entry.streaming.allSatisfy(\.isStreaming)
            if !isRight { find("the pool has a connection in another stage") }
        }
        for connection in loop.watched.values {
            guard let exchange = connection.carried?.exchange, exchange.connection !== connection else { continue }
            find("a connection carries an exchange that is not its own")
        }
        // WR-57: at the mark, and one frame beyond it, which is a piece in which the socket was read without windows.
        let most = loop.rules.limits.streamHighWater + (16 << 10)
        let streams = loop.watched.values.compactMap(\.streams)
        for carried in streams.flatMap(\.carried.values) where carried.exchange.isStreamed {
            let held = carried.carriage.held.count + (carried.exchange.stream?.unreadBytes ?? 0)
            if held > most { find("wire WR-57: \(held) bytes are held for a stream") }
        }
    }

    /// What must hold of the outcomes of any run.
    func checkOutcomes() {
        checkSecrets()
        for (index, call) in calls.enumerated() {
            let outcome = outcomes[index]
            if call.error != nil, outcome.isSuccess { find("call \(index) succeeds") }
            let expected = Array(call.content.utf8)
            if !expected.starts(with: outcome.content) { find("call \(index) has bytes that were not sent") }
            let seen = system.requests.filter { $0.target == call.target }
            if seen.count > 1 + outcome.repeats { find("the request of call \(index) was seen \(seen.count) times") }
            if outcome.repeats > (call.method.isIdempotent ? 1 : 0) { find("call \(index) was sent again") }
            guard outcome.isSuccess else { continue }
            if outcome.status != call.status { find("call \(index) has status \(outcome.status ?? 0)") }
            if outcome.content.count < expected.count, !call.endsAnywhere {
                find("call \(index) is complete without its whole body")
            }
            if let upload = call.upload, !seen.contains(where: { $0.isWhole && $0.text == upload }) {
                find("the server has not seen the body of call \(index)")
            }
        }
    }
}

extension Simulation {
    /// The secret of an origin, which calls send in a field.
    static let originSecret = "origin-secret"

    /// No proxy has seen a secret of an origin that it has no request of, and no origin one of a proxy.
    private func checkSecrets() {
        let secrets = [
            SimulatedProxy.basic, SimulatedProxy.credentials.user, SimulatedProxy.credentials.password.reveal(),
        ]
        for server in system.servers {
            if server.wasEarly { find("bytes for the origin were sent together with those for the proxy") }
            if let proxy = server.proxy, String(decoding: proxy.seen, as: UTF8.self).contains(Self.originSecret) {
                find("a proxy has seen the secret of an origin")
            }
            guard !server.isForwarder else { continue }
            for request in server.requests {
                let text = request.head + String(decoding: request.body, as: UTF8.self)
                if secrets.contains(where: text.contains) { find("an origin has seen the secret of a proxy") }
            }
        }
        for (index, outcome) in outcomes.enumerated() {
            let text = outcome.error.map { "\($0)" } ?? ""
            if secrets.contains(where: text.contains) { find("the error of call \(index) has the secret of a proxy") }
            if secrets.contains(where: outcome.events.contains) {
                find("an event of call \(index) has the secret of a proxy")
            }
        }
    }
}

extension SimulatedServer.Seen {
    /// The body, without chunks.
    var text: String {
        guard head.lowercased().contains("chunked") else { return String(decoding: body, as: UTF8.self) }
        var rest = body[...]
        var content: [UInt8] = []
        while let end = rest.firstIndex(of: 13),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16),
            size > 0
        {
            content += rest[(end + 2)...].prefix(size)
            rest = rest[(end + 2)...].dropFirst(size + 2)
        }
        return String(decoding: content, as: UTF8.self)
    }
}

/// Expects that a list is empty; an expectation that names a simulation would describe all of it when it fails.
func expectNothing<Element>(_ list: [Element], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(list.isEmpty, "\(list.prefix(3))", sourceLocation: sourceLocation)
}
