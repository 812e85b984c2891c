#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A streaming body that follows the steps of a ``ScriptedAnswer``, one reader at a time.
final class ScriptedBody: ResponseBodySource {
    private struct State {
        var steps: ArraySlice<ScriptedAnswer.Step>
        var received: Int64 = 0
        var ending: Result<Void, LoadingError>?
    }

    private let state: Watched<State>
    private let request: Request
    private let call: Call
    private let finalTrailers: Headers
    private let begunWith: Metrics
    private let onCancel: @Sendable () -> Void

    init(
        _ answer: ScriptedAnswer,
        request: Request,
        call: Call,
        metrics: Metrics,
        onCancel: @escaping @Sendable () -> Void
    ) {
        state = Watched(State(steps: answer.steps[...]))
        self.request = request
        self.call = call
        finalTrailers = answer.trailers
        begunWith = metrics
        self.onCancel = onCancel
    }

    var trailers: Headers {
        state.read { state in
            if case .success = state.ending { finalTrailers } else { Headers() }
        }
    }

    var metrics: Metrics {
        var metrics = begunWith
        let received = state.read(\.received)
        metrics.responseBodyBytes = received
        metrics.decodedBodyBytes = received
        return metrics
    }

    func next() async throws(LoadingError) -> Data? {
        while true {
            if Task.isCancelled { cancel() }
            let step = try state.change { state -> Result<ScriptedAnswer.Step?, LoadingError> in
                if let ending = state.ending { return ending.map { nil } }
                return .success(state.steps.popFirst())
            }.get()
            switch step {
            case .bytes(let bytes):
                guard !bytes.isEmpty else { continue }
                state.change { $0.received += Int64(bytes.count) }
                return bytes
            case .wait(let duration):
                let time = call.time
                try await untilCancelled { () async throws(LoadingError) in try await time.sleep(for: duration) }
            case .signal(let signal):
                try await untilCancelled { () async throws(LoadingError) in try await signal.wait() }
            case .stall:
                try await untilCancelled(nil)
            case .fail(let error):
                throw end(error.withContext(of: request))
            case nil:
                finish()
                return nil
            }
        }
    }

    func cancel() {
        let wasRunning = state.change { state in
            guard state.ending == nil else { return false }
            state.ending = .failure(.cancelled(ErrorContext(request)))
            return true
        }
        guard wasRunning else { return }
        call.record(.exchangeFailed(.cancelled(ErrorContext(request)), metrics))
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
        state.change { $0.ending = $0.ending ?? .failure(error) }
        call.record(.exchangeFailed(error, metrics))
        return error
    }

    /// Waits for `wait` (for ever when nil), the end of the task, or ``cancel()``, whichever comes first.
    private func untilCancelled(_ wait: (@Sendable () async throws(LoadingError) -> Void)?) async throws(LoadingError) {
        let state = self.state
        let ended: @Sendable () async throws(LoadingError) -> Void = { () async throws(LoadingError) in
            try await state.value { $0.ending == nil ? nil : () }
        }
        guard let wait else {
            do throws(LoadingError) { try await ended() } catch { cancel() }
            return
        }
        let didThrow = await withTaskGroup(of: Bool.self) { group in
            for body in [wait, ended] {
                group.addTask {
                    do throws(LoadingError) {
                        try await body()
                        return false
                    } catch {
                        return true
                    }
                }
            }
            let first = await group.next() ?? true
            group.cancelAll()
            return first
        }
        // A wait throws only when the task was cancelled.
        if didThrow { cancel() }
    }
}

extension LoadingError {
    /// The error with the request's context, unless it has one.
    func withContext(of request: Request) -> LoadingError {
        guard context.method == nil else { return self }
        var copy = self
        var context = ErrorContext(request)
        context.status = copy.context.status
        context.headers = copy.context.headers
        context.body = copy.context.body
        context.attempts = copy.context.attempts
        context.detail = copy.context.detail
        copy.context = context
        return copy
    }
}
