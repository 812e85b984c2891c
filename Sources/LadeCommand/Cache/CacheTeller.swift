import Lade

/// Observes what the cache does for the calls of a command: its first fault, and whether a body was stored in the end.
final class CacheTeller: Call.Observer {
    private enum Storing {
        case open
        case stored
        case refused(Response.CacheRule)
    }

    private let onFault: @Sendable (String) -> Void
    private let storing = Locked(Storing.open)

    /// Makes an observer.
    ///
    /// - Parameter onFault: Receives each fault of the store.
    init(onFault: @escaping @Sendable (String) -> Void) {
        self.onFault = onFault
    }

    /// Reports a fault that belongs to no call.
    func report(_ fault: String) { onFault(fault) }

    func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .cacheServed, .cacheMissed, .cacheValidating: storing.withLock { $0 = .open }
        case .cacheStored: storing.withLock { $0 = .stored }
        case .cacheNotStored(let rule): storing.withLock { $0 = .refused(rule) }
        case .cacheFault(let reason): onFault(reason)
        default: break
        }
    }

    /// The member of `Cache-Status` that the cache added to a response, and whether the body was stored.
    ///
    /// - Returns: Nil for a response without one.
    func status(of response: Response) -> String? {
        guard let member = response.headers.all("Cache-Status").last else { return nil }
        guard response.source == .network, let (facts, detail) = member.cut(at: "; detail=")
        else { return member }
        let isSaid = facts.parts(at: ";").contains { $0.trimmedOfSpace == "stored" }
        return switch storing.withLock(\.self) {
        case .stored where !isSaid: "\(facts); stored; detail=\(detail)"
        case .refused(let rule): "\(facts); detail=\(rule.rawValue)"
        default: member
        }
    }
}

extension CommandContext {
    /// Says once that the cache does not work; the calls go on.
    ///
    /// - Parameters:
    ///   - reason: A sentence without its full stop.
    ///   - output: Whether anything is said.
    func tellCacheFault(_ reason: String, _ output: OutputSettings) {
        guard !output.isSilent,
            cacheFaultIsTold.withLock({ isTold in
                defer { isTold = true }
                return !isTold
            })
        else { return }
        console.say("lade: \(reason.escapedForDisplay(limit: 400)); the call goes on without the cache.")
    }
}
