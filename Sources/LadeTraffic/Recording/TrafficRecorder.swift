#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// Records the exchanges of services as entries of a HAR file.
///
/// Retries, redirects, exchanges with token endpoints and revalidations are entries, each with its waits. So is a response that a
/// cache served.
///
/// ```swift
/// let recorder = try TrafficRecorder(writingTo: "session.har")
/// var settings = Service.Settings()
/// recorder.attach(to: &settings)
/// let service = try Service(settings)
/// // … calls …
/// try recorder.flush()
/// ```
///
/// Secrets are removed before anything is written. Fields, items of queries, cookies and user names follow the rules of logs and
/// events. Passwords and tokens are removed from forms and JSON too. An entry is complete when its body has ended. Times and dates are those of
/// the service. A service without a recorder has no code of it in its chain.
public final class TrafficRecorder: Sendable {
    /// The choice of what is recorded.
    public struct Settings: Sendable {
        /// The most bytes of each body that are recorded; 1 MiB by default, and 0 for none.
        public var bodyLimit = 1 << 20
        /// Whether secrets are recorded as they are; false by default.
        public var showsSecrets = false

        /// Makes the default settings.
        public init() {}
    }

    let settings: Settings
    private let file: HARFile?
    let receive: @Sendable (HAREntry) -> Void

    /// Makes a recorder that gives each entry to a closure.
    ///
    /// - Parameters:
    ///   - settings: The choice of what is recorded.
    ///   - receive: Called when an exchange has ended, on the thread that ended it: return quickly.
    public init(_ settings: Settings = Settings(), receive: @escaping @Sendable (HAREntry) -> Void) {
        self.settings = settings
        file = nil
        self.receive = receive
    }

    /// Makes a recorder that writes to a file, which is replaced if it exists and only its owner can read.
    ///
    /// - Parameters:
    ///   - path: The file. It is a complete document after each entry.
    ///   - settings: The choice of what is recorded.
    /// - Throws: The fault of a file that cannot be written.
    public init(writingTo path: String, _ settings: Settings = Settings()) throws(HARFault) {
        self.settings = settings
        let file = try HARFile(path)
        self.file = file
        receive = { file.add($0) }
    }

    /// Records the calls of a service that is made of these settings from now on.
    ///
    /// The recorder acts directly above the transport, below all other interceptors, and observes the service. With a cache it
    /// also acts above that, for what is served from the store. Attach it after the settings are complete.
    public func attach(to settings: inout Service.Settings) {
        let tap = TrafficTap(self)
        settings.observers.append(tap)
        let (adjust, hasCache) = (settings.adjustChain, settings.cache != nil)
        settings.adjustChain = { layout in
            adjust(&layout)
            layout.insert(ExchangeTap(tap: tap), below: .buffering)
            if hasCache { layout.insert(StoreTap(tap: tap), above: .cache) }
        }
    }

    /// Records one exchange over a transport, for a transport that wraps another one.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - call: The call that it belongs to.
    ///   - transport: The transport that sends it.
    /// - Returns: Its response, whose body is recorded while it is read.
    /// - Throws: The error of the transport, which is recorded too.
    public func send(
        _ request: Request,
        call: Call,
        over transport: some Transport
    ) async throws(LoadingError) -> Response {
        let exchange = RecordedExchange(request, call, TrafficTap(self))
        do throws(LoadingError) {
            return exchange.observe(try await transport.send(exchange.sent, call: call))
        } catch {
            exchange.end(response: nil, body: nil, error)
            throw error
        }
    }

    /// Reports whether everything is in the file.
    ///
    /// Call it when the service has ended: the entry of a body that is still read is not in the file.
    ///
    /// - Throws: The fault of the first entry that could not be written.
    public func flush() throws(HARFault) { try file?.flush() }
}

/// The facts of the calls of one service: events become facts of the next exchange of their call.
final class TrafficTap: Call.Observer {
    /// The facts of a call between two exchanges.
    struct CallFacts {
        var waits: [HAREntry.Wait] = []
        var rule: String?
        var delay: Duration?
        var cache: String?
    }

    /// An exchange in progress.
    struct Draft {
        var number: UInt64
        var hedge: Int
        var facts: CallFacts
        var metrics: Response.Metrics?
        var connectionWait: HAREntry.Wait?
    }

    private struct State {
        var calls: [Call.ID: CallFacts] = [:]
        var drafts: [Call.ID: [Draft]] = [:]
    }

    // Background work of a cache has no last event; this many calls are remembered at most.
    private static let callLimit = 4_096

    let recorder: TrafficRecorder
    // Guarded by its lock.
    private let state = Locked(State())
    private let lastNumber = Atomic<UInt64>(0)

    init(_ recorder: TrafficRecorder) { self.recorder = recorder }

