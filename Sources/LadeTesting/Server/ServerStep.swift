#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One step in the script of a connection of a ``LoopbackServer``.
///
/// ```swift
/// let steps: [ServerStep] = [
///     .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12"), .wait(for: signal), .send("34"), .close,
/// ]
/// ```
///
/// At the end of a script the connection is closed. When the client closes it, the step that detects it ends the
/// script.
public struct ServerStep: Sendable {
    let run: @Sendable (ServerConnection) throws -> Void

    /// Runs a closure on the connection's thread.
    package static func run(_ body: @escaping @Sendable (ServerConnection) throws -> Void) -> ServerStep {
        ServerStep(run: body)
    }

    /// Reads a request with its body.
    public static var readRequest: ServerStep { .run { try $0.readRequest() } }

    /// Reads the head of a request and leaves its body.
    public static var readHead: ServerStep { .run { try $0.readHead() } }

    /// Reads the body of the request whose head was read last.
    public static var readBody: ServerStep { .run { try $0.readBody() } }

    /// Sends a text as UTF-8, unchanged.
    public static func send(_ text: String) -> ServerStep { .send(Data(text.utf8)) }

    /// Sends bytes, unchanged.
    public static func send(_ bytes: Data) -> ServerStep { .run { try $0.send(bytes) } }

    /// Sends bytes in pieces, each with a separate system call.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - size: The maximum size of a piece.
    ///   - signal: A signal to wait for before each piece but the first.
    /// - Returns: The step.
    public static func send(_ bytes: Data, inPiecesOf size: Int, pacedBy signal: Signal? = nil) -> ServerStep {
        .run { try $0.send(bytes, inPiecesOf: size, pacedBy: signal) }
    }

    /// Responds to the request that was read last.
    public static func respond(_ response: ServerResponse) -> ServerStep { .run { try $0.respond(response) } }

    /// Waits until the test raises the signal.
    public static func wait(for signal: Signal) -> ServerStep { .run { try $0.wait(for: signal) } }

    /// Does nothing until the client closes or the server stops.
    public static var stall: ServerStep { .run { try $0.stall() } }

    /// Resets the connection (RST) and ends the script.
    public static var reset: ServerStep { .run { try $0.reset() } }

    /// Closes the connection and ends the script.
    public static var close: ServerStep { .run { try $0.close() } }

    /// Ends only the sending direction.
    public static var halfClose: ServerStep { .run { try $0.halfClose() } }
}
