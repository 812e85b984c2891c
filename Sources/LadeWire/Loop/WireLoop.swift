import LadeCore
import LadeExchange
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The thread that owns every connection and every running exchange.
///
/// A turn handles messages, due times and ready sockets, and then resumes all waiting tasks. No other thread accesses a
/// variable other than ``inbox``, ``buffers`` and ``resolver``. This justifies `@unchecked Sendable` and the omitted
/// exclusivity checks.
final class WireLoop: @unchecked Sendable {
    let inbox: Inbox
    let executor: LoopExecutor
    let buffers = BufferPool()
    let decoders = DecoderPool()
    let resolver: Resolver
    let system: any WireSystem
    let settings: TransportSettings
    let rules: Exchange.Rules
    let idleLife: Int64
    let tls: TLSContext
    let proxies: ProxyRules

    /// The time of this turn, in nanoseconds of the monotonic clock.
    @exclusivity(unchecked) private(set) var now: Int64 = 0
    @exclusivity(unchecked) var admission: Admission
    @exclusivity(unchecked) var pool: ConnectionPool<Connection>
    @exclusivity(unchecked) var sessions: SessionCache<TLSSession>
    /// The open connections and the attempts to open one, by the numbers that the poller reports.
    @exclusivity(unchecked) var watched: [Int: Connection] = [:]
    /// The connections that wait for a look-up, by their numbers.
    @exclusivity(unchecked) var resolving: [Int: Connection] = [:]
    @exclusivity(unchecked) var running: [Exchange] = []
    /// The exchanges that may use a connection; they start when the turn settles.
    @exclusivity(unchecked) var admitted: [Exchange] = []
    /// The exchanges that wait for a connection, by the deadline of their call.
    @exclusivity(unchecked) var deadlines = ExpiryQueue()
    @exclusivity(unchecked) var dues = DueQueue<Connection>()
    @exclusivity(unchecked) var routes = RouteMemory()
    /// The exchanges whose stream has ended and that are sent on another connection.
    @exclusivity(unchecked) var moving: [Exchange] = []
    /// The exchanges for which there was no descriptor; they return to their queues when the turn settles.
    @exclusivity(unchecked) var starving: [Exchange] = []
    /// Whether something has ended since the calls that wait for a descriptor were tried.
    @exclusivity(unchecked) var hasFreed = false
    /// Connections with output to send when the turn settles.
    @exclusivity(unchecked) var dirty: [Connection] = []
    /// The connections whose output is sent now.
    @exclusivity(unchecked) private var flushed: [Connection] = []
    /// Connections that are served again in the next turn although nothing new is ready.
    @exclusivity(unchecked) var backlog: [Connection] = []
    @exclusivity(unchecked) private var numbers = 0
    @exclusivity(unchecked) private var messages: [LoopMessage] = []
    @exclusivity(unchecked) private var ready: [ReadySocket] = []
    /// The reports that the last turn had no time for; they come first in the next.
    @exclusivity(unchecked) private var late: [ReadySocket] = []
    /// How long the system had slept when it was looked at last.
    @exclusivity(unchecked) private var asleep: Int64
    /// The number of this turn.
    @exclusivity(unchecked) private var turns = 0
    /// The work that this turn has done, and may still do.
    @exclusivity(unchecked) var work = TurnWork()
    /// The most bytes of unpaid overhead on a connection (``OverheadMeter``); a test sets a smaller limit.
    @exclusivity(unchecked) var overheadLimit = OverheadMeter.limit
    @exclusivity(unchecked) var publications = Publications()
    @exclusivity(unchecked) private var resumptions: [LoopWaiter] = []
    /// The tasks of the default executor that are resumed at the end of this turn, by lane.
    @exclusivity(unchecked) private var deliveries: [[LoopWaiter]] = [[], [], [], []]
    private let lanes = Delivery.Lane.priorities.map { Delivery(priority: $0) }
    /// Where bytes are received whose place is not known yet.
    let scratch: UnsafeMutableRawBufferPointer
    /// Where ciphertext is received.
    let ciphertext: UnsafeMutableRawBufferPointer
    /// The units of starting an exchange, and of looking at a connection.
    private static let startUnits = 8
    private static let shareUnits = 4
    /// A sleep of the system that connections survive, in nanoseconds.
    private static let shortSleep: Int64 = 5_000_000_000
    /// The identity of the loop thread as a number, once it runs.
    private let thread = Atomic<UInt>(0)

