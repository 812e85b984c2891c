#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// The lists of addresses at which hosts can be reached, with the state of each address.
///
/// ```swift
/// let backups: [HostDirectory.Address] = [
///     "api.example.com", "backup.example.com", HostDirectory.Address("192.0.2.7", port: 8443),
/// ]
/// let hosts = HostDirectory(["api.example.com": backups])
/// ```
///
/// One directory serves a whole service. Lists and marks may be changed from any thread while it is in use. An address
/// that several hosts list is marked for all of them. Hosts are compared in normal form: `API.Example.com.` has the list
/// of `api.example.com`.
public final class HostDirectory: Sendable {
    /// The address that an exchange uses.
    struct Choice: Sendable {
        var address: HostDirectory.Address
        var ticket: AddressBreaker.Ticket
    }

    private struct Place: Hashable {
        var host: String
        var port: Int?

        init(_ address: HostDirectory.Address, or other: Int? = nil) {
            host = address.host
            port = address.port ?? other
        }
    }

    private struct State {
        var lists: [String: [HostDirectory.Address]] = [:]
        /// The states of the addresses on the lists, and of no others.
        var breakers: [Place: AddressBreaker] = [:]
        /// How many entries of all lists refer to an address.
        private var uses: [Place: Int] = [:]

        mutating func setList(_ list: [HostDirectory.Address], of host: String) {
            let old = lists[host] ?? []
            lists[host] = list.isEmpty ? nil : list
            for place in list.map({ Place($0) }) { uses[place, default: 0] += 1 }
            for place in old.map({ Place($0) }) {
                let left = (uses[place] ?? 1) - 1
                uses[place] = left > 0 ? left : nil
                if left <= 0 { breakers[place] = nil }
            }
        }

        /// Changes the state of an address; nil when no list contains it any more.
        mutating func change<Result>(_ place: Place, _ body: (inout AddressBreaker) -> Result) -> Result? {
            guard uses[place] != nil else { return nil }
            return body(&breakers[place, default: AddressBreaker()])
        }
    }

    /// How addresses are marked.
    public let marking: HostDirectory.Marking
    private let locked: Locked<State>

    /// Makes a directory.
    ///
    /// - Parameters:
    ///   - lists: The addresses of each host, the preferred one first; the host itself may be among them.
    ///   - marking: How addresses are marked, and for how long.
    public init(
        _ lists: [String: [HostDirectory.Address]] = [:],
        marking: HostDirectory.Marking = HostDirectory.Marking()
    ) {
        self.marking = marking
        var state = State()
        for (host, list) in lists { state.setList(list, of: HostDirectory.Address.normal(host)) }
        locked = Locked(state)
    }

    // MARK: - Lists

    /// Replaces the list of a host; an empty one removes it.
    ///
    /// The state of an address is kept as long as any list contains it.
    public func setAddresses(_ addresses: [HostDirectory.Address], for host: String) {
        locked.withLock { $0.setList(addresses, of: HostDirectory.Address.normal(host)) }
    }

    /// The list of a host, the preferred address first; empty without one.
    public func addresses(for host: String) -> [HostDirectory.Address] {
        locked.withLock { $0.lists[HostDirectory.Address.normal(host)] ?? [] }
    }

    /// The address that the next call for a host would use; the host itself without a list.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - instant: The current instant, in the time of the service.
    /// - Returns: The address. It is not picked: no probe begins.
    public func address(for host: String, at instant: Instant = SystemTime().now) -> HostDirectory.Address {
        let host = HostDirectory.Address.normal(host)
        return locked.withLock { preferred(host, at: instant, $0) } ?? HostDirectory.Address(host)
    }

    // MARK: - Marks by hand

    /// Marks an address as unusable; an address that no list contains is ignored.
    ///
    /// - Parameters:
    ///   - address: The address, as listed.
    ///   - duration: How long; the first interval of ``HostDirectory/Marking`` by default.
    ///   - instant: The start of the mark, in the time of the service.
    public func mark(
        _ address: HostDirectory.Address,
        for duration: Duration? = nil,
        at instant: Instant = SystemTime().now
    ) {
        let place = Place(address)
        locked.withLock { _ = $0.change(place) { $0.mark(at: instant, for: duration ?? marking.interval) } }
    }

    /// Removes the mark from an address: the next call may use it.
    public func unmark(_ address: HostDirectory.Address) {
        locked.withLock { _ = $0.breakers[Place(address)]?.clear() }
    }

    /// Whether calls avoid an address.
    public func isMarked(_ address: HostDirectory.Address, at instant: Instant = SystemTime().now) -> Bool {
        locked.withLock { $0.breakers[Place(address)]?.isMarked(at: instant) ?? false }
    }

    // MARK: - For the interceptor

    /// Whether there is no list: the usual case, in which the interceptor does nothing.
    var isEmpty: Bool { locked.withLock { $0.lists.isEmpty } }

