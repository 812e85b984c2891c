#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The parts of a loader that its work needs, and that outlive the loader itself.
///
/// The work of a loader holds this object and not the loader, so that releasing the loader can end the work. Awaited calls
/// keep the loader beside it, and so do their streamed bodies.
final class LoaderCore: Sendable {
    let account: Account
    let group: WorkGroup
    // A template of a call for each set of observers; every call is a copy with a new identity.
    private let template: Locked<(version: UInt64, call: Call)>

    init(account: Account) {
        self.account = account
        group = WorkGroup(within: account.group)
        // No list of observers has this version, so the first call makes the template.
        template = Locked((0, Call()))
    }

    /// Makes the next call.
    func makeCall() -> Call {
        let service = account.service
        let id = service.nextCallID()
        let current = service.observers.version
        let known = template.withLock { $0.version == current ? Call(id: id, like: $0.call) : nil }
        if let known { return known }
        let (version, observers) = service.observers.current
        let fresh = service.makeCallTemplate(for: account.identifier, observers)
        template.withLock { if $0.version < version { $0 = (version, fresh) } }
        return Call(id: id, like: fresh)
    }

    /// Makes a call that is awaited.
    ///
    /// The call has a scope, because cancelling the loader's work must not cancel the caller's task. A streamed body keeps
    /// the loader until it ends.
    func perform<Output: Sendable>(
        _ request: Request,
        _ conversion: ResponseConversion<Output>,
        by loader: Loader
    ) async throws(LoadingError) -> Output {
        let (call, scope, slot) = try begin(request)
        defer { group.leave(slot) }
        return try await run(request, call, conversion, by: loader) { scope.end() }.get()
    }

    // This function and others below are not inlined. The frames of a call stay allocated while it waits for its
    // response. So code that needs stack space and does not wait is kept out of them.

    /// Makes a call and its scope, and adds the scope to the group.
    @inline(never)
    func begin(_ request: Request) throws(LoadingError) -> (Call, Call.Scope, WorkGroup.Slot) {
        try request.validate()
        var call = makeCall()
        call.stopObserving(unlessNeededFor: request)
        let scope = Call.Scope(request, accepting: acceptableStatuses(for: request))
        guard let slot = group.join(scope) else {
            call.recordStart(request)
            call.record(.callFailed(LoadingError(.cancelled, LoadingError.Context(request))))
            throw LoadingError(.cancelled, LoadingError.Context(request))
        }
        call.begin(scope, isScoped: true)
        return (call, scope, slot)
    }

    /// The one place that decides which statuses are the success of a call.
    ///
    /// The request says so, which endpoints and other forms have completed, or else the service.
    func acceptableStatuses(for request: Request) -> Response.StatusSet {
        request.acceptableStatuses ?? account.service.settings.acceptableStatuses
    }

    /// Runs a call in the current task, from the first event to the last; the last event of a streamed body comes later.
    ///
    /// - Parameters:
    ///   - request: The request, which must be valid.
    ///   - call: The call.
    ///   - conversion: Makes the result from the response.
    ///   - report: The reporter of the end of the whole body, of which this response has a part; nil for a body of its
    ///     own.
    ///   - loader: The loader that a streamed body keeps; nil when releasing the loader ends the body.
    ///   - end: Called once at the end; returns false when the call was cancelled meanwhile, and its result is
    ///     discarded.
    /// - Returns: The result, which is also recorded as an event.
    func run<Output: Sendable>(
        _ request: Request,
        _ call: Call,
        _ conversion: ResponseConversion<Output>,
        report: BodyReport? = nil,
        by loader: Loader? = nil,
        _ end: () -> Bool
    ) async -> Result<Output, LoadingError> {
        var facts = EndFacts(start: call.recordStart(request), report: report, isPart: report != nil, loader: loader)
        var result: Result<Output, LoadingError>
        do throws(LoadingError) {
            result = .success(try await output(of: request, call, conversion, &facts))
        } catch {
            result = .failure(error)
        }
        if !end() {
            result = .failure(LoadingError(.cancelled, LoadingError.Context(request)).counted(call.attemptsMade))
        }
        if call.isObserved { recordEnd(of: call, result, facts) }
        return result
    }

    /// Makes a further attempt for a call that has ended with its head and whose body then failed.
    ///
    /// - Parameters:
    ///   - request: The request of this attempt.
    ///   - call: The call, with the number of this attempt.
    ///   - delay: The delay before the attempt.
    /// - Returns: The response.
    /// - Throws: The error of the attempt; `LoadingError.Kind.cancelled` when the loader's work was cancelled meanwhile.
    func askAgain(_ request: Request, _ call: Call, after delay: Duration) async throws(LoadingError) -> Response {
        let scope = Call.Scope(request, continuing: call)
        guard let slot = group.join(scope) else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
        defer { group.leave(slot) }
        var call = call
        call.scope = scope
        try await call.wait(until: call.time.now.advanced(by: delay), for: .backoff(attempt: call.attempt))
        var facts = EndFacts(isPart: true)
        let response = try await output(of: request, call, ResponseConversion.response, &facts)
        guard scope.end() else {
            throw LoadingError(.cancelled, LoadingError.Context(request)).counted(call.attemptsMade)
        }
        return response
    }

