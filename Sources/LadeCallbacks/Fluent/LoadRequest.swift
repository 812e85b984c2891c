#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// A request that is configured step by step, and sent when its first handler is attached or it is first awaited.
///
/// ```swift
/// loader.request(showURL)
///     .modify { $0.headers["Accept"] = "application/json" }
///     .responseDecodable(Show.self) { outcome in display(outcome.result) }
/// ```
///
/// The request is sent once, however many handlers it has. Each handler is called once, in the order of attachment. A
/// handler that is attached after the end is scheduled immediately. After a cancellation, handlers receive
/// `LoadingError.Kind.cancelled`, also when the loader is released before the end. Builders return the same object.
/// In new code, prefer `load(_:)` with an `Endpoint`, which is shorter.
public final class LoadRequest: Sendable {
    /// Checks a response, and throws when it is not acceptable.
    public typealias Validator = @Sendable (Response) throws -> Void

    private struct Ended {
        var response: Response?
        var error: (any Error)?
    }

    private typealias Handler = @Sendable (LoadRequest, Ended) -> Void

    private enum Phase {
        case initialised
        case executed(Loader.Handle?)
        case ended(Ended)
    }

    private struct State {
        var phase = Phase.initialised
        var request: Request
        var statuses: Response.StatusSet?
        var validators: [Validator] = []
        /// Handlers that receive the request as a parameter, and that need not capture it.
        var handlers: [Handler] = []
        var isCancelled = false
    }

    private let state: Locked<State>
    private weak let loader: Loader?
    private let executor: Service.CompletionExecutor
    private let defaultStatuses: Response.StatusSet

    init(_ request: Request, loader: Loader, executor: Service.CompletionExecutor) {
        state = Locked(State(request: request))
        self.loader = loader
        self.executor = executor.resolved(for: loader.account.service)
        defaultStatuses = loader.account.service.settings.acceptableStatuses
    }

    /// The request that is or will be sent.
    public var request: Request { state.withLock { $0.request } }

    /// Whether the request was cancelled before its end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: - Building

    /// Changes the request until it is sent; later changes have no effect.
    @discardableResult
    public func modify(_ change: (inout Request) throws -> Void) rethrows -> Self {
        // The closure is the caller's code and must not run under the lock.
        var request = request
        try change(&request)
        state.withLock { [request] state in
            if case .initialised = state.phase { state.request = request }
        }
        return self
    }

    /// Adds a validator.
    ///
    /// Validators run in order after the status was accepted. The first that throws ends the request with its error. A
    /// validator that is added after the end has no effect.
    @discardableResult
    public func validate(_ validator: @escaping Validator) -> Self {
        state.withLock { $0.validators.append(validator) }
        return self
    }

    /// Accepts these statuses in place of the statuses of the request or the service.
    @discardableResult
    public func validateStatus(in statuses: Response.StatusSet) -> Self {
        state.withLock { $0.statuses = statuses }
        return self
    }

    /// Accepts every status, so that only validators can refuse the response.
    @discardableResult
    public func acceptingAnyStatus() -> Self {
        validateStatus(in: .all)
    }

    // MARK: - Handlers

    /// Attaches a handler that receives the response, whatever its body.
    @discardableResult
    public func response(_ handler: @escaping @Sendable (Outcome<Void, any Error>) -> Void) -> Self {
        attach({ _ in () }, handler)
    }

    /// Attaches a handler that receives the body; an empty body is an error.
    @discardableResult
    public func responseData(_ handler: @escaping @Sendable (Outcome<Data, any Error>) -> Void) -> Self {
        response(processedBy: BodyProcessor(), handler)
    }

