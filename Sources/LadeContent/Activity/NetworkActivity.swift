import LadeCore

/// Whether anything is being loaded, for an indicator: a count of running requests and who wants to know.
///
/// ```swift
/// NetworkActivity.shared.enable { isActive in indicator.isVisible = isActive }
/// ```
///
/// Request handles count themselves in ``shared`` unless they are given another. Source: brief `srg-network.txt`,
/// `requests-pages-queues.md` §7.
public final class NetworkActivity: Sendable {
    /// The activity of the whole program.
    public static let shared = NetworkActivity()

    private struct State {
        var count = 0
        var handler: (@MainActor @Sendable (Bool) -> Void)?
        /// Tells handlers apart: what was on its way to one is not for the next.
        var generation: UInt64 = 0
        /// What the handler was told last.
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

    private func change(by step: Int) {
        let news = state.withLock { state -> (isActive: Bool, generation: UInt64)? in
            let wasActive = state.count > 0
            state.count += step
            let isActive = state.count > 0
            return isActive == wasActive || state.handler == nil ? nil : (isActive, state.generation)
        }
        guard let news else { return }
        MainDelivery.run { [self] in tell(news.isActive, to: news.generation) }
    }

    @MainActor
    private func tell(_ isActive: Bool, to generation: UInt64) {
        let handler = state.withLock { state -> (@MainActor @Sendable (Bool) -> Void)? in
            // A handler that came meanwhile, or was given the present state meanwhile, knows.
            guard state.generation == generation, state.told != isActive else { return nil }
            state.told = isActive
            return state.handler
        }
        handler?(isActive)
    }
}
