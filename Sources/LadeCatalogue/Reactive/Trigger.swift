import Lade
import LadeCore

/// Makes signals by key, and activates all signals with a key.
///
/// ```swift
/// let trigger = Trigger()
/// let pages = try provider.pages(on: trigger.signal("shows")) { try $0.tvShows(.rts) }
/// for try await page in pages { render(page.items) }
/// trigger.activate("shows")   // when the user has scrolled to the end
/// ```
public final class Trigger: Sendable {
    private struct State {
        var signals: [(address: Address, id: UInt64, continuation: AsyncStream<Void>.Continuation)] = []
        var lastID: UInt64 = 0
    }

    private enum Address: Hashable, Sendable {
        case number(Int)
        case value(SendableAddress)
    }

    private struct SendableAddress: Hashable, @unchecked Sendable {
        // The initialisers accept only `Sendable` values.
        let value: AnyHashable
    }

    private let state = Locked(State())

    /// Makes a trigger without signals.
    public init() {}

    deinit {
        for signal in state.withLock({ $0.signals }) { signal.continuation.finish() }
    }

    /// Makes a signal; several signals can have the same key.
    ///
    /// Activations are buffered until the signal is read. The signal ends when the trigger is released, and never
    /// fails.
    public func signal(_ address: some Hashable & Sendable) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let address = Self.address(address)
        let id = state.withLock { state -> UInt64 in
            state.lastID += 1
            state.signals.append((address, state.lastID, continuation))
            return state.lastID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in state.signals.removeAll { $0.id == id } }
        }
        return stream.endingWithTask
    }

    /// Sends a value to each signal with a key.
    public func activate(_ address: some Hashable & Sendable) {
        let address = Self.address(address)
        for signal in state.withLock({ $0.signals }) where signal.address == address { signal.continuation.yield() }
    }

    private static func address(_ value: some Hashable & Sendable) -> Address {
        if let number = value as? Int { return .number(number) }
        return .value(SendableAddress(value: AnyHashable(value)))
    }
}
