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
    /// Only a whole line counts, and it may be empty. A terminal that fails, is closed or reports its end gives no line.
    ///
    /// - Parameters:
    ///   - question: The text of the prompt.
    ///   - advice: The advice for the error without an input.
    /// - Returns: The input.
    /// - Throws: A usage error without a terminal, and without an input; the quiet error of an interruption when the task is
    ///   cancelled.
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
        // The system would stop a job in the background, or let it read nothing.
        guard tcgetpgrp(terminal.number) == getpgrp() else {
            throw .usage("a password cannot be read in the background", advice: advice)
        }
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
        guard tcsetattr(terminal.number, TCSAFLUSH, &silent) == 0 else { throw .file("/dev/tty", "read", .last) }
        let queue = BlockingQueue(label: "lade.prompt")
        let entry = await queue.run {
            Result { () throws(SystemError) in try Self.line(from: terminal, after: question) }
        }
        guard let entry else { throw .interrupted }
        // Why the terminal fails does not matter: nothing is sent.
        guard let line = (try? entry.get()) ?? nil else {
            throw .usage("the terminal gave no password", advice: advice)
        }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw .usage("the password is no text in UTF-8", advice: "Set the terminal to UTF-8.")
        }
        return Secret(text)
    }

    /// The bytes of a line, without its end; nil when the terminal ends before.
    static func line(from terminal: Descriptor, after question: String) throws(SystemError) -> [UInt8]? {
        try terminal.write(question.utf8)
        var line: [UInt8] = []
        while !line.contains(UInt8(ascii: "\n")) {
            let chunk = try terminal.read(upTo: 256)
            guard !chunk.isEmpty else { break }
            line += chunk
        }
        try terminal.write("\n".utf8)
        guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return Array(line[..<end].prefix { $0 != 0x0D })
    }
}
