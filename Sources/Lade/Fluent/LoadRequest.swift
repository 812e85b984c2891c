#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A request under construction that is sent when somebody first wants its answer.
///
/// ```swift
/// loader.request(showURL)
///     .modify { $0.headers["Accept"] = "application/json" }
///     .responseDecodable(Show.self) { outcome in display(outcome.result) }
/// ```
///
/// It is sent once, however many handlers it has, and tells each of them once, in the order they were attached; one that is
/// attached afterwards is told at once. A cancelled request tells them so. Builders return the same object. New code has
/// less to write with `load(_:)` of an ``Endpoint``. Source: `service-loader.md` §22, D-34, D-35, D-38.
public final class LoadRequest: Sendable {
    /// Looks at an answer and throws when it is not good.
    public typealias Validator = @Sendable (Response) throws -> Void

    private struct Ended {
        var response: Response?
        var error: (any Error)?
    }

    private typealias Handler = @Sendable (LoadRequest, Ended) -> Void

    private enum Phase {
        case initialised
        case executed(LoadHandle?)
        case ended(Ended)
    }

    private struct State {
        var phase = Phase.initialised
        var request: Request
        var statuses: StatusSet?
        var validators: [Validator] = []
        /// They get the request: one that held it would keep it for good when its loader goes away before it ends.
        var handlers: [Handler] = []
        var isCancelled = false
    }

    private let state: Locked<State>
    private weak let loader: Loader?
    private let executor: CompletionExecutor
    private let defaultStatuses: StatusSet

    init(_ request: Request, loader: Loader, executor: CompletionExecutor) {
        state = Locked(State(request: request))
        self.loader = loader
        self.executor = executor
        defaultStatuses = loader.account.service.settings.acceptableStatuses
    }

    /// What is asked for, or will be.
    public var request: Request { state.withLock { $0.request } }

    /// Whether it was cancelled before its end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: - Building

    /// Changes the request, as long as it has not been sent; later changes have no effect.
    @discardableResult
    public func modify(_ change: (inout Request) throws -> Void) rethrows -> Self {
        // The closure is the caller's: it must not run under the lock (D-35).
        var request = request
        try change(&request)
        state.withLock { [request] state in
            if case .initialised = state.phase { state.request = request }
        }
        return self
    }

    /// Adds a validator; they run in order, once the status is found good, and the first that throws ends it.
    ///
    /// One that is added after the end has no effect.
    @discardableResult
    public func validate(_ validator: @escaping Validator) -> Self {
        state.withLock { $0.validators.append(validator) }
        return self
    }

    /// Accepts these statuses in place of those that the request or the service names.
    @discardableResult
    public func validateStatus(in statuses: StatusSet) -> Self {
        state.withLock { $0.statuses = statuses }
        return self
    }

    /// Accepts every status, so that only validators judge the answer.
    @discardableResult
    public func acceptingAnyStatus() -> Self {
        validateStatus(in: .all)
    }

    // MARK: - Handlers

    /// Tells a handler when the answer is there; its body may be anything.
    @discardableResult
    public func response(_ handler: @escaping @Sendable (LoadOutcome<Void>) -> Void) -> Self {
        attach({ _ in () }, handler)
    }

    /// Tells a handler the body; an empty one is an error.
    @discardableResult
    public func responseData(_ handler: @escaping @Sendable (LoadOutcome<Data>) -> Void) -> Self {
        response(processedBy: BodyProcessor(), handler)
    }

