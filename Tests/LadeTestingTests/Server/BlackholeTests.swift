import LadeCore
import Testing

@testable import LadeTesting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("A port where connecting hangs", .timeLimit(.minutes(5)))
struct BlackholeTests {
    /// An attempt to connect that does not block.
    private final class Attempt {
        private let descriptor: Int32

        init(_ endpoint: LoopbackServer.Address, _ port: UInt16) throws {
            descriptor = try #require(Sockets.beginConnecting(to: endpoint, port: port))
        }

        deinit { Sockets.closeDescriptor(descriptor) }

        /// Whether the attempt has ended, with success or failure.
        var hasEnded: Bool {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return poll(&entry, 1, 0) != 0
        }

        /// Blocks until the attempt has ended.
        func waitForItsEnd() {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }

    private static let families: [LoopbackServer.Address] = [.ipv4(), .ipv6()]

    @Test("lets attempts hang in both families, while others beside it connect", arguments: families)
    func hangs(endpoint: LoopbackServer.Address) throws {
        let hole = try Blackhole(endpoint)
        var options = LoopbackServer.Options()
        options.address = endpoint
        let server = try LoopbackServer(options, script: [.stall])

        let hanging = try Attempt(endpoint, hole.port)
        let control = try Attempt(endpoint, server.port)
        control.waitForItsEnd()

        #expect(!hanging.hasEnded)
    }

    @Test("refuses connections after it was released")
    func ends() throws {
        var hole: Blackhole? = try Blackhole()
        let port = try #require(hole?.port)
        hole = nil
        #expect(!RawClient(port: port).isConnected)
    }

    @Test("says where it could not listen")
    func fails() throws {
        let server = try LoopbackServer(script: [.stall])
        let failure = #expect(throws: SystemCallError.self) { try Blackhole(.ipv4(port: server.port)) }
        #expect(failure?.errno == EADDRINUSE)
        #expect(failure?.description.hasPrefix("bind 127.0.0.1:\(server.port): ") == true)
    }

    @Test("stands beside a server on the other family's port", arguments: [true, false])
    func besideAServer(isSixDead: Bool) throws {
        let (server, hole) = try Blackhole.beside(isSixDead: isSixDead) { _ in .text("alive") }
        #expect(server.port == hole.port)

        let dead = try Attempt(isSixDead ? .ipv6() : .ipv4(), hole.port)
        let alive = try RawClient(to: isSixDead ? .ipv4() : .ipv6(), port: server.port)
        alive.send("GET / HTTP/1.0\r\n\r\n")

        #expect(alive.receiveAll()?.hasSuffix("\r\n\r\nalive") == true)
        #expect(!dead.hasEnded)
    }
}
