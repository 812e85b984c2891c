import CWire
import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The system itself: sockets of Linux, and level-triggered epoll.
final class LinuxSystem: WireSystem {
    private static let most = 256

    private let epoll: Int32
    private let wakeUp: Int32
    private let timer: Int32
    private let clock: LoopClock
    /// When the timer fires; the greatest value when it is not set.
    private var timerMoment = Int64.max
    private let threads = ComputeThreads(atEnd: TLSContext.endThread)
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// Makes the poller.
    ///
    /// - Throws: The error number, for example of a process without a free descriptor.
    init(clock: LoopClock) throws(SystemError) {
        self.clock = clock
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        timer = lade_wire_timer_make()
        guard epoll >= 0, wakeUp >= 0, timer >= 0 else {
            let error = SystemError(errno: errno)
            for descriptor in [epoll, wakeUp, timer] where descriptor >= 0 { closeDescriptor(descriptor) }
            throw error
        }
        events = .allocate(capacity: Self.most)
        // Edge-triggered: each write and each expiry wakes once, and neither needs to be read.
        for (descriptor, number) in [(wakeUp, UInt64.max), (timer, UInt64.max - 1)] {
            var event = epoll_event(events: EPOLLIN.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: number))
            epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
        }
    }

    deinit {
        events.deallocate()
    }

    func shutDown() {
        threads.stop()
        for descriptor in [wakeUp, timer, epoll] { closeDescriptor(descriptor) }
    }

    var wakeUpDescriptor: Int32 { wakeUp }

    func now() -> Int64 { clock.now() }

    func timeAsleep() -> Int64 { lade_wire_time_asleep() }

    // MARK: - Sockets

    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> {
        let socket: Int32
        let code: Int32
        switch endpoint {
        case .address(let address, let port):
            socket = lade_wire_socket(address.isV6 ? 1 : 0)
            guard socket >= 0 else { return .failure(SystemError(errno: errno)) }
            var raw = address.raw
            code = lade_wire_connect(socket, &raw, port)
        case .unix(let path):
            socket = lade_wire_unix_socket()
            guard socket >= 0 else { return .failure(SystemError(errno: errno)) }
            code = lade_wire_connect_unix(socket, path)
        }
        guard code == 0 || code == EINPROGRESS else {
            closeDescriptor(socket)
            return .failure(SystemError(errno: code))
        }
        return .success(socket)
    }

    func connectError(_ socket: Int32) -> Int32 { lade_wire_connect_error(socket) }

    func localEnd(_ socket: Int32) -> HeadRecord.LocalEnd? {
        var raw = lade_address()
        var port: UInt16 = 0
        guard lade_wire_local(socket, &raw, &port) == 0 else { return nil }
        return HeadRecord.LocalEnd(address: SocketAddress(raw).text, port: Int(port))
    }

    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        let count = recv(socket, buffer.baseAddress, buffer.count, 0)
        return count == 0 ? .ended : count > 0 ? .bytes(count) : Self.failure()
    }

    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        let count = Int(lade_wire_send(socket, bytes.baseAddress, bytes.count))
        return count > 0 ? .bytes(count) : Self.failure()
    }

    private static func failure() -> IOResult {
        let code = errno
        // An interrupted call moved nothing; the poller reports the socket again.
        return code == EAGAIN || code == EINTR ? .wouldBlock : .failed(code)
    }

    func peek(_ socket: Int32) -> Arrivals {
        switch lade_wire_peek(socket) {
        case 0: .nothing
        case 1: .bytes
        default: .end
        }
    }

    func close(_ socket: Int32) { closeDescriptor(socket) }

    func compute(_ key: Int, _ work: @escaping @Sendable () -> Void) { threads.run(key, work) }

    // MARK: - Waiting

    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        let bits =
            (reads ? EPOLLIN.rawValue | EPOLLRDHUP.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
        var event = epoll_event(events: bits, data: epoll_data_t(u64: UInt64(number)))
        epoll_ctl(epoll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event)
    }

    func ignore(_ socket: Int32) {
        var none = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &none)
    }

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        if let moment { wake(at: clock.systemTime(moment)) }
        var count = epoll_wait(epoll, events.baseAddress, Int32(Self.most), moment == nil ? 0 : -1)
        // A stop of the process interrupts a wait, which has then not looked at the sockets.
        if count < 0, errno == EINTR { count = epoll_wait(epoll, events.baseAddress, Int32(Self.most), 0) }
        guard count > 0 else { return }
        for event in events[..<Int(count)] {
            let number = event.data.u64
            if number == UInt64.max { continue }
            if number == UInt64.max - 1 {
                timerMoment = .max
                continue
            }
            let broken = EPOLLHUP.rawValue | EPOLLERR.rawValue
            ready.append(
                ReadySocket(
                    number: Int(number),
                    isReadable: event.events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | broken) != 0,
                    isWritable: event.events & (EPOLLOUT.rawValue | broken) != 0,
                    isBroken: event.events & broken != 0
                )
            )
        }
    }

    /// Makes the next wait end at a given time at the latest.
    ///
    /// A timer that is set for an earlier time stays. An occasional early wake-up is cheaper than a new kernel timer for each
    /// wait, because most deadlines are moved before they expire.
    private func wake(at moment: Int64) {
        guard moment < timerMoment else { return }
        timerMoment = moment
        lade_wire_timer_set(timer, moment)
    }
}

/// Closes a descriptor; within ``LinuxSystem``, `close` is its own method.
private func closeDescriptor(_ descriptor: Int32) {
    close(descriptor)
}
