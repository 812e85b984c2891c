import CCurl
import Testing

@testable import LadeCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite("The poller", .timeLimit(.minutes(5)))
struct PollerTests {
    private let poller: Poller

    init() throws {
        poller = try Poller()
    }

    /// The events of the sockets that are ready now.
    private func look() -> [Poller.Ready] {
        var ready: [Poller.Ready] = []
        poller.wait(isLook: true, woke: {}) { ready.append($0) }
        return ready
    }

    /// A pair whose socket has carried a request and is used by a transfer that waits for its response.
    private func connection() throws -> (pair: PeerPair, use: Poller.Use) {
        let pair = try PeerPair()
        poller.opened(pair.socket)
        poller.connected(pair.socket, isUnix: false)
        let use = try #require(poller.use(pair.socket))
        poller.want(pair.socket, CURL_POLL_IN)
        return (pair, use)
    }

    /// Ends the use of a socket, as libcurl and the loop do after a response.
    private func end(_ use: Poller.Use, at now: Int64 = 0) {
        poller.want(use.socket, CURL_POLL_REMOVE)
        poller.release(use, now: now, isMultiplexed: false)
    }

    // MARK: - Idle sockets

    @Test("finding FH-1 an idle socket is shut down when a byte arrives on it")
    func byteOnIdleSocket() throws {
        let (pair, use) = try connection()
        #expect(look().isEmpty)
        end(use)
        #expect(look().isEmpty)
        #expect(!pair.isShutDown)

        pair.sendByte()

        #expect(look().isEmpty)
        #expect(pair.isShutDown)
        poller.close()
    }

    @Test("finding FH-1 a socket is shut down for a byte that arrived while its transfer was paused, once it is idle")
    func byteBeforeIdling() throws {
        let (pair, use) = try connection()
        #expect(look().isEmpty)
        poller.want(pair.socket, CURL_POLL_REMOVE)
        pair.sendByte()
        // The transfer is paused: libcurl requests no events, and the socket is in use.
        #expect(look().isEmpty)
        #expect(!pair.isShutDown)

        poller.release(use, now: 0, isMultiplexed: false)

        #expect(look().isEmpty)
        #expect(pair.isShutDown)
        poller.close()
    }

    @Test("an idle socket stays open when the events that libcurl requested last are those of writing")
    func writableIdleSocket() throws {
        let (pair, use) = try connection()
        poller.want(pair.socket, CURL_POLL_OUT)
        #expect(look().map(\.bits) == [CURL_CSELECT_OUT])
        end(use)

        #expect(look().isEmpty)
        #expect(look().isEmpty)
        #expect(!pair.isShutDown)

        // A byte is noticed nevertheless.
        pair.sendByte()
        #expect(look().isEmpty)
        #expect(pair.isShutDown)
        poller.close()
    }

    @Test("the end of an HTTP/2 connection that is idle is left to libcurl")
    func byteOnMultiplexedSocket() throws {
        let (pair, use) = try connection()
        #expect(look().isEmpty)
        poller.want(pair.socket, CURL_POLL_REMOVE)
        poller.release(use, now: 0, isMultiplexed: true)

        pair.sendByte()

        #expect(look().isEmpty)
        #expect(!pair.isShutDown)
        poller.close()
    }

    @Test("sockets are shut down at the end of their idle life, the longest idle ones first")
    func idleLife() throws {
        let (long, short, busy) = (try connection(), try connection(), try connection())
        end(long.use, at: 10)
        end(short.use, at: 20)
        func areShutDown() -> [Bool] { [long, short, busy].map { $0.pair.isShutDown } }

        #expect(poller.shutIdle(before: 9) == 10)
        #expect(areShutDown() == [false, false, false])
        #expect(poller.shutIdle(before: 10) == 20)
        #expect(areShutDown() == [true, false, false])
        #expect(poller.shutIdle(before: 30) == nil)
        #expect(areShutDown() == [true, true, false])
        poller.close()
    }

    @Test("the idle life of a socket begins anew after each use")
    func usedAgain() throws {
        let (pair, first) = try connection()
        end(first, at: 10)
        let second = try #require(poller.use(pair.socket))
        #expect(poller.shutIdle(before: 30) == nil)

        end(second, at: 40)

        #expect(poller.shutIdle(before: 30) == 40)
        #expect(!pair.isShutDown)
        poller.close()
    }

