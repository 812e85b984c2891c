#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Where the body of an answer goes.
protocol BodySink: Sendable {
    /// Takes a text that stands before the body: the head, when it was asked for.
    mutating func writeHead(_ response: Response) async throws(CommandError)

    /// Takes the next piece; returns when there is room for another.
    mutating func write(_ chunk: Data) async throws(CommandError)

    /// Everything has arrived.
    mutating func finish() async throws(CommandError)

    /// Whether it makes no use of the rest.
    var isSated: Bool { get }

    /// Whether what it was given can still be forgotten.
    var canBeginAnew: Bool { get }
}

extension BodySink {
    var isSated: Bool { false }
}

/// The standard output as a pipe or a file: every byte as it came (CM-02).
struct PipeSink: BodySink {
    private let descriptor: Descriptor
    private let queue: BlockingQueue?
    /// Whether nothing was written: what a reader has, nobody takes back.
    private(set) var canBeginAnew = true

    /// Makes a sink; what may block for long is written on a thread of its own.
    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        queue = descriptor.isRegularFile ? nil : BlockingQueue(label: "lade.output")
    }

    mutating func writeHead(_ response: Response) async throws(CommandError) {
        try await write(Data(response.head.utf8))
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
        if let error { throw .output(error) }
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

/// The standard output as a terminal: laid out, coloured, and harmless (CM-02).
struct TerminalSink: BodySink {
    private var pipe: PipeSink
    private let talk: LineLog
    private var text: TerminalText
    private let isColoured: Bool
    private let isText: Bool
    private var isFirst = true
    private(set) var isSated = false

    /// Makes a sink for an answer.
    ///
    /// - Parameters:
    ///   - console: Where it goes.
    ///   - contentType: What it is, and in which charset.
    init(_ console: Console, contentType: String?) {
        pipe = PipeSink(console.output)
        talk = console.talk
        isColoured = console.usesColour
        let charset = TextCharset(contentType: contentType)
        isText = charset.hasZeroBytes
        text = TerminalText(TerminalText.Kind(contentType: contentType, isColoured: isColoured), charset)
    }

    var canBeginAnew: Bool { isFirst && pipe.canBeginAnew }

    mutating func writeHead(_ response: Response) async throws(CommandError) {
        var plain = TerminalText(.plain)
        var shown = plain.text(of: Data(response.head.utf8)) + plain.end()
        if isColoured {
            let lines = shown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let coloured = lines.dropFirst().map(HeadColour.field)
            shown = ([HeadColour.status(lines[0], response.status)] + coloured).joined(separator: "\n")
        }
        try await pipe.write(Data(shown.utf8))
    }

    mutating func write(_ chunk: Data) async throws(CommandError) {
        // No text has a NUL; what has one would fill the screen with noise.
        if isFirst, !isText, chunk.contains(0) {
            isSated = true
            talk.write("lade: The answer is no text; -o FILE or a pipe takes it as it is.\n")
        }
        isFirst = false
        guard !isSated else { return }
        try await pipe.write(Data(text.text(of: chunk).utf8))
    }

    mutating func finish() async throws(CommandError) {
        try await pipe.write(Data(text.end().utf8))
    }
}
