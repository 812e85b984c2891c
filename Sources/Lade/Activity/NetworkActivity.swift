import LadeCore
public import Observation

/// Whether anything is being loaded, for an activity indicator: a count of running requests.
///
/// ```swift
/// settings.observers.append(NetworkActivity.shared)
/// ```
///
/// A view that reads ``isActive`` is updated when it changes, because Swift's `Observation` tracks it. Without a view, a
/// handler is notified:
///
/// ```swift
/// NetworkActivity.shared.enable { isActive in indicator.isVisible = isActive }
/// ```
///
/// As an observer of a service it counts each of its calls, from its start until its body has ended or it has failed.
/// The handles of `LadeCallbacks` count themselves, in ``shared`` unless they are given another activity; for them no
/// observer is needed.
public final class NetworkActivity: Call.Observer, Observable {
    /// The activity of the whole program.
    public static let shared = NetworkActivity()

    private struct State {
        var count = 0
        var handler: (@MainActor @Sendable (Bool) -> Void)?
        /// The state that the handler received last.
        var lastReported = false
    }

    private let state = Locked(State())
    private let registrar = ObservationRegistrar()

    /// Makes a separate activity, for a part of the program.
    public init() {}

    /// Whether anything is running.
    public var isActive: Bool {
        registrar.access(self, keyPath: \.isActive)
        return state.withLock { $0.count > 0 }
    }

    /// Sets the handler that is notified of changes, replacing an earlier one.
    ///
    /// - Parameter handler: Called immediately with the present state, then whenever the first request starts and the
    ///   last one ends. It always runs on the main actor, and synchronously when the change is made there.
    @MainActor
    public func enable(handler: @escaping @MainActor @Sendable (_ isActive: Bool) -> Void) {
        let isActive = state.withLock { state in
            state.handler = handler
            state.lastReported = state.count > 0
            return state.lastReported
        }
        handler(isActive)
    }

    /// Notifies the handler that nothing is running, and removes it; counting continues.
    @MainActor
    public func disable() {
        let handler = state.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        handler?(false)
    }

    /// Counts the start of work that is not a request handle.
    public func increase() {
        change(by: 1)
    }

    /// Counts the end of work that ``increase()`` was called for.
    public func decrease() {
        change(by: -1)
    }

    /// Counts the calls of a service, until their bodies have ended.
    public func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .callStarted: increase()
        case .bodyFinished, .callFailed: decrease()
        default: break
        }
    }

    private func change(by step: Int) {
        let (hasChanged, isReported) = state.withLock { state in
            let wasActive = state.count > 0
            state.count += step
            let hasChanged = (state.count > 0) != wasActive
            return (hasChanged, hasChanged && state.handler != nil)
        }
        if hasChanged { registrar.withMutation(of: self, keyPath: \.isActive) {} }
        guard isReported else { return }
        MainDelivery.run { [self] in deliver() }
    }

    /// Notifies the handler of the present state, which may differ from the state at the change.
    @MainActor
    private func deliver() {
        let (handler, isActive) = state.withLock { state -> ((@MainActor @Sendable (Bool) -> Void)?, Bool) in
            let isActive = state.count > 0
            // A newer handler, or one that received the present state meanwhile, needs no notification.
            guard state.lastReported != isActive else { return (nil, isActive) }
            state.lastReported = isActive
            return (state.handler, isActive)
        }
        handler?(isActive)
    }
}