    /// Waits between two requests of one work, outside of any call.
    ///
    /// The wait ends with the work of the loader, the account or the service, and is among the current requests.
    ///
    /// - Parameters:
    ///   - delay: How long.
    ///   - request: The request that follows.
    /// - Throws: `LoadingError.Kind.cancelled` as soon as the task or that work is cancelled.
    func wait(for delay: Duration, before request: Request) async throws(LoadingError) {
        let scope = Call.Scope(request)
        guard let slot = group.join(scope) else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
        defer { group.leave(slot) }
        var call = makeCall()
        call.scope = scope
        do throws(LoadingError) {
            try await call.inTask { (call) async throws(LoadingError) in try await call.time.sleep(for: delay) }
        } catch {
            throw LoadingError(.cancelled, LoadingError.Context(request))
        }
        guard scope.end() else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
    }

    /// The facts that a call's events at its end need.
    private struct EndFacts {
        var status = Response.Status(0)
        /// When the call started; nil when no observer is notified.
        var start: Instant?
        /// Reports the end of a streamed body.
        var report: BodyReport?
        /// Whether the response's body is a part of a larger body that is reported elsewhere.
        var isPart = false
        /// The loader that a streamed body keeps.
        var loader: Loader?
        /// The length of a buffered body.
        var bytes = 0
    }

    @inline(never)
    private func recordEnd<Output>(of call: Call, _ result: Result<Output, LoadingError>, _ facts: EndFacts) {
        switch result {
        case .success:
            call.record(.callFinished(status: facts.status))
            guard let start = facts.start else { return }
            if let report = facts.report { return report.arm() }
            let duration = start.duration(to: call.time.now)
            call.recordLast(
                .bodyFinished(
                    Call.Event.Body(.whole, bytes: Int64(facts.bytes), duration: duration, attempts: call.attemptsMade)
                )
            )
        case .failure(let error): call.recordLast(.callFailed(error))
        }
    }

    /// Every error of a call passes here, whatever the form of the call is: it says how many attempts there were.
    private func output<Output: Sendable>(
        of request: Request,
        _ call: Call,
        _ conversion: ResponseConversion<Output>,
        _ facts: inout EndFacts
    ) async throws(LoadingError) -> Output {
        do throws(LoadingError) {
            let response =
                account.isOffline
                ? try await stored(request, call) : try await account.chain.send(request, call: call)
            facts.status = response.status
            let isSuccess =
                request.deliversEveryStatus
                || response.isSuccess(call.acceptableStatuses ?? acceptableStatuses(for: request))
            if let bytes = response.body.bytes {
                facts.bytes = bytes.count
                return try conversion.output(of: response, isSuccess: isSuccess)
            }
            if facts.start != nil, !facts.isPart { facts.report = BodyReport(call, since: facts.start) }
            let report = facts.isPart ? nil : facts.report
            return try await conversion.output(
                of: tracked(response, isSuccess, report, facts.loader),
                isSuccess: isSuccess
            )
        } catch {
            throw error.completed(with: request, attempts: call.attemptsMade)
        }
    }

    /// The response of an account that is offline, from its cache.
    private func stored(_ request: Request, _ call: Call) async throws(LoadingError) -> Response {
        var request = request
        request.cacheMode = .storedOnly
        return try await account.chain.send(request, call: call)
    }

    /// A streamed response whose body ends with the work of the loader.
    @inline(never)
    private func tracked(
        _ response: Response,
        _ isSuccess: Bool,
        _ report: BodyReport?,
        _ loader: Loader?
    ) async -> Response {
        var response = TrackedBody.track(response, in: group, report, keeping: loader)
        if !isSuccess { response.body = await Self.beginning(of: response.body) }
        return response
    }

    /// Collects the beginning of a refused response's body: an error keeps a part of the body and does not stream it.
    private static func beginning(of body: Response.Body) async -> Response.Body {
        var bytes = Data()
        var iterator = body.makeAsyncIterator()
        // An error while reading this body does not matter beside the refused status.
        while bytes.count < LoadingError.Context.bodyLimit, let chunk = try? await iterator.next(isolation: #isolation)
        {
            bytes.append(chunk)
        }
        return Response.Body(bytes, trailers: body.trailers, metrics: body.metrics)
    }
}

extension Call {
    /// Reports the start of the call; returns when it was, or nil when no observer is notified.
    @inline(never)
    @discardableResult
    func recordStart(_ request: Request) -> Instant? {
        guard isObserved else { return nil }
        let start = time.now
        record(
            .callStarted(method: request.method, url: request.url.redacted(secretQueryNames: request.secretQueryNames))
        )
        return start
    }
}