    /// Makes the loop; the thread is started by ``start()``.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting of TLS or of proxies that cannot be used.
    init(
        _ settings: TransportSettings,
        system: any WireSystem,
        proxies: ProxyRules? = nil,
        now: @escaping @Sendable () -> Int64,
        lookUp: @escaping Resolver.LookUp = Resolver.systemLookUp
    ) throws(LoadingError) {
        if let proxies {
            self.proxies = proxies
        } else {
            self.proxies = try ProxyRules(settings)
        }
        tls = try TLSContext(settings.tls, limits: settings.limits, now: now())
        self.settings = settings
        self.system = system
        rules = Exchange.Rules(settings)
        inbox = Inbox(wakeUpDescriptor: system.wakeUpDescriptor)
        executor = LoopExecutor(inbox: inbox)
        resolver = Resolver(inbox: inbox, now: now, lookUp: lookUp)
        let connections = settings.connections
        idleLife = max(0, min(connections.idleLife.wholeNanoseconds, 1 << 60))
        admission = Admission(limits: connections, sharesMultiplexed: true)
        pool = ConnectionPool(perKey: connections.perHost, total: connections.total)
        // As many connections of a host may be opened at the same time, and each takes a ticket.
        sessions = SessionCache(perKey: min(max(connections.perHost, 4), 64))
        asleep = system.timeAsleep()
        // Last: an initialiser that throws earlier runs no deinit.
        scratch = .allocate(byteCount: TurnBudget.piece, alignment: 4096)
        ciphertext = .allocate(byteCount: TurnBudget.ciphertext, alignment: 4096)
    }

    deinit {
        scratch.deallocate()
        ciphertext.deallocate()
    }

    /// Whether the caller is on the loop thread.
    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// A number for a connection or an attempt, which is never used again.
    func nextNumber() -> Int {
        numbers += 1
        return numbers
    }

    /// Starts the thread, which keeps the loop alive until it is stopped.
    func start() throws(LoadingError) {
        let result = SystemThread.start { self.run() }
        guard result == 0 else {
            shutDown()
            throw LoadingError(.transport(code: Int(result), message: "no thread could be started"))
        }
    }

    /// Makes the calling thread the loop's, whose turns it runs from now on.
    func adoptThread() { thread.store(pthread_self(), ordering: .relaxed) }

    private func run() {
        adoptThread()
        while turn() {}
        shutDown()
        TLSContext.endThread()
    }

    // MARK: - A turn

    /// Runs one turn; false when the loop must stop.
    ///
    /// A turn handles the work that exists at its beginning and after its wait, and nothing twice. New work for a connection
    /// that was served waits for the next step. Therefore a turn ends whatever peers do. Between any two turns the loop checks
    /// messages, due times and whether it must end.
    func turn() -> Bool {
        now = system.now()
        work.begin(at: now)
        guard handleMessages() else { return false }
        settle()
        // The sockets are read before due times are checked. A due time ends no call whose bytes wait in a socket, as they do
        // after the process was stopped.
        let wakeTime = wakeTime
        let mayWait = !hasWork && wakeTime > now && inbox.fallAsleep()
        system.wait(until: mayWait ? wakeTime : nil, into: &ready)
        inbox.wakeUp()
        now = system.now()
        work.begin(at: now, isContinued: true)
        if mayWait { noteSleep() }
        // Before the sockets, so that a cancellation precedes the data of the same turn.
        guard handleMessages() else { return false }
        serveSockets()
        expire()
        settle()
        return true
    }

    /// Whether something is left for the next turn, which does not wait then.
    private var hasWork: Bool {
        !backlog.isEmpty || !late.isEmpty || !dirty.isEmpty || !admitted.isEmpty || !moving.isEmpty
            || pool.hasOrphans || !starving.isEmpty || (hasFreed && admission.hasStarved)
    }

    /// The time at which the loop must run again: the least of all due times.
    var wakeTime: Int64 {
        min(dues.next, deadlines.first ?? .max, resolving.isEmpty ? .max : resolver.due, publications.due)
    }

    /// Closes the idle connections after a sleep of the system, in which servers and routers have forgotten them.
    private func noteSleep() {
        let before = asleep
        asleep = system.timeAsleep()
        guard asleep - before > Self.shortSleep else { return }
        while let connection = pool.takeLongestIdle() { close(connection) }
    }

    private func handleMessages() -> Bool {
        // A job of the executor may post messages while it runs: draining again handles them without an empty wait.
        for _ in 0..<4 {
            let isStopped = inbox.drain(into: &messages)
            for message in messages { handle(message) }
            let isEmpty = messages.isEmpty
            messages.removeAll(keepingCapacity: true)
            if isStopped { return false }
            if isEmpty { return true }
        }
        return true
    }

