public import LadeCore
public import LadePolicies
import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Several processes and machines that keep one rate limit together, over a Redis or Valkey server, the *store*.
///
/// ```swift
/// let fleet = try Fleet("redis://127.0.0.1/shows")
/// try await fleet.join()
/// var settings = Service.Settings()
/// settings.rateLimiter = try RateLimiter(RateLimits(default: .perSecond(10)), fleet: fleet)
/// ```
///
/// Each member keeps its own settings, requests and credentials, apart from the tokens that
/// ``credentials(_:isReusable:seal:open:)`` shares. The store gives instants at which calls may start, and passes on the
/// delays that servers request. No call waits for the store. While the store does not respond, each member
/// calls at its share of the rate.
///
/// A store needs the same protection as the key of the API. A hostile one can stop the work, or let each member reach the
/// rate by itself, and no more.
public final class Fleet: Sendable {
    /// The ways for calls while the store does not respond for longer than a second.
    public enum Fallback: Sendable, Hashable {
        /// Each member calls at the rate divided by the number of members.
        case share
        /// Calls wait for the store.
        case hold
    }

    /// The settings of a member.
    public struct Settings: Sendable {
        /// Trust, client certificate and pins of a store with TLS.
        public var tls = TransportSettings.TLS()
        /// The name of the member, by which a process that starts again replaces the one that has ended.
        ///
        /// By default it is the name of the machine and a random number.
        public var name: String?
        /// For how long a member that is not heard of keeps its share, because it may use it without the store; a minute.
        ///
        /// With a longer time, up to a day, a fleet that is split keeps the limit for that long. A killed member's share is
        /// unused for that long as well. The members of a fleet have the same time.
        public var silenceLimit = Duration.seconds(60)
        /// The way for calls without the store; the share of the rate by default.
        public var whenAlone = Fallback.share
        /// Whether shared tokens may travel to a store on another machine without TLS; false by default.
        public var sharesTokensInPlain = false
        /// Receives the events of the fleet, from its thread; they reach the observers of calls as well.
        public var onEvent: (@Sendable (Call.Event) -> Void)?

        /// Makes the default settings.
        public init() {}
    }

    /// The state of the fleet, as this member knows it.
    public struct Status: Sendable, Hashable {
        /// The members, this one included, and those that have not been heard of for less than a minute.
        public var members: Int
        /// The members that were heard of within the last second.
        public var active: Int
        /// Whether the store does not respond, so that this member calls at its share of the rate.
        public var isAlone: Bool
        /// The commands that the store has answered.
        public var roundTrips: Int
    }

    let core: FleetCore
    /// The name of the member, which is that of its worker.
    let memberName: String
    private let address: FleetAddress
    /// Whether tokens may travel to the store.
    let maySendTokens: Bool

    /// Makes a member, which connects in the background.
    ///
    /// - Parameters:
    ///   - url: `redis://[USER@]HOST[:PORT]/NAME`, `rediss://…` for TLS, or `redis+unix:///PATH?name=NAME`. Processes
    ///     with the same name share their limits. Several hosts are separated by commas; `?size=N` declares the number of
    ///     members.
    ///   - secret: The password of the store; nil for none. It is never part of the address.
    ///   - settings: The settings.
    /// - Throws: `LoadingError.Kind.invalidSetting` for an address or settings of TLS that cannot be used.
    public init(
        _ url: String,
        secret: Secret? = nil,
        settings: Settings = Settings()
    ) throws(LoadingError) {
        let address = try FleetAddress(url)
        let security = address.isSecure ? try WireStream.Security(settings.tls) : nil
        let random = SystemRandom()
        let id = String(random.next(), radix: 36)
        let name = try Self.name(settings.name, random)
        var values = FleetMember.Settings(fleet: address.name, id: id, name: name)
        values.declared = address.size
        values.sharesAlone = settings.whenAlone == .share
        guard (.seconds(2) ... .seconds(86_400)).contains(settings.silenceLimit) else {
            throw LoadingError(.invalidSetting(name: "silenceLimit", reason: "it must be from 2 seconds to a day"))
        }
        values.forget = settings.silenceLimit
        let member = FleetMember(values, now: SystemTime().now)
        let core = FleetCore(onEvent: settings.onEvent)
        (self.core, self.address, memberName) = (core, address, name)
        maySendTokens = address.isSecure || address.isLocal || settings.sharesTokensInPlain
        let code = WireStream.startThread {
            FleetThread(core, address, secret, security, member).run()
        }
        guard code == 0 else {
            throw LoadingError(.transport(code: Int(code), message: "no thread for the fleet"))
        }
    }

    deinit { core.abandon() }

    /// Waits until the store has counted this member, at most 1.5 seconds.
    ///
    /// Calls need not wait for it. It tells at the start what would otherwise only be seen by calls that wait. Cancelling
    /// the task does not end the wait.
    ///
    /// - Throws: `LoadingError.Kind.cannotConnect` without a connection, `LoadingError.Kind.authorisationFailed` for a wrong
    ///   password or a missing right, `LoadingError.Kind.invalidSetting` for a store that cannot be used.
    public func join() async throws(LoadingError) {
        switch await core.join() {
        case .joined: return
        case .refused(.unsuitable(let reason)): throw FleetAddress.fault("the store cannot be used: \(reason)")
        case .refused(let refusal):
            throw LoadingError(
                .authorisationFailed(.init(authoriser: "the store of the fleet", cause: .failed(refusal)))
            )
        case .unreachable(let reason, let host):
            var context = LoadingError.Context()
            context.detail = reason
            throw LoadingError(.cannotConnect(host: host, reason: .refused), context)
        }
    }

    /// Leaves the fleet, so that the other members have this one's share immediately; takes at most 100 ms.
    ///
    /// Calls of its limiters that wait for slots go on waiting, until their deadlines. Cancelling has no effect.
    public func leave() async { await core.leave() }

    /// The state of the fleet.
    public var status: Status {
        let facts = core.facts
        return Status(
            members: facts.isAlone ? facts.mostMembers : facts.members,
            active: facts.active,
            isAlone: facts.isAlone,
            roundTrips: facts.roundTrips
        )
    }

    /// Whether the store is on this machine, where no other machine can read the traffic.
    package var isLocal: Bool { address.isLocal }

    package var rateSupply: any RateSupply { core }

    /// The name of a member; one that a user gives has the characters of a fleet's name.
    private static func name(_ name: String?, _ random: SystemRandom) throws(LoadingError) -> String {
        guard let name else {
            var buffer = [CChar](repeating: 0, count: 65)
            gethostname(&buffer, 64)
            let host = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            let plain = String(decoding: host.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
            return "\(plain)-\(random.next() % 1_000_000)"
        }
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw FleetAddress.fault("the name of a member must have 1 to 64 characters of ASCII without spaces")
        }
        return name
    }
}

extension RateLimiter {
    /// Makes a limiter that shares its rates with the other members of a fleet.
    ///
    /// Rates are those of the whole fleet. Numbers of concurrent exchanges are divided among the members, each of which has
    /// at least one. Calls wait until the first contact with the store; see ``Fleet/join()``.
    ///
    /// - Parameters:
    ///   - limits: The initial limits.
    ///   - fleet: The fleet.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a negative rate, a burst or a number of exchanges below one.
    public convenience init(_ limits: RateLimits, fleet: Fleet) throws(LoadingError) {
        try self.init(limits, time: SystemTime(), random: SystemRandom(), supply: fleet.rateSupply)
    }
}
