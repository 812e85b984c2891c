public import LadeCore

/// Delivers the elements of one sequence, made by a task of its own, in the way of an operator.
///
/// The task is cancelled when the stream is released or its reader is cancelled.
private func stream<Element: Sendable>(
    _ produce: @escaping @Sendable (AsyncThrowingStream<Element, any Error>.Continuation) async throws -> Void
) -> AsyncThrowingStream<Element, any Error> {
    AsyncThrowingStream { continuation in
        // Owned by the stream, by what happens on its termination.
        let task = Task {
            do {
                try await produce(continuation)
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
    }
}

/// A sequence as often as a signal says, the latest run alone.
///
/// - Parameters:
///   - signal: Each of its values starts a new run and cancels the one before. Nil ends the output without a run, or after
///     the first run with `immediately`.
///   - immediately: Whether a first run starts without waiting for the signal; it does not by default.
///   - make: Makes the sequence of a run.
/// - Returns: What the runs deliver. A failure of a run ends it.
public func publish<Base: AsyncSequence & Sendable>(
    on signal: AsyncStream<Void>?,
    immediately: Bool = false,
    _ make: @escaping @Sendable () throws -> Base
) -> AsyncThrowingStream<Base.Element, any Error> where Base.Element: Sendable {
    stream { output in
        let run: @Sendable () async throws -> Void = {
            for try await element in try make() {
                guard !Task.isCancelled else { return }
                output.yield(element)
            }
        }
        guard let signal else {
            if immediately { try await run() }
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let latest = Locked<Task<Void, Never>?>(nil)
            let start: @Sendable () -> Void = {
                // Owned by `latest`, which cancels it for the next one, and at the end of the scope.
                let task = Task {
                    do {
                        try await run()
                    } catch {
                        // A run that was replaced fails by being cancelled, which is no failure of the output.
                        guard !Task.isCancelled else { return }
                        output.finish(throwing: error)
                    }
                }
                latest.withLock { current in
                    defer { current = task }
                    return current
                }?.cancel()
            }
            if immediately { start() }
            group.addTask {
                for await _ in signal { start() }
                // The last run may go on after the signal.
                await latest.withLock { $0 }?.value
            }
            try await withTaskCancellationHandler {
                try await group.waitForAll()
            } onCancel: {
                latest.withLock { $0 }?.cancel()
            }
        }
    }
}

/// The latest elements of several sequences together, each time one of them delivers, once all of them have.
///
/// - Returns: Arrays in the order of the sequences; one empty array for no sequences. It ends when all of them have ended,
///   and with the first failure.
public func accumulateLatest<Base: AsyncSequence & Sendable>(
    _ sequences: [Base]
) -> AsyncThrowingStream<[Base.Element], any Error> where Base.Element: Sendable {
    stream { output in
        guard !sequences.isEmpty else {
            output.yield([])
            return
        }
        let latest = Locked<[Base.Element?]>(Array(repeating: nil, count: sequences.count))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, sequence) in sequences.enumerated() {
                group.addTask {
                    for try await element in sequence {
                        // Under the lock, so that no older array follows a newer one; the stream only keeps it.
                        latest.withLock { latest in
                            latest[index] = element
                            let all = latest.compactMap { $0 }
                            if all.count == latest.count { output.yield(all) }
                        }
                    }
                }
            }
            // The first failure ends the others, too.
            for try await _ in group {}
        }
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// The sequence, walked only once a signal has a value; nothing when the signal ends before.
    public func waiting(for signal: AsyncStream<Void>) -> AsyncThrowingStream<Element, any Error> {
        stream { output in
            for await _ in signal {
                for try await element in self { output.yield(element) }
                return
            }
        }
    }

    /// The first element immediately, and of the others each one that no other follows within a time.
    ///
    /// - Parameters:
    ///   - duration: The time without another element.
    ///   - time: Where the time comes from.
    /// - Returns: The elements; a waiting one is delivered when the sequence ends.
    public func debouncedAfterFirst(
        _ duration: Duration,
        time: any TimeSource = SystemTime()
    ) -> AsyncThrowingStream<Element, any Error> {
        stream { output in
            let pending = Locked<(element: Element?, timer: Task<Void, Never>?)>((nil, nil))
            let flush: @Sendable () -> Void = {
                let element = pending.withLock { pending in
                    defer { pending.element = nil }
                    return pending.element
                }
                if let element { output.yield(element) }
            }
            try await withTaskCancellationHandler {
                var isFirst = true
                for try await element in self {
                    if isFirst {
                        isFirst = false
                        output.yield(element)
                        continue
                    }
                    pending.withLock { $0.timer }?.cancel()
                    // Owned by `pending`, until it fires or is replaced.
                    let timer = Task {
                        // It throws when another element came.
                        guard (try? await time.sleep(for: duration)) != nil, !Task.isCancelled else { return }
                        flush()
                    }
                    pending.withLock { $0 = (element, timer) }
                }
                pending.withLock { $0.timer }?.cancel()
                flush()
            } onCancel: {
                pending.withLock { $0.timer }?.cancel()
            }
        }
    }
}
