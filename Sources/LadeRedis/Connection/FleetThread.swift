import LadeCore
import LadePolicies
import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The thread that owns the connection of a fleet: it waits for one socket and carries out what ``FleetMember`` decides.
final class FleetThread {
    private let core: FleetCore
    private let address: FleetAddress
    private let secret: Secret?
    private let security: WireStream.Security?
    private let time = SystemTime()
    private let random = SystemRandom()
    private var member: FleetMember
    private var stream: WireStream?
    private var reader = StoreReader()
    private var digests: [StoreScript: String] = [:]
    /// Commands of the connection itself whose replies precede those of the member.
    private var preparations: [Preparation] = []
    private var isReady = false
    private var openedAt = Instant(nanoseconds: 0)
    private var host = 0
    private var addresses: [WireStream.Address] = []
    private var failures = 0
    private var nextTry = Instant(nanoseconds: .min)
    private var isLookingUp = false
    private var asleep = WireStream.timeAsleep
    private var leaveBy: Instant?
    private static let connectTime = Duration.seconds(1)
    private static let leaveTime = Duration.milliseconds(100)

    private enum Preparation {
        case plain
        case script(StoreScript)
    }

    init(
        _ core: FleetCore,
        _ address: FleetAddress,
        _ secret: Secret?,
        _ security: WireStream.Security?,
        _ member: FleetMember
    ) {
        (self.core, self.address, self.secret, self.security, self.member) = (core, address, secret, security, member)
    }

    /// Works until the fleet is left.
    func run() {
        while true {
            let mail = core.takeMail()
            if mail.isLeaving, leaveBy == nil {
                member.leave(time.now)
                leaveBy = time.now.advanced(by: Self.leaveTime)
                carryOut()
            }
            if let leaveBy, leaveBy <= time.now || !hasPendingLeave { break }
            checkSleep()
            if let found = mail.addresses {
                isLookingUp = false
                (addresses, openedAt) = (found, time.now)
                if found.isEmpty { failed("the name \(hostName) could not be resolved") }
            }
            // A member that leaves is not in use any longer: an order would make it join again.
            let isLeaving = leaveBy != nil
            if !isLeaving {
                for (limiter, order) in mail.orders { member.order(order, of: limiter, time.now) }
                for (record, number, order) in mail.credentials {
                    member.order(order, of: record, number: number, time.now)
                }
                for (record, number, order) in mail.boards {
                    member.order(order, of: record, number: number, time.now)
                }
            }
            connect()
            if stream != nil, !isReady, openedAt.advanced(by: Self.connectTime) <= time.now {
                // The time is that of all addresses of the name together.
                addresses = []
                failed("no connection within 1 s")
            }
            member.tick(time.now, hasDemand: mail.hasDemand && !isLeaving)
            carryOut()
            wait()
        }
        core.ended()
    }

    /// Whether the end has to wait for the reply to the last command.
    private var hasPendingLeave: Bool { isReady && member.hasPending }

    private var hostName: String { address.path ?? address.hosts[host % max(1, address.hosts.count)].name }

    // MARK: - Waiting

    private func wait() {
        var due = min(member.due, leaveBy ?? Instant(nanoseconds: .max))
        if stream == nil, !isLookingUp { due = min(due, nextTry) }
        if stream != nil, !isReady { due = min(due, openedAt.advanced(by: Self.connectTime)) }
        if core.isJoining { due = min(due, core.joinDue) }
        let left = time.now.duration(to: due).wholeNanoseconds
        // Rounded up, so that the wait does not end just before the time.
        let milliseconds = left <= 0 ? 0 : left > 60_000_000_000 ? 60_000 : Int32((left + 999_999) / 1_000_000)
        var descriptors = [pollfd(fd: core.wakeUp, events: Int16(POLLIN), revents: 0)]
        if let stream {
            let events = POLLIN | (stream.wantsWrite ? POLLOUT : 0)
            descriptors.append(pollfd(fd: stream.socket, events: Int16(events), revents: 0))
        }
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
        if descriptors[0].revents != 0 { core.drain() }
        if descriptors.count > 1, descriptors[1].revents != 0 { work() }
    }

    private func checkSleep() {
        let now = WireStream.timeAsleep
        if now - asleep > FleetCore.sleepTolerance { member.slept() }
        asleep = now
    }

    // MARK: - The connection

    private func connect() {
        guard stream == nil, !isLookingUp, nextTry <= time.now else { return }
        if addresses.isEmpty {
            openedAt = time.now
            if let path = address.path {
                addresses = [WireStream.Address(path: path)]
            } else {
                let next = address.hosts[host % address.hosts.count]
                guard let numeric = WireStream.addresses(of: next.name, port: next.port) else {
                    isLookingUp = true
                    WireStream.lookUp(next.name, port: next.port) { [core] found in core.found(found) }
                    return
                }
                addresses = numeric
            }
        }
        let name = hostName
        let isAddress = WireStream.addresses(of: name, port: 1) != nil && name != "localhost"
        do throws(LoadingError) {
            stream = try WireStream(addresses.removeFirst(), security: security, host: name, isAddress: isAddress)
            reader = StoreReader()
            work()
        } catch {
            failed("\(error.reason)")
        }
    }

