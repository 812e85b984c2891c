import LadeCore

/// The result of a system call for a socket.
enum IOResult: Equatable {
    /// A number of bytes, greater than 0, was moved.
    case bytes(Int)
    /// The peer has ended its direction.
    case ended
    /// Nothing can be moved now.
    case wouldBlock
    /// The error number.
    case failed(Int32)
}

/// The data or event that waits at a socket.
enum Arrivals: Equatable {
    case nothing
    case bytes
    /// The end of the connection, or an error.
    case end
}

/// Where a connection leads.
enum Endpoint: Equatable {
    case address(SocketAddress, port: UInt16)
    case unix(path: String)
}

/// A socket that is ready, by the number it was watched with.
struct ReadySocket: Equatable {
    let number: Int
    let isReadable: Bool
    let isWritable: Bool
    /// Whether both directions have ended, or an error waits: the system reports this whether it is asked for or not.
    let isBroken: Bool
}

/// Everything outside of the loop: clock, sockets, waiting.
///
/// The loop calls it on its thread alone; nothing of it blocks but ``wait(until:into:)``. A simulation replaces it.
protocol WireSystem: AnyObject {
    /// The monotonic clock in nanoseconds.
    func now() -> Int64

    /// How long the system has slept since its start, in nanoseconds: the monotonic clock stops meanwhile.
    func timeAsleep() -> Int64

    /// Opens a socket and begins to connect it.
    ///
    /// - Returns: The socket, or the error number of either step.
    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError>

    /// The outcome of connecting once the socket is writable: 0, or the error number.
    func connectError(_ socket: Int32) -> Int32

    /// Where a connected socket was connected from; nil for a Unix socket.
    func localEnd(_ socket: Int32) -> HeadRecord.LocalEnd?

    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult
    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult
    func peek(_ socket: Int32) -> Arrivals
    func close(_ socket: Int32)

    /// Reports the socket by a number when it is readable (if `reads`) or writable (if `writes`), from now on.
    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool)

    /// Reports nothing more of the socket.
    func ignore(_ socket: Int32)

    /// Waits until a socket is ready, the inbox is woken or the time has come; the greatest time waits for ever.
    ///
    /// With nil it looks without waiting.
    func wait(until moment: Int64?, into ready: inout [ReadySocket])

    /// Does work that takes milliseconds, for example on another thread, in order for each key.
    func compute(_ key: Int, _ work: @escaping @Sendable () -> Void)

    /// The descriptor that ends a wait when 8 bytes are written to it.
    var wakeUpDescriptor: Int32 { get }

    /// Closes everything of the system's own; no method may be called afterwards.
    func shutDown()
}

/// The system's error number.
struct SystemError: Error, Equatable {
    let errno: Int32
}

extension WireSystem {
    /// Nil: the system does not tell.
    func localEnd(_ socket: Int32) -> HeadRecord.LocalEnd? { nil }
}
