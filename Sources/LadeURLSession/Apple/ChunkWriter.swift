import Foundation

/// The rest of the current chunk that a pipe has yet to write, and its waiter.
///
/// It decides and does not write: ``BoundStreamUpload`` carries out each step on its queue. A waiter ends exactly once: with true
/// when the pipe has all bytes of its chunk, with false when the other end is closed.
struct ChunkWriter<Waiter> {
    enum Step {
        /// Write some of these bytes, and report how many with ``wrote(_:)``.
        case write(Data)
        /// Nothing to do until the pipe has space or another chunk begins.
        case wait
        /// Resume the waiter.
        case end(Waiter, isAccepted: Bool)
    }

    private var pending: (rest: Data, waiter: Waiter)?
    private var isBroken = false

    /// Begins to write a chunk; the one before has ended.
    mutating func begin(_ chunk: Data, _ waiter: Waiter) {
        pending = (chunk, waiter)
    }

    /// The next step.
    mutating func next(hasSpace: Bool) -> Step {
        guard let (rest, waiter) = pending else { return .wait }
        if isBroken || rest.isEmpty {
            pending = nil
            return .end(waiter, isAccepted: !isBroken)
        }
        return hasSpace ? .write(rest) : .wait
    }

    /// Records how many bytes the pipe took; zero and less mean that its other end is closed.
    mutating func wrote(_ count: Int) {
        guard count > 0 else { return breakOff() }
        pending?.rest.removeFirst(count)
    }

    /// Ends the current chunk and all later ones.
    mutating func breakOff() {
        isBroken = true
    }
}
