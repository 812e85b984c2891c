#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeCore

extension Authorisation {
    /// How credentials are renewed.
    public struct RefreshSettings: Sendable, Hashable {
        /// How long before their end credentials are renewed while they are still in use; 30 s by default.
        ///
        /// Credentials with a shorter life than twice this value are renewed in the second half of their life.
        public var ahead = Duration.seconds(30)
        /// The longest time for one refresh, independently of the deadline of the call that started it; 30 s by default.
        public var deadline = Duration.seconds(30)
        /// The most refreshes within ``window``; 5 by default.
        public var limit = 5
        /// The period in which at most ``limit`` refreshes may start; 30 s by default.
        public var window = Duration.seconds(30)
        /// How long the first temporary failure is remembered, 5 s by default; doubled for each further one in a row.
        ///
        /// During that time every call that needs the refresh fails with the same error. A failure that only the user can
        /// resolve is remembered until there are new credentials.
        public var failureMemory = Duration.seconds(5)
        /// The longest time for which a temporary failure is remembered; 5 min by default.
        public var maximumFailureMemory = Duration.seconds(300)

        /// Makes the default settings.
        public init() {}
    }
}

extension Authorisation {
    /// When credentials expire.
    public enum Expiry: Sendable, Hashable {
        /// No known end.
        case never
        /// This long after the credentials were made.
        case after(Duration)
        /// At a date, as stored by an earlier run of the program.
        case at(Date)

        /// The rest of the life at a date, for credentials that were made then; nil without a known end.
        func life(at date: Date) -> Duration? {
            switch self {
            case .never: nil
            case .after(let duration): duration
            case .at(let then): .seconds(min(max(then.timeIntervalSince(date), 0), 1e9))
            }
        }
    }
}

/// The state machine of ``Authorisation/RefreshingCredentials``: which calls wait for credentials, and which receive them.
///
/// It has no task and no clock: it receives events with their times, and returns actions. Each set of credentials has a
/// version, which starts at 1 and only grows.
struct CredentialMachine<Value: Sendable>: Sendable {
    struct Held: Sendable {
        var value: Value
        var version: Int
        var end: Instant?
        var renewal: Instant?
    }

    /// The instruction for a call that needs credentials.
    enum Decision: Sendable {
        /// Use these.
        ///
        /// If there is a number, a refresh of that number must be started too.
        case use(Value, version: Int, starting: Int?)
        /// Wait for the refresh.
        ///
        /// If there is a number, a refresh of that number must be started first.
        case wait(starting: Int?)
        /// Fail.
        case fail(LoadingError.AuthorisationCause.Cause)
    }

    private let settings: Authorisation.RefreshSettings
    private(set) var held: Held?
    /// The greatest version ever held.
    private var lastVersion = 0
    /// The greatest version that a server refused or that was to be renewed.
    private var refused = 0
    private(set) var isRefreshing = false
    /// The number of the last refresh; results of earlier ones are ignored.
    private var refresh = 0
    private var starts: [Instant] = []
    private var failure: Failure?
    private struct Failure: Sendable {
        var version: Int
        /// The refresh that failed.
        var refresh: Int
        var cause: LoadingError.AuthorisationCause.Cause
        var detail: String?
        /// Nil until there are new credentials from outside.
        var end: Instant?
        /// Whether calls fail with it; otherwise it only delays a refresh that no call needs yet.
        var isForCalls: Bool
    }
    /// How many refreshes have failed since the last success.
    private var failuresInRow = 0

    init(_ settings: Authorisation.RefreshSettings) { self.settings = settings }

    /// How the last refresh failed, for the calls that waited for it; nil when it did not fail.
    var lastFailure: (cause: LoadingError.AuthorisationCause.Cause, detail: String?)? {
        guard let failure, failure.refresh == refresh else { return nil }
        return (failure.cause, failure.detail)
    }

    /// The server's words about the failure that calls fail with.
    var failureDetail: String? { failure?.detail }

    /// Whether the present credentials can still be used.
    private func isUsable(_ held: Held, at now: Instant) -> Bool {
        held.version > refused && held.end.map { now < $0 } ?? true
    }

