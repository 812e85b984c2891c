import LadeCore

/// Whether anything is being loaded, for an indicator: a count of what runs, and a handler that is notified.
///
/// ```swift
/// settings.observers.append(NetworkActivity.shared)
/// NetworkActivity.shared.enable { isActive in indicator.isVisible = isActive }
/// ```
///
/// As an observer of a service it counts each of its calls, from its start until its response is there or it has failed.
/// Request handles count themselves in ``shared`` unless they are given another, also without that.
public final class NetworkActivity: EventSink {
    /// The activity of the whole program.
    public static let shared = NetworkActivity()

    private struct State {
        var count = 0
        var handler: (@MainActor @Sendable (Bool) -> Void)?
        /// Tells handlers apart: what was on its way to one is not for the next.
        var generation: UInt64 = 0
        /// What the handler was notified of last.
        var told = false
    }

    private let state = Locked(State())

    /// Makes an activity of its own, for a part of the program.
    public init() {}

    /// Whether something runs now.
    public var isActive: Bool { state.withLock { $0.count > 0 } }

    /// Tells a handler of the activity, in place of any before it.
    ///
    /// - Parameter handler: Called at once with the present state, then whenever the first request starts and the last one
    ///   ends; always on the main actor, and there and then when the change is made there.
    @MainActor
    public func enable(handler: @escaping @MainActor @Sendable (_ isActive: Bool) -> Void) {
        let isActive = state.withLock { state in
            state.handler = handler
            state.generation += 1
            state.told = state.count > 0
            return state.told
        }
        handler(isActive)
    }

    /// Tells the handler that nothing runs, and forgets it; requests go on being counted.
    @MainActor
    public func disable() {
        let handler = state.withLock { state in
            defer {
                state.handler = nil
                state.generation += 1
            }
            return state.handler
        }
        handler?(false)
    }

    /// Counts something that starts, for work that is not a request handle.
    public func increase() {
        change(by: 1)
    }

    /// Counts the end of something that ``increase()`` was called for.
    public func decrease() {
        change(by: -1)
    }

    /// Counts the calls of a service.
    public func record(_ event: Event, of call: Call) {
        switch event {
        case .callStarted: increase()
        case .callFinished, .callFailed: decrease()
        default: break
        }
    }

    private func change(by step: Int) {
        let generation = state.withLock { state -> UInt64? in
            let wasActive = state.count > 0
            state.count += step
            return (state.count > 0) == wasActive || state.handler == nil ? nil : state.generation
        }
        guard let generation else { return }
        MainDelivery.run { [self] in deliver(to: generation) }
    }

    /// Notifies the handler of the present state, which may be another than that of the change.
    @MainActor
    private func deliver(to generation: UInt64) {
        let (handler, isActive) = state.withLock { state -> ((@MainActor @Sendable (Bool) -> Void)?, Bool) in
            let isActive = state.count > 0
            // A handler that came meanwhile, or received the present state meanwhile, knows.
            guard state.generation == generation, state.told != isActive else { return (nil, isActive) }
            state.told = isActive
            return (state.handler, isActive)
        }
        handler?(isActive)
    }
}