    /// Serves each connection once within its budget: those that the last turn did not reach, those that continue from
    /// it, and those that are ready.
    private func serveSockets() {
        turns += 1
        let reached = late.count
        if reached > 0 {
            let known = Set(late.map(\.number))
            late += ready.filter { !known.contains($0.number) }
            swap(&late, &ready)
            late.removeAll(keepingCapacity: true)
        }
        let count = backlog.count + ready.count
        var index = 0
        func serveReady(upTo end: Int) -> Bool {
            while index < end {
                let socket = ready[index]
                index += 1
                guard let connection = watched[socket.number] else { continue }
                // Level-triggered: bytes of a connection that has had its share are reported again.
                guard connection.servedIn != turns || connection.isOpening else { continue }
                guard !connection.isBacklogged else {
                    if socket.isWritable, connection.writes { markDirty(connection) }
                    continue
                }
                connection.servedIn = turns
                begin(connection)
                note(socket, on: connection, TurnBudget(readyConnections: count))
                if !hasTime() { return false }
            }
            return true
        }
        func serveBacklog() -> Bool {
            let continued = backlog
            backlog.removeAll(keepingCapacity: true)
            for (position, connection) in continued.enumerated() {
                connection.isBacklogged = false
                if connection.servedIn == turns {
                    // It came into the list in this turn.
                    markBacklogged(connection)
                    continue
                }
                connection.servedIn = turns
                begin(connection)
                serve(connection, TurnBudget(readyConnections: count))
                if !hasTime() {
                    backlog.insert(contentsOf: continued[(position + 1)...], at: 0)
                    return false
                }
            }
            return true
        }
        if serveReady(upTo: reached), serveBacklog() { _ = serveReady(upTo: ready.count) }
        late.append(contentsOf: ready[index...])
        ready.removeAll(keepingCapacity: true)
    }

    /// Starts exchanges, sends output, and resumes all waiting tasks.
    ///
    /// Each list is taken once. New work that a connection's output causes, such as the next exchange or more output, is
    /// settled after the next messages.
    private func settle() {
        let exchanges = admitted
        admitted = []
        for (index, exchange) in exchanges.enumerated() {
            guard index == 0 || hasTime() else {
                admitted.insert(contentsOf: exchanges[index...], at: 0)
                break
            }
            work.use(Self.startUnits)
            start(exchange)
        }
        let moved = moving
        moving = []
        reopen(moved)
        closeOrphans()
        putBackStarving()
        startStarved()
        swap(&dirty, &flushed)
        for (index, connection) in flushed.enumerated() {
            guard index == 0 || hasTime() else {
                dirty.insert(contentsOf: flushed[index...], at: 0)
                break
            }
            connection.isDirty = false
            begin(connection)
            flush(connection)
        }
        flushed.removeAll(keepingCapacity: true)
        publications.publish(now: now) { resumptions.append($0) }
        for waiter in resumptions { waiter.resume() }
        resumptions.removeAll(keepingCapacity: true)
        for lane in lanes.indices where !deliveries[lane].isEmpty { lanes[lane].take(&deliveries[lane]) }
    }

    /// Begins the share of a connection in a turn.
    private func begin(_ connection: Connection) {
        work.beginConnection(isInDebt: connection.meter.isInDebt)
        work.use(Self.shareUnits)
    }

    /// Whether this turn may begin more.
    func hasTime() -> Bool {
        work.hasTime {
            now = system.now()
            return now
        }
    }

    /// Resumes a task at the end of this turn.
    func resume(_ waiter: LoopWaiter, _ lane: Delivery.Lane) {
        if lane == .direct {
            resumptions.append(waiter)
        } else {
            deliveries[lane.rawValue].append(waiter)
        }
    }

    /// Sends the output of a connection when the turn settles.
    func markDirty(_ connection: Connection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirty.append(connection)
    }

    /// Serves a connection in the next turn, without waiting for the poller.
    func markBacklogged(_ connection: Connection) {
        guard !connection.isBacklogged else { return }
        connection.isBacklogged = true
        backlog.append(connection)
    }

    // MARK: - The end

    /// Ends every exchange and closes everything; the last function of the loop.
    func shutDown() {
        let late = inbox.close()
        for exchange in admission.removeAllWaiting() + admitted {
            finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
        }
        admitted = []
        moving = []
        for exchange in running { end(exchange, LoadingError(.cancelled, exchange.context)) }
        for message in late {
            switch message {
            case .submit(let exchange):
                finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
            case .run(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
            case .cancel, .resume, .resolved, .computed: break
            }
        }
        // No exchange starts any more: the exchanges that the ends above have admitted were cancelled before.
        admitted = []
        for connection in Set(watched.values.map(Reference.init)).map(\.connection) { close(connection) }
        for connection in resolving.values { close(connection) }
        settle()
        dues.removeAll()
        system.shutDown()
        for lane in lanes { lane.end() }
        inbox.announceEnd()
    }
}

/// A connection that is compared by its identity.
private struct Reference: Hashable {
    let connection: Connection

    static func == (first: Reference, second: Reference) -> Bool { first.connection === second.connection }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(connection)) }
}
