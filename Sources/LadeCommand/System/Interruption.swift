import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Cancels the program's task when a signal asks the program to end.
///
/// The signals are blocked in every thread and awaited on the main thread, so no code runs inside a signal handler. The
/// first signal cancels the task, which cleans up after itself. A second signal, and the first SIGQUIT, runs the
/// registered clean-ups and ends the program immediately.
final class Interruption: Sendable {
    private struct State {
        var signal: Int32?
        var cancel: (@Sendable () -> Void)?
        var cleanUps: [Int: @Sendable () -> Void] = [:]
        var lastKey = 0
    }

    private let state = Locked(State())

    /// The exit status by the convention of shells, 128 plus the signal's number; nil before a signal.
    var exitStatus: Int32? {
        state.withLock { $0.signal }.map { 128 + $0 }
    }

    /// Blocks the signals in this thread and in all threads that it starts.
    ///
    /// Call it on the main thread before any other thread exists.
    func block() {
        // Writing to a closed pipe then fails with an error of `write` instead.
        signal(SIGPIPE, SIG_IGN)
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Waits for signals until the program ends.
    ///
    /// The main thread must call this method instead of serving the main queue, which would unblock the signals.
    func wait() -> Never {
        // With no signals to wait for, `sigwait` would return immediately, in an endless loop.
        while Self.heeded.isEmpty { pause() }
        var signals = Self.signals
        while true {
            var number: Int32 = 0
            if sigwait(&signals, &number) == 0 { receive(number) }
        }
    }

    /// Sets the closure that the first signal calls; calls it immediately if the signal has already arrived.
    func onSignal(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.signal != nil
        }
        if isLate { cancel() }
    }

    /// Registers work for the case that the program ends immediately, and returns a closure that removes it.
    func cleanUp(_ work: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let key = state.withLock { state in
            state.lastKey += 1
            state.cleanUps[state.lastKey] = work
            return state.lastKey
        }
        return { [state] in state.withLock { $0.cleanUps[key] = nil } }
    }

    private func receive(_ number: Int32) {
        let (isFirst, cancel, cleanUps) = state.withLock { state in
            defer { state.signal = state.signal ?? number }
            return (state.signal == nil && number != SIGQUIT, state.cancel, Array(state.cleanUps.values))
        }
        if isFirst {
            cancel?()
        } else {
            for cleanUp in cleanUps { cleanUp() }
            _exit(128 + number)
        }
    }

    /// The signals that ask the program to end, without those it was started to ignore.
    ///
    /// With SIGQUIT left to the Swift runtime, a debug build would print a crash report and continue.
    private static let heeded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !isIgnored($0) }

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in heeded { sigaddset(&signals, number) }
        return signals
    }

    /// Whether the program was started with the signal ignored, as with `nohup` or as a shell's background job.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
