#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The thread that owns the multi handle and every easy handle.
///
/// A turn handles messages, sockets and timers, collects ended exchanges, publishes received bytes, and then resumes
/// all waiting tasks. No other thread calls libcurl or accesses a variable other than ``inbox`` and ``pool``. This
/// justifies `@unchecked Sendable` and the omitted exclusivity checks.
final class CurlLoop: @unchecked Sendable {
    let inbox: Inbox
    let pool = BufferPool()
    let decoders = DecoderPool()
    let handleSettings: HandleSettings

    /// The time of this turn, in nanoseconds of the monotonic clock.
    @exclusivity(unchecked) private(set) var now: Int64 = 0
    /// The tasks that this thread resumes at the end of this turn.
    @exclusivity(unchecked) private var resumptions: [LoopWaiter] = []
    /// The tasks of the default executor that are resumed at the end of this turn, by lane.
    @exclusivity(unchecked) private var deliveries: [[LoopWaiter]] = [[], [], [], []]
    private let lanes = Delivery.Lane.priorities.map { Delivery(priority: $0) }

    let clock: LoopClock
    let poller: Poller
    @exclusivity(unchecked) var connections = ConnectionTable()
    /// Exchanges that libcurl reports as complete and that are not checked yet; see ``proveStreams()``.
    @exclusivity(unchecked) var unproven: [Exchange] = []
    /// Sockets of HTTP/2 connections on which a stream was lost; see ``proveStreams()``.
    @exclusivity(unchecked) var brokenSockets: [Int32] = []
    /// The number of bytes that OpenSSL may read before the call into libcurl must end; see ``TLSReadLimit``.
    @exclusivity(unchecked) var readableBytes = 0
    /// Exchanges that a callback stopped; they end when the turn settles.
    @exclusivity(unchecked) var broken: [Exchange] = []
    /// The number of header lines and body pieces that libcurl has delivered.
    @exclusivity(unchecked) var receivedPieces = 0
    /// The number of exchanges that libcurl has reported as ended, whatever follows.
    @exclusivity(unchecked) private(set) var reportedEnds = 0
    /// How long an idle connection is kept, in nanoseconds.
    let idleLife: Int64
    private let multi: OpaquePointer
    let share: OpaquePointer?
    @exclusivity(unchecked) var admission: Admission
    @exclusivity(unchecked) var running: [Exchange] = []
    @exclusivity(unchecked) var publications = Publications()
    @exclusivity(unchecked) private var messages: [LoopMessage] = []
    /// The calls that may use a connection; they start when the turn settles.
    @exclusivity(unchecked) var admitted: [Exchange] = []
    @exclusivity(unchecked) var idleHandles: [EasyHandle] = []
    @exclusivity(unchecked) var streamsByHost: [Int: Int] = [:]
    /// The exchanges that libcurl has received since it was last called.
    @exclusivity(unchecked) var handedOver: [Exchange] = []
    /// The exchanges that wait for a connection, by the deadline of their call.
    @exclusivity(unchecked) var deadlines = ExpiryQueue()
    /// When libcurl must be called; nil for never, the least value for immediately.
    @exclusivity(unchecked) private var timer: Int64?
    /// No time-out of the loop can expire before this time.
    @exclusivity(unchecked) var nextExpiry = Int64.max
    private let executor: LoopExecutor

    /// The identity of the loop thread as a number, once it runs.
    private let thread = Atomic<UInt>(0)

    /// Whether the caller is on the loop thread.
    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

