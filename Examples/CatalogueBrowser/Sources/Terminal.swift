import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The terminal in raw mode, with the screen of full-window programs.
struct Terminal: Sendable {
    /// What happens to the terminal or to the program.
    enum Event: Sendable {
        case bytes([UInt8])
        /// The terminal is closed.
        case end
        /// The window has another size.
        case resized
        /// A signal asks the program to end.
        case signal(Int32)
    }

    private let before: termios
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH]

    /// Whether input and output are a terminal that can show full-window programs.
    static var isUsable: Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
    }

    /// Turns the signals that end the program, and that of a new window size, into events.
    ///
    /// A handler is needed: serving the main queue unblocks all signals in the main thread on Linux, so that they cannot
    /// be awaited by another thread.
    static func catchSignals() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        (signalReader, signalWriter) = (ends[0], ends[1])
        for number in signals {
            signal(number) { number in
                // The handler interrupts other code, which may be about to read its error number.
                let error = errno
                var byte = UInt8(truncatingIfNeeded: number)
                withUnsafeBytes(of: &byte) { _ = systemWrite(signalWriter, $0) }
                errno = error
            }
        }
    }

    /// Switches to raw mode and clears the screen; nil when the terminal does not allow it.
    init?() {
        var current = termios()
        guard tcgetattr(STDIN_FILENO, &current) == 0 else { return nil }
        before = current
        cfmakeraw(&current)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &current) == 0 else { return nil }
        // The alternate screen keeps what the terminal showed before; the cursor is hidden.
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
    }

    /// Restores the terminal as it was.
    func restore() {
        write("\u{1B}[?25h\u{1B}[?1049l")
        var settings = before
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// The size of the window.
    var size: Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Writes a text to the terminal.
    func write(_ text: String) { Self.write(text, to: STDOUT_FILENO) }

    /// Writes a text to a file descriptor.
    static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = systemWrite(descriptor, rest)
                if count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno != EINTR {
                    // A closed terminal also ends the input, which ends the program.
                    return
                }
            }
        }
    }

    /// What the user types, and the signals; two threads wait for them until the program ends.
    func events() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        DispatchQueue(label: "input").async {
            var buffer = [UInt8](repeating: 0, count: 1_024)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                continuation.yield(.bytes(Array(buffer[..<count])))
            }
            continuation.yield(.end)
        }
        DispatchQueue(label: "signals").async {
            var number: UInt8 = 0
            while true {
                let count = read(signalReader, &number, 1)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                continuation.yield(Int32(number) == SIGWINCH ? .resized : .signal(Int32(number)))
            }
        }
        return stream
    }
}

// The pipe from the signal handler to the thread that waits for signals. Both are set before the handler is installed,
// and never again.
nonisolated(unsafe) private var signalReader: Int32 = -1
nonisolated(unsafe) private var signalWriter: Int32 = -1

// The function is called from a method that has the same name.
private func systemWrite(_ number: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(number, bytes.baseAddress, bytes.count)
}
