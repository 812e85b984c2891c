#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Receives the body of a response.
protocol BodySink: Sendable {
    /// Writes the heads of the call before the body, when the user asked for them.
    mutating func writeHead(_ response: Response) async throws(CommandError)

    /// Writes the next piece, and returns when there is room for another.
    mutating func write(_ chunk: Data) async throws(CommandError)

    /// Ends the output after the whole body has arrived.
    mutating func finish() async throws(CommandError)

    /// Whether the sink ignores the rest of the body.
    var isSated: Bool { get }

    /// Whether the sink can still discard the bytes that it received.
    var canBeginAnew: Bool { get }
}

extension BodySink {
    var isSated: Bool { false }
}

/// The standard output, or a device or pipe that `--output` names; it receives every byte unchanged.
struct PipeSink: BodySink {
    private let descriptor: Descriptor
    private let path: String?
    private let queue: BlockingQueue?
    /// Whether the body can begin anew, because nothing was written yet.
    private(set) var canBeginAnew = true

    /// Makes a sink; writes that may block for long are done on a separate thread.
    ///
    /// - Parameters:
    ///   - descriptor: Where the bytes go.
    ///   - path: The path of the file that errors name; nil for the standard output.
    init(_ descriptor: Descriptor, path: String? = nil) {
        self.descriptor = descriptor
        self.path = path
        queue = descriptor.isRegularFile ? nil : BlockingQueue(label: "lade.output")
    }

    mutating func writeHead(_ response: Response) async throws(CommandError) {
        try await write(response.receivedHeads)
    }

    mutating func write(_ chunk: Data) async throws(CommandError) {
        canBeginAnew = canBeginAnew && chunk.isEmpty
        let error: SystemError?
        if let queue {
            guard let result = await queue.run({ [descriptor] in Self.write(chunk, to: descriptor) }) else {
                throw .interrupted
            }
            error = result
        } else {
            error = Self.write(chunk, to: descriptor)
        }
        if let error { throw .output(error, path) }
    }

    func finish() async throws(CommandError) {}

    private static func write(_ chunk: Data, to descriptor: Descriptor) -> SystemError? {
        do throws(SystemError) {
            try descriptor.write(chunk)
            return nil
        } catch {
            return error
        }
    }
}

/// The standard output as a terminal: formatted, coloured, and without control characters.
struct TerminalSink: BodySink {
    private var pipe: PipeSink
    private let talk: LineLog
    private var text: TerminalText
    private let isColoured: Bool
    private let isText: Bool
    private var isFirst = true
    private(set) var isSated = false

    /// Makes a sink for a response.
    ///
    /// - Parameters:
    ///   - console: The console with the terminal.
    ///   - contentType: The content type of the body, with its charset.
    init(_ console: Console, contentType: String?) {
        pipe = PipeSink(console.output)
        talk = console.talk
        isColoured = console.usesColour
        let charset = Charset(shown: contentType)
        isText = charset.hasZeroBytes
        text = TerminalText(TerminalText.Kind(contentType: contentType, isColoured: isColoured), charset)
    }

    var canBeginAnew: Bool { isFirst && pipe.canBeginAnew }

    mutating func writeHead(_ response: Response) async throws(CommandError) {
        var plain = TerminalText(.plain)
        var shown = plain.text(of: response.receivedHeads)
        if isColoured { shown = HeadColour.heads(shown) }
        try await pipe.write(Data(shown.utf8))
    }

    mutating func write(_ chunk: Data) async throws(CommandError) {
        // Text contains no NUL; a body that does is binary and would fill the screen with noise.
        if isFirst, !isText, chunk.contains(0) {
            isSated = true
            talk.say("lade: The response is no text; -o FILE or a pipe takes it as it is.")
        }
        isFirst = false
        guard !isSated else { return }
        try await pipe.write(Data(text.text(of: chunk).utf8))
    }

    mutating func finish() async throws(CommandError) {
        try await pipe.write(Data(text.end().utf8))
    }
}
