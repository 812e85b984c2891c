import CHangingResolver
import CProcess
import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The loop over the sockets of the system.
@Suite("The system of Linux", .timeLimit(.minutes(5)))
struct LinuxSystemTests {
    /// A socket that listens on loopback, and accepts by hand.
    private struct Listener {
        let socket: Int32
        let port: UInt16

        init() {
            socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let socket = socket
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, size)
                    listen(socket, 8)
                    getsockname(socket, $0, &size)
                }
            }
            port = UInt16(bigEndian: address.sin_port)
        }

        /// Accepts a connection and resets it.
        func acceptAndReset() {
            let connection = accept(socket, nil, nil)
            var now = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
            close(connection)
        }
    }

    private static func connect(_ system: LinuxSystem, _ port: UInt16) throws -> Int32 {
        guard case .address(let address) = SocketAddress.parse("127.0.0.1") else { throw CancellationError() }
        return try system.connect(to: .address(address, port: port)).get()
    }

    @Test("wire WR-1 every descriptor of the loop is non-blocking, and none is inherited by other programs")
    func descriptors() throws {
        let listener = Listener()
        defer { close(listener.socket) }
        let system = try LinuxSystem(clock: LoopClock())
        defer { system.shutDown() }
        let unix = system.connect(to: .unix(path: "/tmp/lade-no-such-socket"))
        #expect(unix == .failure(SystemError(errno: ENOENT)))
        let socket = try Self.connect(system, listener.port)
        defer { system.close(socket) }
        for descriptor in [socket, system.wakeUpDescriptor] {
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        // Nothing has arrived: none of these waits.
        var byte: UInt8 = 0
        withUnsafeMutableBytes(of: &byte) { #expect(system.receive(socket, into: $0) == .wouldBlock) }
        #expect(system.peek(socket) == .nothing)
    }

    @Test("wire WR-9 a peer that resets while bytes are sent raises no signal")
    func pipe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let listener = Listener()
            let system = try LinuxSystem(clock: LoopClock())
            let socket = try Self.connect(system, listener.port)
            listener.acceptAndReset()
            let bytes = [UInt8](repeating: 0, count: 1 << 20)
            var failures: [Int32] = []
            // The first call reports the reset, the second is one on a closed pipe.
            while failures.count < 2 {
                let result = bytes.withUnsafeBytes { system.send(socket, $0) }
                if case .failed(let code) = result { failures.append(code) }
            }
            #expect(failures == [ECONNRESET, EPIPE])
        }
    }

    @Test("wire WR-4 a message that is posted between the check for sleep and the wait ends the wait")
    func wakeUp() throws {
        let system = InterposedSystem(try LinuxSystem(clock: LoopClock()))
        let loop = try WireLoop(TransportSettings(), system: system, now: { 1 })
        system.onWait = { [inbox = loop.inbox] in inbox.post(.resolved(0)) }
        for _ in 0..<1_000 { #expect(loop.turn()) }
        #expect(system.lostWakeUps == 0)
        #expect(system.sleeps == 1_000)
        loop.inbox.stop()
        loop.shutDown()
    }

    @Test("wire WR-8 a transport in a forked child refuses, and the parent's connections are untouched")
    func fork() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let transport = try WireTransport()
        let request = try Request(server.address())
        _ = try await transport.send(request, call: Call())

        let result = lade_in_child(
            { context in
                guard let context else { return 3 }
                do throws(LoadingError) {
                    try Unmanaged<WireTransport>.fromOpaque(context).takeUnretainedValue().checkProcess()
                    return 1
                } catch {
                    return error.kind == .transport(code: 0, message: "the transport was made before fork") ? 0 : 2
                }
            },
            Unmanaged.passUnretained(transport).toOpaque()
        )
        #expect(result == 0)

        _ = try await transport.send(request, call: Call())
        #expect(server.acceptedCount == 1)
        await transport.shutDown()
    }

    @Test("wire WR-7 shutDown closes every descriptor, and releasing the transport ends the loop")
    func end() async {
        await #expect(processExitsWith: .success) {
            func descriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            let server = try LoopbackServer { _ in .text("ok") }
            let first = try WireTransport()
            _ = try await first.send(try Request(server.address()), call: Call())
            await first.shutDown()
            try await server.open(atMost: 0)
            let before = try descriptors()

            let second = try WireTransport()
            _ = try await second.send(try Request(server.address()), call: Call())
            #expect(try descriptors() > before)
            await second.shutDown()
            try await server.open(atMost: 0)
            #expect(try descriptors() == before)

            var third: WireTransport? = try WireTransport()
            let inbox = try #require(third?.loop.inbox)
            third = nil
            await inbox.ended()
            #expect(try descriptors() == before)
        }
    }

    @Test("wire WR-7 a look-up that hangs holds no reference to the transport, whose end does not wait for it")
    func hangingLookUp() async throws {
        let host = "wire.released.hanging.lade.test"
        try #require(lade_hanging_host_arm(host, { lookUpBegan.raise() }) != 0)
        defer { lade_hanging_host_release(host) }
        weak var released: WireLoop?
        try makeLoop(thatLooksUp: host, &released)
        try await lookUpBegan.wait()
        #expect(released == nil)
    }

    private func makeLoop(thatLooksUp host: String, _ released: inout WireLoop?) throws {
        let loop = try WireLoop(TransportSettings(), system: LinuxSystem(clock: LoopClock()), now: { 1 })
        released = loop
        let exchange = try Exchange(
            Request("http://\(host)/"),
            call: Call(),
            rules: Exchange.Rules(TransportSettings()),
            lane: .direct
        )
        loop.inbox.post(.submit(exchange))
        loop.inbox.stop()
        #expect(!loop.turn())
        loop.shutDown()
        guard case .finished = exchange.phase else {
            Issue.record("the exchange survives the loop")
            return
        }
    }
}

/// Raised by the first look-up of the name that hangs.
private let lookUpBegan = Signal()

/// The system itself, which calls back before each sleep.
private final class InterposedSystem: WireSystem {
    private let inner: LinuxSystem
    var onWait: () -> Void = {}
    private(set) var sleeps = 0
    /// How many waits were ended by the time that stands for a lost wake-up.
    private(set) var lostWakeUps = 0

    init(_ inner: LinuxSystem) {
        self.inner = inner
    }

    func now() -> Int64 { inner.now() }
    func timeAsleep() -> Int64 { inner.timeAsleep() }
    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> { inner.connect(to: endpoint) }
    func connectError(_ socket: Int32) -> Int32 { inner.connectError(socket) }
    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        inner.receive(socket, into: buffer)
    }
    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult { inner.send(socket, bytes) }
    func peek(_ socket: Int32) -> Arrivals { inner.peek(socket) }
    func close(_ socket: Int32) { inner.close(socket) }
    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        inner.watch(socket, number: number, reads: reads, writes: writes, isNew: isNew)
    }
    func ignore(_ socket: Int32) { inner.ignore(socket) }
    func compute(_ key: Int, _ work: @escaping @Sendable () -> Void) { inner.compute(key, work) }
    var wakeUpDescriptor: Int32 { inner.wakeUpDescriptor }
    func shutDown() { inner.shutDown() }

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        guard moment != nil else { return inner.wait(until: nil, into: &ready) }
        sleeps += 1
        onWait()
        let limit = now() + 20_000_000_000
        inner.wait(until: limit, into: &ready)
        if now() >= limit { lostWakeUps += 1 }
    }
}