    /// How many addresses have a state.
    var knownAddressCount: Int { locked.withLock { $0.breakers.count } }

    /// Picks the address for one exchange.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - now: The time.
    ///   - used: The addresses that the attempt has used.
    ///   - port: The port of the request, which addresses without a port use.
    /// - Returns: The address; nil when the host has no list, or when every address was used.
    func choose(_ host: String, at now: Instant, besides used: [HostDirectory.Address] = [], _ port: Int? = nil)
        -> Choice?
    {
        let used = used.map { Place($0, or: port) }
        return locked.withLock { state in
            let address = preferred(host, at: now, state) { !used.contains(Place($0, or: port)) }
            guard let address else { return nil }
            // The fallback may be the host itself, which need not be on its list: it has no mark to probe.
            let ticket = state.change(Place(address)) { $0.pick(at: now) }
            return Choice(address: address, ticket: ticket ?? AddressBreaker.Ticket(generation: 0, isProbe: false))
        }
    }

    /// Picks the address for a hedge: an address without a mark that no other exchange of its attempt has used.
    ///
    /// - Returns: The address; nil when there is none.
    func alternative(_ host: String, at now: Instant, besides used: [HostDirectory.Address], _ port: Int?) -> Choice? {
        let used = used.map { Place($0, or: port) }
        return locked.withLock { state in
            let isLeft = { (address: HostDirectory.Address) in
                !used.contains(Place(address, or: port))
                    && state.breakers[Place(address)]?.isMarked(at: now) != true
            }
            guard let address = state.lists[host]?.first(where: isLeft) else { return nil }
            let ticket = state.change(Place(address)) { $0.pick(at: now) }
            return Choice(address: address, ticket: ticket ?? AddressBreaker.Ticket(generation: 0, isProbe: false))
        }
    }

    /// Another address, without a mark, for an exchange whose own address was marked while it waited.
    ///
    /// - Returns: The choice, which replaces the given one; nil when that one stays.
    func replacement(
        of choice: Choice,
        _ host: String,
        at now: Instant,
        besides used: [HostDirectory.Address],
        _ port: Int?
    ) -> Choice? {
        let used = (used + [choice.address]).map { Place($0, or: port) }
        return locked.withLock { state in
            // The probe of an address that is marked stays the probe.
            guard !choice.ticket.isProbe, state.breakers[Place(choice.address)]?.isMarked(at: now) == true,
                let other = preferred(host, at: now, state, { !used.contains(Place($0, or: port)) }),
                !other.isHostOfItsOwn, !choice.address.isHostOfItsOwn,
                state.breakers[Place(other)]?.isMarked(at: now) != true
            else { return nil }
            let ticket = state.change(Place(other)) { $0.pick(at: now) }
            return Choice(address: other, ticket: ticket ?? AddressBreaker.Ticket(generation: 0, isProbe: false))
        }
    }

    /// Takes back the mark that the result of a choice made, unless the address has changed its state since.
    func retract(_ choice: Choice, at now: Instant) -> Bool {
        locked.withLock { $0.change(Place(choice.address)) { $0.retract(choice.ticket, at: now) } ?? false }
    }

    /// Receives the result of an exchange.
    func note(_ evidence: HostEvidence, of choice: Choice, at now: Instant, jitter: Double) -> AddressBreaker.Change {
        locked.withLock { state in
            state.change(Place(choice.address)) {
                $0.note(evidence, of: choice.ticket, at: now, marking, jitter: jitter)
            } ?? AddressBreaker.Change.none
        }
    }

    /// The first address without a mark; the fallback when all are marked.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - now: The time.
    ///   - state: The lists and marks.
    ///   - isLeft: Whether the attempt may still use an address.
    /// - Returns: The address; nil when the host has no list, or when none of it is left.
    private func preferred(
        _ host: String,
        at now: Instant,
        _ state: State,
        _ isLeft: (HostDirectory.Address) -> Bool = { _ in true }
    ) -> HostDirectory.Address? {
        guard let list = state.lists[host]?.filter(isLeft) else { return nil }
        let breakers = list.map { state.breakers[Place($0)] ?? AddressBreaker() }
        if let index = breakers.firstIndex(where: { !$0.isMarked(at: now) }) { return list[index] }
        switch marking.fallback {
        case .hostItself:
            let itself = HostDirectory.Address(host)
            return isLeft(itself) ? itself : nil
        case .markedLongestAgo:
            let since = breakers.map { $0.markedSince ?? now }
            return since.indices.min { since[$0] < since[$1] }.map { list[$0] }
        }
    }
}

extension HostDirectory: CustomStringConvertible {
    /// The hosts that have lists.
    public var description: String {
        "lists for " + locked.withLock { $0.lists.keys.sorted() }.joined(separator: ", ")
    }
}
