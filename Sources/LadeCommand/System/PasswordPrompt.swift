import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Asks for a secret on the terminal without echoing the input.
///
/// The prompt opens the terminal directly, because the standard input is data and may not be a terminal.
struct PasswordPrompt: Sendable {
    /// The clean-ups at the end of the program, which restore the terminal's echo while the prompt waits.
    let interruption: Interruption

    /// Asks and waits for a line.
    ///
    /// - Parameters:
    ///   - question: The text of the prompt.
    ///   - advice: The advice for the error without a terminal.
    /// - Returns: The input.
    /// - Throws: A usage error without a terminal; the quiet error of an interruption when the task is cancelled.
    func ask(
        _ question: String,
        otherwise advice: String = "Give it as -u USER:PASSWORD."
    ) async throws(CommandError) -> Secret {
        let terminal: Descriptor
        do throws(SystemError) {
            terminal = try Descriptor.open("/dev/tty", O_RDWR)
        } catch {
            throw .usage("there is no terminal to read a password from", advice: advice)
        }
        // The terminal is not used again, so an error of closing it does not matter.
        defer { try? terminal.close() }
        var before = termios()
        guard tcgetattr(terminal.number, &before) == 0 else { throw .file("/dev/tty", "read", .last) }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        let restore: @Sendable () -> Void = { [before] in
            var before = before
            tcsetattr(terminal.number, TCSAFLUSH, &before)
        }
        let forget = interruption.cleanUp(restore)
        defer {
            restore()
            forget()
        }
        tcsetattr(terminal.number, TCSAFLUSH, &silent)
        let answer = await BlockingQueue(label: "lade.prompt").run { Self.line(from: terminal, after: question) }
        guard let answer else { throw .interrupted }
        return Secret(answer)
    }

    private static func line(from terminal: Descriptor, after question: String) -> String {
        var line: [UInt8] = []
        // A terminal that is closed while the user types ends the line like an end of file.
        try? terminal.write(question.utf8)
        while let chunk = try? terminal.read(upTo: 256), !chunk.isEmpty {
            line += chunk
            if line.last == UInt8(ascii: "\n") { break }
        }
        try? terminal.write("\n".utf8)
        return String(decoding: line.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}
