public import LadeCore

/// Makes a stream from a sequence that a separate task iterates.
///
/// The task is cancelled when the stream is released or its reader is cancelled, which ends the stream immediately.
private func stream<Element: Sendable>(
    _ produce: @escaping @Sendable (AsyncThrowingStream<Element, any Error>.Continuation) async throws -> Void
) -> AsyncThrowingStream<Element, any Error> {
    AsyncThrowingStream { continuation in
        // Owned by the stream, whose termination cancels it.
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
    .endingWithTask
}

/// Runs a sequence each time a signal has a value, and delivers only the latest run.
///
/// - Parameters:
///   - signal: Each value starts a new run and cancels the previous one. If nil, the output is empty, or a single run
///     with `immediately`.
///   - immediately: Whether the first run starts without a signal; false by default.
///   - make: Makes the sequence for a run.
/// - Returns: The elements of the runs. The failure of a run ends the output.
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
            // The latest run, and whether the output has been cancelled, after which no run starts.
            let latest = Locked<(run: Task<Void, Never>?, isCancelled: Bool)>((nil, false))
            let start: @Sendable () -> Void = {
                // Owned by `latest`, which cancels it before the next run and at the end of the scope.
                let task = Task {
                    do {
                        try await run()
                    } catch {
                        // A replaced run fails because it was cancelled, which is not a failure of the output.
                        guard !Task.isCancelled else { return }
                        output.finish(throwing: error)
                    }
                }
                latest.withLock { latest -> Task<Void, Never>? in
                    guard !latest.isCancelled else { return task }
                    defer { latest.run = task }
                    return latest.run
                }?.cancel()
            }
            if immediately { start() }
            group.addTask {
                for await _ in signal { start() }
                // The last run may continue after the signal has ended.
                await latest.withLock { $0.run }?.value
            }
            try await withTaskCancellationHandler {
                try await group.waitForAll()
            } onCancel: {
                latest.withLock { latest in
                    latest.isCancelled = true
                    return latest.run
                }?.cancel()
            }
        }
    }
}

/// Combines the latest elements of several sequences, from the time when each has delivered one.
///
/// - Returns: An array in the order of the sequences after each new element; a single empty array for no sequences. The
///   output ends when all sequences have ended, or with the first failure.
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
                        // Yielding under the lock ensures that no older array follows a newer one; the stream only
                        // buffers it.
                        latest.withLock { latest in
                            latest[index] = element
                            let all = latest.compactMap { $0 }
                            if all.count == latest.count { output.yield(all) }
                        }
                    }
                }
            }
            // The first failure also ends the other sequences.
            for try await _ in group {}
        }
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// The sequence, iterated after the first value of a signal; empty when the signal ends without one.
    public func waiting(for signal: AsyncStream<Void>) -> AsyncThrowingStream<Element, any Error> {
        stream { output in
            for await _ in signal {
                for try await element in self { output.yield(element) }
                return
            }
        }
    }

    /// Delivers the first element immediately, and each later one when no other follows within a time.
    ///
    /// - Parameters:
    ///   - duration: The time without another element.
    ///   - time: The clock.
    /// - Returns: The elements; a delayed element is delivered when the sequence ends.
    public func debouncedAfterFirst(
        _ duration: Duration,
        time: any TimeSource = SystemTime()
    ) -> AsyncThrowingStream<Element, any Error> {
        stream { output in
            // The element that waits, its number, and its timer.
            let pending = Locked<(element: Element?, number: Int, timer: Task<Void, Never>?)>((nil, 0, nil))
            let flush: @Sendable (_ number: Int) -> Void = { number in
                let element = pending.withLock { pending -> Element? in
                    // A timer that is replaced when it fires must not deliver the element after its own.
                    guard pending.number == number else { return nil }
                    defer { pending.element = nil }
                    return pending.element
                }
                if let element { output.yield(element) }
            }
            defer { pending.withLock { $0.timer }?.cancel() }
            var number = 0
            for try await element in self {
                number += 1
                guard number > 1 else {
                    output.yield(element)
                    continue
                }
                // The element is stored before its timer starts, which may fire immediately.
                pending.withLock { [number] pending in
                    defer { pending = (element, number, nil) }
                    return pending.timer
                }?
                .cancel()
                // Owned by `pending`, until the timer fires or is replaced.
                let timer = Task { [number] in
                    // The sleep throws when another element has arrived.
                    guard (try? await time.sleep(for: duration)) != nil, !Task.isCancelled else { return }
                    flush(number)
                }
                pending.withLock { $0.timer = timer }
            }
            flush(number)
        }
    }
}