    /// Attaches a handler that receives a value decoded from the body.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type,
        decoder: some BodyDecoder = FastJSONDecoder(),
        _ handler: @escaping @Sendable (Outcome<Value, any Error>) -> Void
    ) -> Self {
        response(processedBy: DecodingProcessor(type, decoder: decoder), handler)
    }

    /// Attaches a handler that receives the body parsed as JSON, fragments included; an empty body is an error.
    @discardableResult
    public func responseJSON(_ handler: @escaping @Sendable (Outcome<JSONValue, any Error>) -> Void) -> Self {
        response(processedBy: RequiredJSONProcessor(), handler)
    }

    /// Attaches a handler that receives the output of a processor for the body.
    @discardableResult
    public func response<Value: Sendable>(
        processedBy processor: some Service.Processor<Data, Value>,
        _ handler: @escaping @Sendable (Outcome<Value, any Error>) -> Void
    ) -> Self {
        attach({ response in try processor.process(response.body.bytes ?? Data(), of: response) }, handler)
    }

    // MARK: - Awaiting

    /// Sends the request and waits for the response; cancelling the task cancels the request.
    public func outcome() async -> Outcome<Void, any Error> {
        await awaited { response($0) }
    }

    /// Sends the request and waits for the output of a processor for the body; cancelling the task cancels the request.
    public func outcome<Value: Sendable>(
        processedBy processor: some Service.Processor<Data, Value>
    ) async -> Outcome<Value, any Error> {
        await awaited { response(processedBy: processor, $0) }
    }

    /// Sends the request and waits for the body; cancelling the task cancels the request.
    public func dataOutcome() async -> Outcome<Data, any Error> {
        await outcome(processedBy: BodyProcessor())
    }

    /// Sends the request and waits for a decoded value; cancelling the task cancels the request.
    public func decodedOutcome<Value: Decodable & Sendable>(
        _ type: Value.Type,
        decoder: some BodyDecoder = FastJSONDecoder()
    ) async -> Outcome<Value, any Error> {
        await outcome(processedBy: DecodingProcessor(type, decoder: decoder))
    }

    /// Sends the request and waits for the body parsed as JSON; cancelling the task cancels the request.
    public func jsonOutcome() async -> Outcome<JSONValue, any Error> {
        await outcome(processedBy: RequiredJSONProcessor())
    }

    private func awaited<Value: Sendable>(
        _ attach: (@escaping @Sendable (Outcome<Value, any Error>) -> Void) -> LoadRequest
    ) async -> Outcome<Value, any Error> {
        // An awaited call keeps its loader, as in every other form.
        let loader = loader
        defer { withExtendedLifetime(loader) {} }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                _ = attach { outcome in continuation.resume(returning: outcome) }
            }
        } onCancel: {
            cancel()
        }
    }

    // MARK: - Running

    /// Cancels the request: pending and later handlers receive `LoadingError.Kind.cancelled`.
    ///
    /// Has no effect after the end of the request.
    public func cancel() {
        let (handle, handlers, error) = state.withLock { state -> (Loader.Handle?, [Handler], Ended) in
            var handle: Loader.Handle?
            if case .executed(let running) = state.phase { handle = running }
            let error = LoadingError(.cancelled, LoadingError.Context(state.request)).counted(handle?.attempts ?? 0)
            let ended = Ended(error: error)
            switch state.phase {
            case .ended: return (nil, [], ended)
            case .initialised, .executed:
                state.isCancelled = true
                state.phase = .ended(ended)
                defer { state.handlers = [] }
                return (handle, state.handlers, ended)
            }
        }
        handle?.cancel()
        report(handlers, error)
    }

    private func attach<Value: Sendable>(
        _ make: @escaping @Sendable (Response) throws -> Value,
        _ handler: @escaping @Sendable (Outcome<Value, any Error>) -> Void
    ) -> Self {
        add { owner, ended in
            let result = Result<Value, any Error> {
                if let error = ended.error { throw error }
                guard let response = ended.response else { throw ProcessingError.emptyBody }
                return try make(response)
            }
            handler(Outcome(request: owner.request, response: ended.response, result: result))
        }
        return self
    }

    private func add(_ handler: @escaping Handler) {
        let (ended, executes) = state.withLock { state -> (Ended?, Bool) in
            switch state.phase {
            case .ended(let ended):
                return (ended, false)
            case .executed:
                state.handlers.append(handler)
                return (nil, false)
            case .initialised:
                state.handlers.append(handler)
                state.phase = .executed(nil)
                return (nil, true)
            }
        }
        if let ended { report([handler], ended) }
        if executes { execute() }
    }

    private func execute() {
        guard let loader else {
            let ended = Ended(error: LoadingError(.cancelled, LoadingError.Context(request)))
            return report(finish(ended), ended)
        }
        var (sent, statuses) = state.withLock { ($0.request, $0.statuses) }
        let acceptable = statuses ?? sent.acceptableStatuses ?? defaultStatuses
        sent.acceptableStatuses = acceptable
        if sent.delivery == .streamed { sent.delivery = .buffered(limit: Request.defaultBufferLimit) }
        // The status is checked here, so that handlers receive the response whatever its status.
        sent.deliversEveryStatus = true
        let handle = loader.start(sent, on: executor, evenWhenReleased: true) { [sent] _, sending in
            await sending.response(to: sent)
        } completion: { [self] _, result in
            switch result {
            case .success(let response): end(checked(response, acceptable))
            case .failure(let error): end(Ended(error: error))
            }
        }
        let isCancelled = state.withLock { state in
            if case .executed = state.phase { state.phase = .executed(handle) }
            return state.isCancelled
        }
        if isCancelled { handle.cancel() }
    }

    private func checked(_ response: Response, _ acceptable: Response.StatusSet) -> Ended {
        let validators = state.withLock(\.validators)
        do {
            try response.validateStatus(acceptable)
            for validator in validators { try validator(response) }
            return Ended(response: response)
        } catch {
            return Ended(response: response, error: error)
        }
    }

    private func end(_ ended: Ended) {
        for handler in finish(ended) { handler(self, ended) }
    }

    /// Ends the request, and returns the handlers to call; none when it has ended before.
    private func finish(_ ended: Ended) -> [Handler] {
        state.withLock { state -> [Handler] in
            guard case .executed = state.phase else { return [] }
            state.phase = .ended(ended)
            defer { state.handlers = [] }
            return state.handlers
        }
    }

    private func report(_ handlers: [Handler], _ ended: Ended) {
        guard !handlers.isEmpty else { return }
        executor.schedule { [self] in
            for handler in handlers { handler(self, ended) }
        }
    }
}

