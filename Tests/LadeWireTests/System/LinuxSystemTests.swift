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
        system.onWait = { loop.inbox.post(.resolved(0)) }
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

    @Test("wire WR-69 an idle connection in clear text takes 4 KiB of heap at most")
    func idleMemory() async {
        await #expect(processExitsWith: .success) {
            let count = 400
            var settings = Simulation.settings
            settings.connections.perHost = count
            settings.connections.total = count
            let answer = SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            let lanes = (0..<count).map { _ in [Simulation.Call(target: "/", content: "ok")] }
            let simulation = Simulation(lanes, settings, on: SimulatedSystem(["/": answer]))
            simulation.system.leaps = false
            simulation.start()
            simulation.turn { simulation.loop.running.count == count }
            simulation.turn { simulation.outcomes.allSatisfy { $0.isOver } }
            let idle = simulation.loop.watched.count
            let before = lade_heap_bytes()
            for connection in Array(simulation.loop.watched.values) {
                _ = simulation.loop.pool.takeLongestIdle()
                simulation.loop.close(connection)
            }
            let freed = Int(before) - Int(lade_heap_bytes())
            #expect(idle == count)
            // The socket of the simulation, with what its server has seen, is counted too.
            #expect(freed / count <= 4 << 10, "\(freed / count) bytes")
            #expect(freed > 0)
        }
    }
}

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
