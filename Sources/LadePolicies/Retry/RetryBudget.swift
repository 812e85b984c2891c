import LadeCore

/// The retries that a service may cost in all: a number of tokens per ``ServiceKey`` that every retry withdraws from.
///
/// A service that fails now and then gets its retries. A service that fails for all callers does not receive three times as
/// many calls. A budget starts full. A retry takes 5 tokens, one after a time-out 10; success refunds what its own retries
/// took, and a first-try success refunds 1. When a budget is empty, errors surface immediately. Redirects that send a body
/// again, and replays after a refusal, withdraw from the same budget. Source: policies PL-14.
///
/// Only budgets that are not full take memory, and no more than ``Settings/keyLimit`` of them are kept.
public final class RetryBudget: Sendable {
    /// The size of the budgets, and the costs.
    public struct Settings: Sendable, Hashable {
        /// The tokens of a full budget; 500 by default.
        public var capacity = 500
        /// The tokens that a retry takes; 5 by default.
        public var retryCost = 5
        /// The tokens that a retry after a time-out takes; 10 by default.
        public var timeoutCost = 10
        /// The tokens that a success at the first try refunds; 1 by default.
        public var successCredit = 1
        /// How many budgets that are not full are kept; the least recently used go first.
        ///
        /// 4,096 by default.
        public var keyLimit = 4_096

        /// Makes the default settings.
        public init() {}
    }

    private struct Account {
        var tokens: Int
        var lastUse: UInt64
    }

    private struct State {
        var accounts: [ServiceKey: Account] = [:]
        var uses: UInt64 = 0
    }

    /// The size of the budgets and the costs.
    public let settings: Settings
    // Guarded by its lock.
    private let state = Locked(State())

    /// Makes full budgets.
    public init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// Takes tokens for one more retry.
    ///
    /// - Parameters:
    ///   - key: The service that the request is sent to again.
    ///   - cost: How many tokens; ``Settings/retryCost`` when nil.
    /// - Returns: Whether they were there; when not, nothing is taken and the retry must not be made.
    public func withdraw(for key: ServiceKey, cost: Int? = nil) -> Bool {
        let cost = max(0, cost ?? settings.retryCost)
        return state.withLock { state in
            let tokens = state.accounts[key]?.tokens ?? settings.capacity
            guard tokens >= cost else { return false }
            store(tokens - cost, key, &state)
            return true
        }
    }

    /// Puts tokens back after a success, up to a full budget.
    ///
    /// - Parameters:
    ///   - key: The service that responded.
    ///   - amount: The tokens that the retries of the call took; zero, for a first-try success, gives
    ///     ``Settings/successCredit``.
    public func refund(for key: @autoclosure () -> ServiceKey, _ amount: Int) {
        // Nothing is owed anywhere: the key, which costs more than all else here, need not be made.
        guard state.withLock({ !$0.accounts.isEmpty }) else { return }
        // Made outside the lock: its rule may be the app's.
        let key = key()
        state.withLock { state in
            guard let account = state.accounts[key] else { return }
            let (sum, overflow) = account.tokens.addingReportingOverflow(amount > 0 ? amount : settings.successCredit)
            store(overflow ? settings.capacity : sum, key, &state)
        }
    }

    /// The tokens that a service has left.
    public func left(for key: ServiceKey) -> Int {
        state.withLock { $0.accounts[key]?.tokens ?? settings.capacity }
    }

    /// How many budgets are kept because they are not full.
    public var keyCount: Int { state.withLock { $0.accounts.count } }

    private func store(_ tokens: Int, _ key: ServiceKey, _ state: inout State) {
        guard tokens < settings.capacity else {
            state.accounts[key] = nil
            return
        }
        state.uses += 1
        state.accounts[key] = Account(tokens: tokens, lastUse: state.uses)
        guard state.accounts.count > max(1, settings.keyLimit) else { return }
        // Half of them are removed together, so that one sorting is paid for by as many insertions.
        let oldest = state.accounts.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(
            (state.accounts.count + 1) / 2
        )
        for (key, _) in oldest { state.accounts[key] = nil }
    }
}
