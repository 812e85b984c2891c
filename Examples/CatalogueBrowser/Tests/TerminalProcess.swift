#if os(Linux)
    import Foundation
    import LadeCore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    @testable import CatalogueBrowser
    @testable import LadeTesting

    /// The text of a terminal, made from the control sequences that the browser writes.
    struct ScreenText: Sendable {
        private(set) var rows: [[Character]] = []
        /// Whether the screen of full-window programs is shown.
        private(set) var isAlternate = false
        private(set) var isCursorHidden = false
        private var row = 0
        private var column = 0
        private var pending = ""

        /// The lines without trailing spaces.
        var lines: [String] {
            rows.map { row in String(String(row).reversed().drop { $0 == " " }.reversed()) }
        }

        mutating func write(_ text: String) {
            pending += text
            while let character = pending.first {
                guard character == "\u{1B}" else {
                    pending.removeFirst()
                    put(character)
                    continue
                }
                guard let end = pending.dropFirst(2).firstIndex(where: { $0.isLetter }) else { return }
                control(pending[pending.index(pending.startIndex, offsetBy: 2)..<end], pending[end])
                pending.removeSubrange(...end)
            }
        }

        private mutating func put(_ character: Character) {
            guard character != "\r", character != "\n", character != "\r\n" else { return }
            while rows.count <= row { rows.append([]) }
            while rows[row].count <= column { rows[row].append(" ") }
            rows[row][column] = character
            column += 1
        }

        private mutating func control(_ parameters: Substring, _ name: Character) {
            switch name {
            case "H":
                let numbers = parameters.split(separator: ";").compactMap { Int($0) }
                (row, column) = ((numbers.first ?? 1) - 1, (numbers.count > 1 ? numbers[1] : 1) - 1)
            case "J": rows = []
            case "K" where row < rows.count: rows[row] = Array(rows[row].prefix(column))
            case "h", "l":
                if parameters == "?1049" { isAlternate = name == "h" }
                if parameters == "?25" { isCursorHidden = name == "l" }
            default: break
            }
        }
    }

    /// The built browser on a pseudo-terminal of its own.
    final class TerminalProcess: Sendable {
        private struct State {
            var screen = ScreenText()
            var status: Int32?
        }

        private let state = Watched(State())
        private let master: Int32
        private let child: pid_t

        /// The program that the tests were built with.
        static let path: String = {
            let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            return URL(fileURLWithPath: bundle).deletingLastPathComponent().path + "/CatalogueBrowser"
        }()

        /// Starts the browser in a window of a size.
        ///
        /// - Parameters:
        ///   - arguments: The arguments.
        ///   - size: The size of the window.
        ///   - term: The kind of terminal.
        ///   - output: A file for the standard output; by default it is the terminal as well.
        /// - Throws: `CocoaError` when there is no pseudo-terminal, or the browser cannot be started.
        init(
            _ arguments: [String],
            _ size: Size = Size(columns: 80, rows: 24),
            term: String = "xterm",
            output: String? = nil
        ) throws {
            master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            // The functions for this are hidden from Swift; these are the requests they make.
            var unlocked: Int32 = 0
            var number: Int32 = 0
            let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
            guard master >= 0, ioctl(master, setLock, &unlocked) == 0, ioctl(master, getNumber, &number) == 0 else {
                throw CocoaError(.fileReadUnknown)
            }
            Self.setSize(size, of: master)
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            // The first terminal that the leader of a session opens becomes its controlling terminal. The leader
            // receives the terminal's signals, such as that of a new size.
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/pts/\(number)", O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
            if let output { posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY, 0) }
            // A pipe of another test that the browser keeps open would not end before the browser does. It does not
            // matter which of these descriptors are open.
            for descriptor: Int32 in 3..<1_024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            let newSession: Int16 = 0x80
            posix_spawnattr_setflags(&attributes, newSession)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                posix_spawnattr_destroy(&attributes)
            }
            var words = Self.pointers([Self.path] + arguments)
            var variables = Self.pointers(["TERM=\(term)", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"])
            defer { for pointer in words + variables { free(pointer) } }
            var child = pid_t()
            let failure = posix_spawn(&child, Self.path, &actions, &attributes, &words, &variables)
            guard failure == 0 else { throw CocoaError(.executableLoad) }
            self.child = child
            Thread { [state, master, child] in
                var buffer = [UInt8](repeating: 0, count: 64 << 10)
                var rest: [UInt8] = []
                while true {
                    let count = read(master, &buffer, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    // A terminal whose other side is closed fails.
                    guard count > 0 else { break }
                    rest += buffer[..<count]
                    // A character may be divided between two reads.
                    let end = rest.lastIndex { $0 & 0xC0 != 0x80 } ?? 0
                    let isWhole = String(validating: rest[end...], as: UTF8.self) != nil
                    let text = String(decoding: isWhole ? rest[...] : rest[..<end], as: UTF8.self)
                    rest = isWhole ? [] : Array(rest[end...])
                    state.change { $0.screen.write(text) }
                }
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
                let signal = status & 0x7F
                state.change { $0.status = signal == 0 ? status >> 8 & 0xFF : 128 + signal }
            }.start()
        }

        deinit {
            kill(child, SIGKILL)
            close(master)
        }

        /// Copies of texts for C, ended by a null pointer.
        private static func pointers(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
            var pointers: [UnsafeMutablePointer<CChar>?] = []
            for text in texts { pointers.append(strdup(text)) }
            return pointers + [nil]
        }

        private static func setSize(_ size: Size, of terminal: Int32) {
            var window = winsize()
            (window.ws_col, window.ws_row) = (UInt16(size.columns), UInt16(size.rows))
            _ = ioctl(terminal, UInt(TIOCSWINSZ), &window)
        }

        /// Types a text.
        func type(_ text: String) { Terminal.write(text, to: master) }

        /// Changes the size of the window.
        func resize(_ size: Size) { Self.setSize(size, of: master) }

        /// Sends a signal.
        func send(_ signal: Int32) { kill(child, signal) }

        /// Waits until the screen satisfies a condition.
        ///
        /// - Returns: The lines of the screen.
        @discardableResult
        func screen(where condition: @escaping @Sendable ([String]) -> Bool) async throws -> [String] {
            try await state.value { state in
                let lines = state.screen.lines
                return condition(lines) || state.status != nil ? lines : nil
            }
        }

        /// Waits until the screen shows a text.
        @discardableResult
        func screen(showing text: String) async throws -> [String] {
            try await screen { lines in lines.contains { $0.contains(text) } }
        }

        /// Waits for the end of the program.
        func end() async throws -> (status: Int32, screen: ScreenText) {
            try await state.value { state in state.status.map { ($0, state.screen) } }
        }
    }
#endif