extension Loader {
    /// Makes a request that is sent when its first handler is attached.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - sourceIdentifier: The name of the part of the app that sends the request, for logs.
    ///   - executor: Where handlers, validators and serialisers run; by default the executor of the service's
    ///     settings, which is the main actor unless they name another.
    /// - Returns: The request; the loader does not keep it until it is sent.
    public func request(
        _ url: URL,
        sourceIdentifier: String? = nil,
        on executor: Service.CompletionExecutor = .ofService
    ) -> LoadRequest {
        var request = Request(url)
        request.sourceIdentifier = sourceIdentifier
        return LoadRequest(request, loader: self, executor: executor)
    }

    /// Makes a request that is sent when its first handler is attached.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - executor: Where handlers, validators and serialisers run; by default the executor of the service's
    ///     settings, which is the main actor unless they name another.
    /// - Returns: The request; the loader does not keep it until it is sent.
    public func request(_ request: Request, on executor: Service.CompletionExecutor = .ofService) -> LoadRequest {
        LoadRequest(request, loader: self, executor: executor)
    }
}

/// Returns the bytes unchanged; an empty body is an error.
package struct BodyProcessor: Service.Processor {
    /// Makes the processor.
    package init() {}

    /// Returns the bytes.
    ///
    /// - Throws: ``ProcessingError/emptyBody`` when the body is empty.
    package func process(_ input: Data, of response: Response) throws -> Data {
        guard !input.isEmpty else { throw ProcessingError.emptyBody }
        return input
    }
}
