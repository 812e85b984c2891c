#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A system call that failed.
struct SystemError: Error, Equatable {
    /// The error number of the system.
    var number: Int32

    /// The error of the last system call on this thread.
    static var last: SystemError { SystemError(number: errno) }

    /// The system's description of the error.
    var reason: String { String(cString: strerror(number)) }
}

/// A file descriptor, read and written with plain system calls.
struct Descriptor: Sendable, Equatable {
    static let standardInput = Descriptor(number: 0)
    static let standardOutput = Descriptor(number: 1)
    static let standardError = Descriptor(number: 2)

    /// The number of the descriptor.
    let number: Int32

    /// Opens placeholders for standard descriptors that were closed when the program started.
    ///
    /// Otherwise the next file or socket would get such a number and receive the text meant for the user. A placeholder
    /// fails in the same way as a closed descriptor. Call this method before anything is opened.
    static func reserveStandard() {
        for (number, flags) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDWR)] where fcntl(number, F_GETFD) < 0 {
            // The system gives out the lowest free number, which the closed descriptor had.
            _ = systemOpen("/dev/null", flags, 0)
        }
    }

    /// Whether the descriptor is a terminal.
    var isTerminal: Bool { isatty(number) == 1 }

    /// The number of columns of the terminal; nil for anything else, and for a terminal without a size.
    var columns: Int? {
        var size = winsize()
        return ioctl(number, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// Whether the descriptor is a pipe that has bytes to read now.
    var hasPipedBytes: Bool {
        var status = stat()
        var descriptor = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
            && poll(&descriptor, 1, 0) == 1 && descriptor.revents & Int16(POLLIN) != 0
    }

    /// Whether the descriptor is a file on a disk, where writing never blocks for long.
    var isRegularFile: Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Writes all bytes, and waits as long as necessary.
    func write(_ bytes: some Sequence<UInt8>) throws(SystemError) {
        let error = bytes.withContiguousStorageIfAvailable(writeAll) ?? Array(bytes).withUnsafeBufferPointer(writeAll)
        if let error { throw error }
    }

    // `withContiguousStorageIfAvailable` takes no closure with a typed error, so the error is returned as the result.
    private func writeAll(_ bytes: UnsafeBufferPointer<UInt8>) -> SystemError? {
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = systemWrite(number, rest)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                // Another process that shares the descriptor made it non-blocking.
                wait(for: Int16(POLLOUT))
            } else if errno != EINTR {
                return .last
            }
        }
        return nil
    }

    /// Reads the available bytes, waiting for at least one; empty at the end.
    func read(upTo limit: Int) throws(SystemError) -> Data {
        var buffer = [UInt8](repeating: 0, count: limit)
        while true {
            let count = buffer.withUnsafeMutableBytes { systemRead(number, $0) }
            if count >= 0 { return Data(buffer[..<count]) }
            if errno == EAGAIN {
                wait(for: Int16(POLLIN))
            } else if errno != EINTR {
                throw .last
            }
        }
    }

    private func wait(for events: Int16) {
        var descriptor = pollfd(fd: number, events: events, revents: 0)
        _ = poll(&descriptor, 1, -1)
    }

    /// Opens a file.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o666) throws(SystemError) -> Descriptor {
        let number = systemOpen(path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw .last }
        return Descriptor(number: number)
    }

    /// Truncates the file and moves to its beginning.
    func clear() throws(SystemError) {
        guard ftruncate(number, 0) == 0, lseek(number, 0, SEEK_SET) == 0 else { throw .last }
    }

    /// Closes the descriptor; some file systems report failed writes only now.
    func close() throws(SystemError) {
        guard systemClose(number) == 0 else { throw .last }
    }
}

// These functions are called from methods that have the same names.

private func systemWrite(_ number: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(number, bytes.baseAddress, bytes.count)
}

private func systemRead(_ number: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    read(number, bytes.baseAddress, bytes.count)
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    open(path, flags, mode)
}

private func systemClose(_ number: Int32) -> Int32 {
    close(number)
}