    /// False: the entries have the fields from the responses themselves.
    var needsHeads: Bool { false }

    func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .waitEnded(let reason, let duration): noteWait(reason, duration, call)
        case .retryScheduled(let retry): change(call) { ($0.rule, $0.delay) = (retry.rule.description, retry.delay) }
        case .requestReplayed(let authoriser): change(call) { $0.rule = "sent again with credentials of \(authoriser)" }
        case .redirectFollowed(let status, _, _, _): change(call) { $0.rule = "redirect \(status)" }
        case .hedgeStarted(let number, let delay):
            change(call) { ($0.rule, $0.delay) = ("hedge \(number)", delay) }
        case .cacheMissed(let rule): change(call) { $0.cache = "miss: \(rule)" }
        case .cacheValidating(let rule): change(call) { $0.cache = "validating: \(rule)" }
        case .exchangeFinished(let metrics), .exchangeFailed(_, let metrics):
            state.withLock { state in
                let index = state.drafts[call.id]?.lastIndex { $0.hedge == call.hedge && $0.metrics == nil }
                if let index { state.drafts[call.id]?[index].metrics = metrics }
            }
        case .bodyFinished, .callFailed: state.withLock { _ = $0.calls.removeValue(forKey: call.id) }
        default: break
        }
    }

    private func noteWait(_ reason: Call.WaitReason, _ duration: Duration, _ call: Call) {
        let wait = HAREntry.Wait(reason.description, duration)
        let isOfTransport =
            switch reason {
            case .connection, .connectivity: true
            default: false
            }
        guard isOfTransport else { return change(call) { $0.waits.append(wait) } }
        state.withLock { state in
            if let index = state.drafts[call.id]?.lastIndex(where: { $0.hedge == call.hedge }) {
                state.drafts[call.id]?[index].connectionWait = wait
            }
        }
    }

    private func change(_ call: Call, _ body: (inout CallFacts) -> Void) {
        state.withLock { state in
            if state.calls.count >= Self.callLimit, state.calls[call.id] == nil, let some = state.calls.keys.first {
                state.calls[some] = nil
            }
            body(&state.calls[call.id, default: CallFacts()])
        }
    }

    /// Begins an exchange, which takes the facts that were noted for its call.
    func begin(_ call: Call) -> UInt64 {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        state.withLock { state in
            let facts = state.calls.removeValue(forKey: call.id) ?? CallFacts()
            state.drafts[call.id, default: []].append(Draft(number: number, hedge: call.hedge, facts: facts))
        }
        return number
    }

    /// Ends an exchange, and returns what is known of it.
    func end(_ number: UInt64, of call: Call) -> Draft {
        state.withLock { state in
            guard var drafts = state.drafts.removeValue(forKey: call.id),
                let index = drafts.firstIndex(where: { $0.number == number })
            else { return Draft(number: number, hedge: call.hedge, facts: CallFacts()) }
            let draft = drafts.remove(at: index)
            if !drafts.isEmpty { state.drafts[call.id] = drafts }
            return draft
        }
    }

    /// Takes the facts of a call that needed no exchange.
    func takeFacts(of call: Call) -> CallFacts {
        state.withLock { $0.calls.removeValue(forKey: call.id) ?? CallFacts() }
    }
}

/// Records each exchange, directly above the transport.
struct ExchangeTap: Interceptor {
    let tap: TrafficTap

    var observesScope: Bool { true }
    var changedFields: [String] { [] }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        let exchange = RecordedExchange(request, next.call, tap)
        do throws(LoadingError) {
            return exchange.observe(try await next(exchange.sent))
        } catch {
            exchange.end(response: nil, body: nil, error)
            throw error
        }
    }
}

/// Records what a cache serves without the server.
struct StoreTap: Interceptor {
    let tap: TrafficTap

    var observesScope: Bool { true }
    var changedFields: [String] { [] }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        let (start, date) = (next.call.time.now, next.call.time.date)
        let response = try await next(request)
        guard response.source == .cache else { return response }
        let facts = tap.takeFacts(of: next.call)
        let use = response.metrics.cacheUse
        var entry = TrafficEntry(
            request: request,
            requestBody: nil,
            response: response,
            metrics: Response.Metrics(),
            call: next.call,
            date: date,
            elapsed: start.duration(to: next.call.time.now)
        )
        entry.facts = facts
        entry.facts.cache = "served" + (use.map { ": \($0.rule), age \($0.age.shortText)" } ?? "")
        entry.isFromStore = true
        if let bytes = response.body.bytes {
            entry.responseBody = bytes
            entry.responseSize = Int64(bytes.count)
        }
        tap.recorder.receive(entry.entry(tap.recorder.settings))
        return response
    }
}