    /// Ends the connection, or the attempt to open one, and plans the next.
    private func failed(_ reason: String) {
        let wasReady = isReady
        stream = nil
        (isReady, preparations, digests) = (false, [], [:])
        member.closed(time.now)
        // The other addresses of a name follow immediately.
        guard addresses.isEmpty || wasReady else { return }
        addresses = []
        if !address.hosts.isEmpty { host = (host + 1) % address.hosts.count }
        failures = min(failures + 1, 10)
        let longest = Duration.milliseconds(min(1_000, 50 << min(failures - 1, 5)))
        nextTry = time.now.advanced(by: .milliseconds(1) + random.duration(below: longest))
        core.failed(reason, host: hostName)
    }

    /// Continues connecting, reads what has arrived, and sends what waits.
    private func work() {
        guard let stream else { return }
        var events = [pollfd(fd: stream.socket, events: Int16(POLLOUT), revents: 0)]
        let canWrite = poll(&events, 1, 0) > 0
        switch stream.advance(isReady: canWrite) {
        case .pending: return
        case .failed(let reason): return failed(reason)
        case .open: break
        }
        if !isReady, preparations.isEmpty { prepare(stream) }
        stream.flush()
        // Bytes that TLS holds wake no wait for the socket, so they are read until none is left.
        var result = WireStream.Read.bytes
        while case .bytes = result {
            result = stream.read(into: &reader.bytes)
            do throws(StoreReader.Fault) {
                while self.stream === stream, let reply = try reader.next() {
                    take(reply)
                    carryOut()
                }
            } catch {
                member.fault(error.reason, time.now)
                return carryOut()
            }
            guard self.stream === stream else { return }
        }
        switch result {
        case .ended: failed("the store has closed the connection")
        case .failed(let reason): failed(reason)
        case .nothing, .bytes: break
        }
    }

    /// Continues at another node of the cluster; only at one that the user has named.
    private func move(to place: String) {
        let index = address.hosts.firstIndex { place == "\($0.name):\($0.port)" || place == "[\($0.name)]:\($0.port)" }
        addresses = []
        failed("its keys are at \(place)" + (index == nil ? ", which the address of the fleet does not name" : ""))
        guard let index else { return }
        host = index
        // A cluster whose nodes name each other is asked no faster than one that does not respond.
        if failures == 1 { nextTry = time.now }
    }

    private func prepare(_ stream: WireStream) {
        func send(_ words: [String], _ preparation: Preparation) {
            stream.write(StoreCommand.bytes(words))
            preparations.append(preparation)
        }
        if let secret {
            send(["AUTH", address.user ?? "default", secret.reveal()], .plain)
        }
        if address.database != 0 { send(["SELECT", "\(address.database)"], .plain) }
        for script in StoreScript.allCases { send(["SCRIPT", "LOAD", script.text], .script(script)) }
    }

    private func take(_ reply: StoreReply) {
        guard !preparations.isEmpty else {
            member.reply(reply, time.now)
            if member.isJoined {
                failures = 0
                core.joined()
            }
            return
        }
        let preparation = preparations.removeFirst()
        switch (preparation, reply) {
        case (_, .error(let text)):
            if let refusal = StoreRefusal(text, isFirst: true) { core.refused(refusal) }
            failed("the store refuses: \(text.prefix(120))")
        case (.script(let script), .text(let digest)):
            digests[script] = String(decoding: digest, as: UTF8.self)
            if preparations.isEmpty {
                isReady = true
                member.opened(time.now)
            }
        case (.plain, .status): break
        default: failed("a reply that no script returns")
        }
    }

    private func carryOut() {
        for action in member.take() {
            switch action {
            case .send(let command, let asText):
                guard let stream, isReady else { continue }
                let name = asText ? command.script.text : digests[command.script] ?? ""
                let words = [asText ? "EVAL" : "EVALSHA", name, "\(command.keys.count)"]
                stream.write(StoreCommand.bytes(words + command.keys + command.arguments))
            case .news(let limiter, let news): core.pass(news, to: limiter)
            case .close(let reason): failed(reason)
            case .move(let place): move(to: place)
            case .refuse(let refusal): core.refused(refusal)
            case .credentials(let number, let reply, let sent): core.pass(reply, to: number, sent: sent)
            case .offer: core.offer()
            case .board(let number, let reply): core.pass(reply, toBoard: number)
            case .beatBoards: core.beatBoards()
            }
        }
        core.note(
            FleetCore.Facts(
                members: member.members,
                active: member.active,
                mostMembers: member.mostMembers,
                isAlone: member.isAlone,
                isJoined: member.isJoined,
                roundTrips: member.roundTrips
            )
        )
    }
}