    /// A call needs credentials.
    mutating func request(at now: Instant) -> Decision {
        if let held, isUsable(held, at: now) {
            let isDue = held.renewal.map { now >= $0 } ?? false
            let starts = isDue && !isRefreshing && !isFailureFresh(at: now) && mayStart(at: now)
            return .use(held.value, version: held.version, starting: starts ? start(at: now) : nil)
        }
        if isRefreshing { return .wait(starting: nil) }
        if let failure, failure.isForCalls, isFailureFresh(at: now) { return .fail(failure.cause) }
        guard mayStart(at: now) else { return .fail(.excessiveRefresh) }
        return .wait(starting: start(at: now))
    }

    private func isFailureFresh(at now: Instant) -> Bool {
        guard let failure, failure.version == lastVersion else { return false }
        return failure.end.map { now < $0 } ?? true
    }

    private mutating func mayStart(at now: Instant) -> Bool {
        let window = settings.window
        starts.removeAll { $0.advanced(by: window) <= now }
        return starts.count < settings.limit
    }

    private mutating func start(at now: Instant) -> Int {
        isRefreshing = true
        starts.append(now)
        refresh += 1
        return refresh
    }

    /// Whether the result of a refresh is awaited.
    func isAwaited(_ refresh: Int) -> Bool { isRefreshing && refresh == self.refresh }

    /// A server refused credentials.
    ///
    /// A refusal of an old version does not affect a newer one.
    mutating func refuse(_ version: Int) {
        refused = max(refused, min(version, lastVersion))
    }

    /// The present credentials must not be used again.
    mutating func invalidate() {
        refused = lastVersion
        // An explicit request for another attempt: earlier failures do not prevent it.
        (failure, failuresInRow) = (nil, 0)
    }

    /// The refresh has obtained new credentials.
    mutating func succeed(_ value: Value, end: Authorisation.Expiry, refresh: Int, now: Instant, date: Date) {
        guard isAwaited(refresh) else { return }
        isRefreshing = false
        hold(value, end, now, date, isJustObtained: true)
    }

    /// How long a failed refresh is remembered.
    enum Memory: Sendable {
        /// Not for calls, and the refresh does not count: it never left this machine, so the next call may try again.
        case none
        /// For a time that grows with each failure in a row.
        case passing
        /// For the time given, which the store of a fleet says.
        case given(Duration)
        /// Until there are new credentials from outside.
        case lasting
    }

    /// The refresh failed.
    mutating func fail(
        _ cause: LoadingError.AuthorisationCause.Cause,
        _ kept: Memory,
        detail: String? = nil,
        refresh: Int,
        now: Instant
    ) {
        guard isAwaited(refresh) else { return }
        isRefreshing = false
        if case .none = kept {
            if !starts.isEmpty { starts.removeLast() }
        } else {
            failuresInRow += 1
        }
        // 5 s, 10 s, 20 s … 5 min.
        let doublings = min(max(failuresInRow - 1, 0), 20)
        let memory = min(settings.failureMemory * (1 << doublings), settings.maximumFailureMemory)
        let end = now.advanced(by: memory)
        failure = Failure(
            version: lastVersion,
            refresh: refresh,
            cause: cause,
            detail: detail,
            end: end,
            isForCalls: true
        )
        switch kept {
        case .none: failure?.isForCalls = false
        case .passing: break
        case .given(let memory): failure?.end = now.advanced(by: memory)
        case .lasting: failure?.end = nil
        }
    }

    /// The app supplies its own credentials, or removes them; a refresh in progress is ignored.
    mutating func replace(with value: Value?, end: Authorisation.Expiry, now: Instant, date: Date) {
        isRefreshing = false
        (failure, failuresInRow) = (nil, 0)
        guard let value else {
            held = nil
            refused = lastVersion
            return
        }
        hold(value, end, now, date)
    }

    private mutating func hold(
        _ value: Value,
        _ end: Authorisation.Expiry,
        _ now: Instant,
        _ date: Date,
        isJustObtained: Bool = false
    ) {
        lastVersion += 1
        (failure, failuresInRow) = (nil, 0)
        var life = end.life(at: date)
        // Credentials that seem to have expired when they were made come with a wrong clock, here or at the server. They are
        // used, and the server's refusal is their end: otherwise each call would obtain others, and none would be sent.
        if isJustObtained, let known = life, known <= .zero { life = nil }
        let ahead = life.map { max($0 - settings.ahead, $0 / 2) }
        held = Held(
            value: value,
            version: lastVersion,
            end: life.map { now.advanced(by: $0) },
            renewal: ahead.map { now.advanced(by: $0) }
        )
    }
}