    @Test("a socket is idle only after the last of the transfers that use it has ended")
    func sharedSocket() throws {
        let (pair, first) = try connection()
        let second = try #require(poller.use(pair.socket))

        poller.release(first, now: 10, isMultiplexed: true)
        #expect(poller.shutIdle(before: 30) == nil)
        #expect(!pair.isShutDown)

        poller.release(second, now: 20, isMultiplexed: true)
        #expect(poller.shutIdle(before: 30) == nil)
        #expect(pair.isShutDown)
        poller.close()
    }

    // MARK: - Events

    @Test("the end of a connection is reported as readable although libcurl waits for writing alone")
    func hangUp() throws {
        let (pair, _) = try connection()
        poller.want(pair.socket, CURL_POLL_OUT)
        #expect(look().map(\.bits) == [CURL_CSELECT_OUT])

        pair.shutDownPeer()

        #expect(look().first.map { $0.bits & CURL_CSELECT_IN != 0 } == true)
        poller.close()
    }

    @Test("a paused transfer's socket is read again when the transfer continues")
    func continued() throws {
        let (pair, _) = try connection()
        #expect(look().isEmpty)
        poller.want(pair.socket, CURL_POLL_REMOVE)
        pair.sendByte()
        #expect(look().isEmpty)

        poller.want(pair.socket, CURL_POLL_IN)

        #expect(look().map(\.bits) == [CURL_CSELECT_IN])
        poller.close()
    }

    // MARK: - Numbers that are used again

    @Test("the end of a use does not concern a later socket with the same number")
    func useOfClosedSocket() throws {
        let (pair, old) = try connection()
        poller.closing(pair.socket)
        let next = try PeerPair(replacing: pair)
        poller.opened(next.socket)
        poller.connected(next.socket, isUnix: false)
        let current = try #require(poller.use(next.socket))
        #expect(!poller.isCurrent(old))
        #expect(poller.isCurrent(current))

        // The old transfer ends after its connection, while the new one is in flight.
        poller.release(old, now: 10, isMultiplexed: true)
        #expect(poller.shutIdle(before: 30) == nil)
        #expect(!next.isShutDown)

        // Neither is the new connection taken for one of HTTP/2.
        end(current, at: 40)
        next.sendByte()
        #expect(look().isEmpty)
        #expect(next.isShutDown)
        poller.close()
    }

    @Test("a closed idle socket leaves nothing to shut down at its number", arguments: [true, false])
    func closedIdleSocket(isClosedByCallback: Bool) throws {
        let (pair, use) = try connection()
        end(use, at: 10)
        if isClosedByCallback { poller.closing(pair.socket) }
        let next = try PeerPair(replacing: pair)
        if !isClosedByCallback { poller.opened(next.socket) }

        #expect(poller.shutIdle(before: 30) == nil)
        #expect(!next.isShutDown)
        next.sendByte()
        #expect(look().isEmpty)
        #expect(!next.isShutDown)
        poller.close()
    }

    @Test("a new socket is watched although libcurl closed its predecessor at that number without a callback")
    func numberOfUnconnectedSocket() throws {
        let pair = try PeerPair()
        poller.opened(pair.socket)
        poller.want(pair.socket, CURL_POLL_IN)

        // A socket that is connected immediately: libcurl requests no event before it is a connection.
        let next = try PeerPair(replacing: pair)
        poller.opened(next.socket)
        poller.connected(next.socket, isUnix: false)
        poller.want(next.socket, CURL_POLL_IN)
        next.sendByte()

        #expect(look().map(\.bits) == [CURL_CSELECT_IN])
        poller.close()
    }
}

/// A socket for the poller, and its peer.
private final class PeerPair {
    let socket: Int32
    private let peer: Int32
    /// Whether another pair owns the number of the socket.
    private var isReplaced = false

    init(replacing old: PeerPair? = nil) throws {
        #if canImport(Glibc)
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #else
            let type = SOCK_STREAM | SOCK_CLOEXEC
        #endif
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        peer = ends[1]
        guard let old else {
            socket = ends[0]
            return
        }
        // Closes the old socket and gives its number to the new one in one call: no other thread can take the number.
        socket = dup2(ends[0], old.socket)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        close(ends[0])
        old.isReplaced = true
    }

    deinit {
        if !isReplaced { close(socket) }
        close(peer)
    }

    func sendByte() {
        #expect(send(peer, "a", 1, Int32(MSG_NOSIGNAL)) == 1)
    }

    func shutDownPeer() {
        shutdown(peer, Int32(SHUT_RDWR))
    }

    /// Whether the poller has shut the socket down: its peer then reads the end.
    var isShutDown: Bool {
        var byte: UInt8 = 0
        return recv(peer, &byte, 1, Int32(truncatingIfNeeded: Int(MSG_PEEK) | Int(MSG_DONTWAIT))) == 0
    }
}
