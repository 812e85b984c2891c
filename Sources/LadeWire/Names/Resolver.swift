import CWire
import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Looks names up in threads of its own, because the system's function blocks.
///
/// A thread holds this object and the inbox, and not the transport: a look-up that hangs keeps neither.
final class Resolver: Sendable {
    private struct State {
        var table = NameTable()
        /// The outcomes that the loop has not taken yet, by asker.
        var outcomes: [Int: [SocketAddress]] = [:]
    }

    /// Looks a name up, and calls back from any thread; no addresses mean failure.
    typealias LookUp = @Sendable (_ name: String, _ done: @escaping @Sendable ([SocketAddress]) -> Void) -> Void

    private let state = Locked(State())
    private let inbox: Inbox
    private let lookUp: LookUp
    private let now: @Sendable () -> Int64

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - inbox: Receives the asker's number in a message when its outcome can be taken.
    ///   - now: The clock of the loop, which the threads of look-ups ask; the loop gives the time of its turn.
    ///   - lookUp: The look-up.
    init(inbox: Inbox, now: @escaping @Sendable () -> Int64, lookUp: @escaping LookUp) {
        self.inbox = inbox
        self.now = now
        self.lookUp = lookUp
    }

    /// Asks for the addresses of a name; nil when the asker is notified by a message.
    func ask(_ name: String, for asker: Int, at now: Int64) -> [SocketAddress]? {
        let knowledge = state.withLock { $0.table.ask(name, for: asker, at: now) }
        if case .known(let addresses) = knowledge { return addresses }
        startWaiting(at: now)
        return nil
    }

    /// The outcome for an asker that was notified; no addresses mean that there are none.
    func take(_ asker: Int) -> [SocketAddress]? {
        state.withLock { $0.outcomes.removeValue(forKey: asker) }
    }

    /// Withdraws a question.
    func leave(_ name: String, _ asker: Int) {
        state.withLock { state in
            state.table.leave(name, asker)
            state.outcomes[asker] = nil
        }
    }

    /// Forgets the addresses of a name when connecting to all of them has failed.
    func forget(_ name: String) { state.withLock { $0.table.forget(name) } }

    /// When ``startWaiting(at:)`` must be called; the greatest value for never.
    var due: Int64 { state.withLock { $0.table.due } }

    /// Starts the look-ups that may run now.
    func startWaiting(at now: Int64) {
        for name in state.withLock({ $0.table.startable(at: now) }) {
            lookUp(name) { [self] addresses in done(name, addresses) }
        }
    }

    private func done(_ name: String, _ addresses: [SocketAddress]) {
        let now = now()
        var askers = state.withLock { state -> [Int] in
            let askers = state.table.done(name, addresses, at: now)
            for asker in askers { state.outcomes[asker] = addresses }
            return askers
        }
        startWaiting(at: now)
        // The loop sleeps until a time that this has changed.
        if askers.isEmpty, state.withLock({ $0.table.hasWaiting }) { askers = [Self.nothing] }
        for asker in askers { inbox.post(.resolved(asker)) }
    }

    /// An asker that does not exist.
    private static let nothing = -1

    /// Looks a name up in a thread of its own, which ends with the look-up.
    static let systemLookUp: LookUp = { name, done in
        let result = SystemThread.start {
            let found = withUnsafeTemporaryAllocation(of: lade_address.self, capacity: 64) { buffer in
                let count = Int(lade_wire_resolve(name, buffer.baseAddress, 64))
                return count > 0 ? buffer[..<count].map(SocketAddress.init) : []
            }
            done(found)
        }
        // Without a thread the name counts as not resolved.
        if result != 0 { done([]) }
    }
}
