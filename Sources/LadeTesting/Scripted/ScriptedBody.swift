#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A streaming body that follows the steps of a ``ScriptedResponse``, one reader at a time.
final class ScriptedBody: Response.Body.Source {
    private struct State {
        var steps: ArraySlice<ScriptedResponse.Step>
        var received: Int64 = 0
        var ending: Result<Void, LoadingError>?
    }

    private let state: Watched<State>
    private let request: Request
    private let call: Call
    private let finalTrailers: Headers
    private let begunWith: Response.Metrics
    /// When the exchange must have ended; nil for no limit.
    private let limit: Instant?
    private let onCancel: @Sendable () -> Void

    init(
        _ response: ScriptedResponse,
        request: Request,
        call: Call,
        metrics: Response.Metrics,
        limit: Instant?,
        onCancel: @escaping @Sendable () -> Void
    ) {
        state = Watched(State(steps: response.steps[...]))
        self.request = request
        self.call = call
        finalTrailers = response.trailers
        begunWith = metrics
        self.limit = limit
        self.onCancel = onCancel
    }

    var trailers: Headers {
        state.read { state in
            if case .success = state.ending { finalTrailers } else { Headers() }
        }
    }

    var metrics: Response.Metrics {
        var metrics = begunWith
        let received = state.read(\.received)
        metrics.responseBodyBytes = received
        metrics.decodedBodyBytes = received
        return metrics
    }

    func next() async throws(LoadingError) -> Data? {
        while true {
            if Task.isCancelled { cancel() }
            let step = try state.change { state -> Result<ScriptedResponse.Step?, LoadingError> in
                if let ending = state.ending { return ending.map { nil } }
                return .success(state.steps.popFirst())
            }.get()
            if step != nil, let limit, call.time.now > limit {
                throw end(LoadingError(.timedOut(.whole), LoadingError.Context(request)))
            }
            switch step {
            case .bytes(let bytes):
                guard !bytes.isEmpty else { continue }
                state.change { $0.received += Int64(bytes.count) }
                return bytes
            case .wait(let duration):
                let time = call.time
                let limit = limit
                try await untilCancelled([{ await TimedWait.sleep(for: duration, limit, time) }])
            case .signal(let signal):
                let time = call.time
                let limit = limit
                try await untilCancelled([
                    { await TimedWait.run(limit, time) { () async throws(LoadingError) in try await signal.wait() } }
                ])
            case .stall:
                try await untilCancelled(limit.map(sleepToLimit).map { [$0] } ?? [])
            case .fail(let error):
                throw end(error.completed(with: request))
            case nil:
                finish()
                return nil
            }
        }
    }

    func cancel() {
        let wasRunning = state.change { state in
            guard state.ending == nil else { return false }
            state.ending = .failure(LoadingError(.cancelled, LoadingError.Context(request)))
            return true
        }
        guard wasRunning else { return }
        call.record(.exchangeFailed(LoadingError(.cancelled, LoadingError.Context(request)), metrics))
        onCancel()
    }

    private func finish() {
        let isFirst = state.change { state in
            defer { state.ending = state.ending ?? .success(()) }
            return state.ending == nil
        }
        if isFirst { call.record(.exchangeFinished(metrics)) }
    }

    private func end(_ error: LoadingError) -> LoadingError {
        let isFirst = state.change { state in
            defer { state.ending = state.ending ?? .failure(error) }
            return state.ending == nil
        }
        if isFirst { call.record(.exchangeFailed(error, metrics)) }
        return error
    }

    private var timeout: LoadingError { LoadingError(.timedOut(.whole), LoadingError.Context(request)) }

    private func sleepToLimit(_ limit: Instant) -> @Sendable () async -> TimedWait.Ending {
        let time = call.time
        return {
            // A wait that lasted to the limit is the time-out.
            await TimedWait.sleep(for: max(.zero, time.now.duration(to: limit)), nil, time) == .done
                ? .timedOut : .cancelled
        }
    }

    /// Waits for `waits` (forever without any), the end of the task, or ``cancel()``, whichever comes first.
    private func untilCancelled(
        _ waits: [@Sendable () async -> TimedWait.Ending]
    ) async throws(LoadingError) {
        let state = self.state
        let time = call.time
        let outcome = await withTaskGroup(of: TimedWait.Ending.self) { group in
            for wait in waits { group.addTask { await wait() } }
            group.addTask {
                await TimedWait.run(nil, time) { () async throws(LoadingError) in
                    try await state.value { $0.ending == nil ? nil : () }
                }
            }
            let first = await group.next() ?? .cancelled
            group.cancelAll()
            return first
        }
        switch outcome {
        case .done: break
        case .timedOut: throw end(LoadingError(.timedOut(.whole), LoadingError.Context(request)))
        case .cancelled: cancel()
        }
    }
}