    /// Tells a handler a value that is decoded from the body.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type,
        decoder: some BodyDecoder = FastJSONDecoder(),
        _ handler: @escaping @Sendable (LoadOutcome<Value>) -> Void
    ) -> Self {
        response(processedBy: DecodingProcessor(type, decoder: decoder), handler)
    }

    /// Tells a handler the JSON that the body is, fragments included; an empty body is an error.
    @discardableResult
    public func responseJSON(_ handler: @escaping @Sendable (LoadOutcome<JSONValue>) -> Void) -> Self {
        response(processedBy: RequiredJSONProcessor(), handler)
    }

    /// Tells a handler what a processor makes of the body.
    @discardableResult
    public func response<Value: Sendable>(
        processedBy processor: some ResponseProcessor<Data, Value>,
        _ handler: @escaping @Sendable (LoadOutcome<Value>) -> Void
    ) -> Self {
        attach({ response in try processor.process(response.body.bytes ?? Data(), of: response) }, handler)
    }

    // MARK: - Awaiting

    /// Sends the request and waits for the answer; cancelling the task cancels the request.
    public func outcome() async -> LoadOutcome<Void> {
        await awaited { response($0) }
    }

    /// Sends the request and waits for what a processor makes of the body; cancelling the task cancels the request.
    public func outcome<Value: Sendable>(
        processedBy processor: some ResponseProcessor<Data, Value>
    ) async -> LoadOutcome<Value> {
        await awaited { response(processedBy: processor, $0) }
    }

    /// Sends the request and waits for the body; cancelling the task cancels the request.
    public func dataOutcome() async -> LoadOutcome<Data> {
        await outcome(processedBy: BodyProcessor())
    }

    /// Sends the request and waits for a decoded value; cancelling the task cancels the request.
    public func decodedOutcome<Value: Decodable & Sendable>(
        _ type: Value.Type,
        decoder: some BodyDecoder = FastJSONDecoder()
    ) async -> LoadOutcome<Value> {
        await outcome(processedBy: DecodingProcessor(type, decoder: decoder))
    }

    /// Sends the request and waits for the JSON of the body; cancelling the task cancels the request.
    public func jsonOutcome() async -> LoadOutcome<JSONValue> {
        await outcome(processedBy: RequiredJSONProcessor())
    }

    private func awaited<Value: Sendable>(
        _ attach: (@escaping @Sendable (LoadOutcome<Value>) -> Void) -> LoadRequest
    ) async -> LoadOutcome<Value> {
        // Whoever awaits must be told an end, and a loader that goes away tells none: it stays until then.
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

    /// Cancels the request: handlers that have not been told of an end, and those that come later, are told of this one.
    ///
    /// Does nothing after its end.
    public func cancel() {
        let (handle, handlers, error) = state.withLock { state -> (LoadHandle?, [Handler], Ended) in
            let ended = Ended(error: LoadingError.cancelled(ErrorContext(state.request)))
            switch state.phase {
            case .ended: return (nil, [], ended)
            case .initialised, .executed:
                var handle: LoadHandle?
                if case .executed(let running) = state.phase { handle = running }
                state.isCancelled = true
                state.phase = .ended(ended)
                defer { state.handlers = [] }
                return (handle, state.handlers, ended)
            }
        }
        handle?.cancel()
        tell(handlers, error)
    }

    private func attach<Value: Sendable>(
        _ make: @escaping @Sendable (Response) throws -> Value,
        _ handler: @escaping @Sendable (LoadOutcome<Value>) -> Void
    ) -> Self {
        add { owner, ended in
            let result = Result<Value, any Error> {
                if let error = ended.error { throw error }
                guard let response = ended.response else { throw ProcessingFault.emptyBody }
                return try make(response)
            }
            handler(LoadOutcome(request: owner.request, response: ended.response, result: result))
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
        if let ended { tell([handler], ended) }
        if executes { execute() }
    }

    private func execute() {
        guard let loader else {
            return end(Ended(error: LoadingError.cancelled(ErrorContext(request))))
        }
        var (sent, statuses) = state.withLock { ($0.request, $0.statuses) }
        // What the caller accepts is an answer, and is not sent again.
        if let statuses { sent.acceptableStatuses = statuses }
        if sent.delivery == .streamed { sent.delivery = .buffered(limit: Request.defaultBufferLimit) }
        // The status is checked here, so that the answer stays reachable whatever it is.
        let handle = loader.core.start(sent, .anyResponse, on: executor) { [self] result in
            switch result {
            case .success(let response): end(judged(response))
            case .failure(let error): end(Ended(error: error))
            }
        }
        let isCancelled = state.withLock { state in
            if case .executed = state.phase { state.phase = .executed(handle) }
            return state.isCancelled
        }
        if isCancelled { handle.cancel() }
    }

    private func judged(_ response: Response) -> Ended {
        let (request, statuses, validators) = state.withLock { ($0.request, $0.statuses, $0.validators) }
        let acceptable = statuses ?? request.acceptableStatuses ?? defaultStatuses
        do {
            _ = try Ending.response.output(of: response, acceptable: acceptable)
            for validator in validators { try validator(response) }
            return Ended(response: response)
        } catch {
            return Ended(response: response, error: error)
        }
    }

    private func end(_ ended: Ended) {
        let handlers = state.withLock { state -> [Handler] in
            guard case .executed = state.phase else { return [] }
            state.phase = .ended(ended)
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler(self, ended) }
    }

    private func tell(_ handlers: [Handler], _ ended: Ended) {
        guard !handlers.isEmpty else { return }
        executor.schedule { [self] in
            for handler in handlers { handler(self, ended) }
        }
    }
}

extension Loader {
    /// Begins a request that is sent when its first handler is attached.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - sourceIdentifier: Who in the app asks, for logs.
    ///   - executor: Where handlers, validators and serialisers run; the main actor by default.
    /// - Returns: The request; the loader does not hold it before it is sent.
    public func request(
        _ url: URL,
        sourceIdentifier: String? = nil,
        on executor: CompletionExecutor = .main
    ) -> LoadRequest {
        var request = Request(url)
        request.sourceIdentifier = sourceIdentifier
        return LoadRequest(request, loader: self, executor: executor)
    }

    /// Begins a request that is sent when its first handler is attached.
    public func request(_ request: Request, on executor: CompletionExecutor = .main) -> LoadRequest {
        LoadRequest(request, loader: self, executor: executor)
    }
}

/// Gives the bytes as they are; none are an error.
public struct BodyProcessor: ResponseProcessor {
    /// Makes the processor.
    public init() {}

    /// Gives the bytes.
    ///
    /// - Throws: ``ProcessingFault/emptyBody`` when there are none.
    public func process(_ input: Data, of response: Response) throws -> Data {
        guard !input.isEmpty else { throw ProcessingFault.emptyBody }
        return input
    }
}

/// Parses JSON; an empty body is an error.
public struct RequiredJSONProcessor: ResponseProcessor {
    /// Makes the processor.
    public init() {}

    /// Parses the bytes.
    ///
    /// - Throws: ``ProcessingFault/emptyBody`` without bytes, `JSONFault` saying where the text is no JSON.
    public func process(_ input: Data, of response: Response) throws -> JSONValue {
        guard !input.isEmpty else { throw ProcessingFault.emptyBody }
        return try JSONValue(parsing: input)
    }
}
