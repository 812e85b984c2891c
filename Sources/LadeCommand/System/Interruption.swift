import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Turns signals that ask the program to end into the cancelling of its task.
///
/// The signals are blocked in every thread and waited for on the main one, so nothing ever runs inside a signal
/// handler. The first signal cancels the task, which cleans up after itself; a second one ends the program at once,
/// after the clean-ups that were left here.
final class Interruption: Sendable {
    private struct State {
        var signal: Int32?
        var cancel: (@Sendable () -> Void)?
        var cleanUps: [Int: @Sendable () -> Void] = [:]
        var lastKey = 0
    }

    private let state = Locked(State())

    /// The exit status of a shell's convention, 128 and the signal's number, once a signal has come.
    var exitStatus: Int32? {
        state.withLock { $0.signal }.map { 128 + $0 }
    }

    /// Blocks the signals in this thread and all that it starts.
    ///
    /// Call it on the main thread before any other exists.
    func block() {
        // A pipe that nobody reads shows as an error of `write` instead.
        signal(SIGPIPE, SIG_IGN)
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Waits for the signals for as long as the program lives.
    ///
    /// The main thread must do this and not serve the main queue, which would let the signals through again.
    func wait() -> Never {
        // With nothing to wait for, `sigwait` would return at once, for ever.
        while Self.heeded.isEmpty { pause() }
        var signals = Self.signals
        while true {
            var number: Int32 = 0
            if sigwait(&signals, &number) == 0 { receive(number) }
        }
    }

    /// Sets what the first signal cancels; cancels it at once if the signal has already come.
    func onSignal(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.signal != nil
        }
        if isLate { cancel() }
    }

    /// Leaves something to be done should the program have to end at once, and returns how to take it back.
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
            return (state.signal == nil, state.cancel, Array(state.cleanUps.values))
        }
        if isFirst {
            cancel?()
        } else {
            for cleanUp in cleanUps { cleanUp() }
            _exit(128 + number)
        }
    }

    /// The signals that ask the program to end and that nobody has told it to ignore.
    private static let heeded = [SIGINT, SIGTERM, SIGHUP].filter { !isIgnored($0) }

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in heeded { sigaddset(&signals, number) }
        return signals
    }

    /// Whether whoever started us wants the signal ignored, as `nohup` does and shells do for jobs in the background.
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
