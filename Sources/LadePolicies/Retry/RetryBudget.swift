import LadeCore

/// What repeating may cost a service in all: a purse of tokens per ``ServiceKey`` that every repetition draws on.
///
/// A service that fails now and then gets its retries; one that fails for everybody is not asked three times as often
/// for it. A purse starts full. A retry takes 5 tokens, one after a time-out 10; success gives back what its own retries
/// took, and a first-try success gives 1. When a purse is empty, errors surface at once. Redirects that repeat a body and
/// replays after a refusal draw on the same purse. Source: policies PL-14.
///
/// Only purses that are not full take memory, and no more than ``Settings/keyLimit`` of them are kept.
public final class RetryBudget: Sendable {
    /// How large the purses are and what things cost.
    public struct Settings: Sendable, Hashable {
        /// The tokens of a full purse; 500 by default.
        public var capacity = 500
        /// What a repetition takes; 5 by default.
        public var retryCost = 5
        /// What a repetition after a time-out takes; 10 by default.
        public var timeoutCost = 10
        /// What a success at the first try gives; 1 by default.
        public var successCredit = 1
        /// How many purses that are not full are kept; the least recently used go first.
        ///
        /// 4,096 by default.
        public var keyLimit = 4_096

        /// Makes the default settings.
        public init() {}
    }

    private struct Purse {
        var tokens: Int
        var lastUse: UInt64
    }

    private struct State {
        var purses: [ServiceKey: Purse] = [:]
        var uses: UInt64 = 0
    }

    /// What it was made from.
    public let settings: Settings
    // Guarded by its lock.
    private let state = Locked(State())

    /// Makes full purses.
    public init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// Takes tokens for one more repetition.
    ///
    /// - Parameters:
    ///   - key: The service that is asked again.
    ///   - cost: How many tokens; ``Settings/retryCost`` when nil.
    /// - Returns: Whether they were there; when not, nothing is taken and the repetition must not be made.
    public func draw(for key: ServiceKey, cost: Int? = nil) -> Bool {
        let cost = max(0, cost ?? settings.retryCost)
        return state.withLock { state in
            let tokens = state.purses[key]?.tokens ?? settings.capacity
            guard tokens >= cost else { return false }
            store(tokens - cost, key, &state)
            return true
        }
    }

    /// Puts tokens back after a success, up to a full purse.
    ///
    /// - Parameters:
    ///   - key: The service that answered.
    ///   - amount: What the repetitions of the call took; zero, for a first-try success, gives
    ///     ``Settings/successCredit``.
    public func giveBack(for key: @autoclosure () -> ServiceKey, _ amount: Int) {
        // Nothing is owed anywhere: the key, which costs more than all else here, need not be made.
        guard state.withLock({ !$0.purses.isEmpty }) else { return }
        // Made outside the lock: its rule may be the app's.
        let key = key()
        state.withLock { state in
            guard let purse = state.purses[key] else { return }
            let (sum, overflow) = purse.tokens.addingReportingOverflow(amount > 0 ? amount : settings.successCredit)
            store(overflow ? settings.capacity : sum, key, &state)
        }
    }

    /// The tokens that a service has left.
    public func left(for key: ServiceKey) -> Int {
        state.withLock { $0.purses[key]?.tokens ?? settings.capacity }
    }

    /// How many purses are kept because they are not full.
    public var keyCount: Int { state.withLock { $0.purses.count } }

    private func store(_ tokens: Int, _ key: ServiceKey, _ state: inout State) {
        guard tokens < settings.capacity else {
            state.purses[key] = nil
            return
        }
        state.uses += 1
        state.purses[key] = Purse(tokens: tokens, lastUse: state.uses)
        guard state.purses.count > max(1, settings.keyLimit) else { return }
        // Half of them go at once, so that the sorting is paid for by as many insertions.
        let oldest = state.purses.sorted { $0.value.lastUse < $1.value.lastUse }.prefix((state.purses.count + 1) / 2)
        for (key, _) in oldest { state.purses[key] = nil }
    }
}