    private static var currentThread: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            pthread_self()
        #endif
    }

    /// Makes the multi handle; the thread is started by ``start()``.
    init(_ handleSettings: HandleSettings, clock: LoopClock = LoopClock()) throws(LoadingError) {
        guard Self.isLibraryReady, let multi = curl_multi_init() else {
            throw LoadingError(.transport(code: Int(CURLE_FAILED_INIT.rawValue), message: "libcurl did not start"))
        }
        do {
            poller = try Poller()
        } catch {
            curl_multi_cleanup(multi)
            throw LoadingError(
                .transport(
                    code: Int(error.errno),
                    message: "no poller could be made: \(String(cString: strerror(error.errno)))"
                )
            )
        }
        self.handleSettings = handleSettings
        self.clock = clock
        idleLife = max(0, min(handleSettings.settings.connections.idleLife.wholeNanoseconds, 1 << 60))
        self.multi = OpaquePointer(multi)
        inbox = Inbox(wakeUpDescriptor: poller.wakeUpDescriptor)
        executor = LoopExecutor(inbox: inbox)
        admission = Admission(limits: handleSettings.settings.connections)
        let share = curl_share_init()
        if let share {
            // Only the loop thread uses the share, so it needs no lock functions.
            lade_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
        }
        self.share = share.map { OpaquePointer($0) }
        let connections = handleSettings.settings.connections
        let this = Unmanaged.passUnretained(self).toOpaque()
        lade_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections.total)
        lade_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections.total)
        lade_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections.perHost)
        lade_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, connections.streamsPerHost)
        lade_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, this)
        lade_multi_set_pointer(multi, CURLMOPT_TIMERDATA, this)
        lade_multi_set_socket(multi) { easy, socket, what, context, _ in
            let loop = CurlLoop.from(context)
            loop.poller.want(socket, what)
            if what != CURL_POLL_REMOVE { loop.noteUse(of: socket, by: easy) }
            return 0
        }
        lade_multi_set_timer(multi) { _, milliseconds, context in
            let loop = CurlLoop.from(context)
            // A time in the past means immediately. Compared with a clock value that was read earlier, the current time
            // would cause a wait of a millisecond.
            loop.timer =
                milliseconds < 0 ? nil : milliseconds == 0 ? .min : loop.clock.now() + Int64(milliseconds) * 1_000_000
            return 0
        }
    }

    private static let isLibraryReady = lade_global_init() == CURLE_OK

    /// The task executor that is this thread.
    var taskExecutor: any TaskExecutor { executor }

    var rawMulti: UnsafeMutableRawPointer { UnsafeMutableRawPointer(multi) }

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlLoop {
        guard let context else { preconditionFailure("libcurl lost the context of a callback") }
        return Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue()
    }

    /// Starts the thread, which keeps the loop alive until it is stopped; if the thread cannot be made, the loop is
    /// closed.
    func start(_ thread: (UnsafeMutableRawPointer) -> Int32 = { makeThread($0) }) throws(LoadingError) {
        let this = Unmanaged.passRetained(self).toOpaque()
        let result = thread(this)
        guard result == 0 else {
            shutDown()
            Unmanaged<CurlLoop>.fromOpaque(this).release()
            throw LoadingError(.transport(code: Int(result), message: "no thread could be started"))
        }
    }

    fileprivate func run() {
        thread.store(Self.currentThread, ordering: .relaxed)
        while turn() {}
        shutDown()
    }

    // MARK: - A turn

    private func turn() -> Bool {
        now = clock.now()
        // A job of the executor may post messages while it runs: draining again handles them without an empty wait.
        for _ in 0..<4 {
            let isStopped = inbox.drain(into: &messages)
            if isStopped {
                for message in messages { handle(message) }
                messages.removeAll()
                return false
            }
            if messages.isEmpty { break }
            for message in messages { handle(message) }
            messages.removeAll(keepingCapacity: true)
        }
        // New and continued exchanges have an immediate timer: firing it here saves an empty wait.
        fireTimer()
        settle()

        let mayWait = mayWait()
        // Callbacks use the time after the wait, because that is when their activity happens.
        poller.wait(isLook: !mayWait, woke: { now = clock.now() }) { ready in
            act(ready.socket, ready.bits)
        }
        inbox.wakeUp()
        now = clock.now()
        fireTimer()
        if now >= nextExpiry { expire() }
        settle()
        return true
    }

    /// Ends a turn: ended exchanges make room for waiting ones, then the waiting tasks are resumed.
    private func settle() {
        collectEnded()
        proveStreams()
        // libcurl sets an immediate timer for new exchanges; while it is pending, libcurl has not been called for them.
        if timer != .min { takeBackQueued() }
        while !admitted.isEmpty {
            let exchanges = admitted
            admitted = []
            for exchange in exchanges { start(exchange) }
        }
        flush()
    }

    /// Whether the loop may wait; if so, sets the timer for the next deadline.
    private func mayWait() -> Bool {
        guard wakeTime > now, inbox.fallAsleep() else { return false }
        poller.wake(at: clock.systemTime(wakeTime))
        return true
    }

    /// The latest time at which the loop must run again.
    private var wakeTime: Int64 { min(nextExpiry, timer ?? .max, publications.due) }

    private func fireTimer() {
        guard let timer, timer <= now else { return }
        self.timer = nil
        // CURL_SOCKET_TIMEOUT is -1.
        act(-1, 0)
    }

    /// Makes libcurl process a socket, or its expired timers.
    func act(_ socket: Int32, _ bits: Int32) {
        readableBytes = TLSReadLimit.bytesPerCall
        var still: Int32 = 0
        curl_multi_socket_action(rawMulti, socket, bits, &still)
    }

    func collectEnded() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(rawMulti, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            reportedEnds += 1
            var context: UnsafeMutableRawPointer?
            lade_easy_get_pointer(easy, CURLINFO_PRIVATE, &context)
            EasyHandle.with(context) { _, exchange, loop in loop.ended(exchange, code) }
        }
        endBroken()
    }

    /// Publishes received bytes to readers and resumes all waiting tasks, now that no callback runs.
    private func flush() {
        publications.publish(now: now) { resumptions.append($0) }
        for continuation in resumptions { continuation.resume() }
        resumptions.removeAll(keepingCapacity: true)
        for lane in lanes.indices where !deliveries[lane].isEmpty {
            lanes[lane].take(&deliveries[lane])
        }
    }

    /// Resumes a task at the end of this turn.
    func resume(_ continuation: LoopWaiter, _ lane: Delivery.Lane) {
        if lane == .direct {
            resumptions.append(continuation)
        } else {
            deliveries[lane.rawValue].append(continuation)
        }
    }

    // MARK: - Messages

    private func handle(_ message: LoopMessage) {
        switch message {
        case .submit(let exchange): submit(exchange)
        case .cancel(let exchange): cancel(exchange)
        case .resume(let exchange, let direction): resume(exchange, direction)
        case .resolved, .computed: break
        case .run(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }

    // MARK: - The end

    private func shutDown() {
        let late = inbox.close()
        for exchange in admission.removeAllWaiting() + admitted {
            finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
        }
        while let exchange = running.last {
            guard let handle = exchange.handle else {
                preconditionFailure("a running exchange has no handle")
            }
            end(exchange, handle, LoadingError(.cancelled, exchange.context))
        }
        for message in late {
            switch message {
            case .submit(let exchange):
                finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
            case .run(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
            case .cancel, .resume, .resolved, .computed: break
            }
        }
        flush()
        idleHandles = []
        curl_multi_cleanup(rawMulti)
        if let share { curl_share_cleanup(UnsafeMutableRawPointer(share)) }
        poller.close()
        for lane in lanes { lane.end() }
        inbox.announceEnd()
    }
}

private func loopThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

/// Makes the thread of a loop; returns the system's error number, or 0.
func makeThread(_ loop: UnsafeMutableRawPointer) -> Int32 {
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, nil, { loopThread($0) }, loop)
        if result == 0, let thread { pthread_detach(thread) }
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { $0.flatMap(loopThread) }, loop)
        if result == 0 { pthread_detach(thread) }
    #endif
    return result
}
