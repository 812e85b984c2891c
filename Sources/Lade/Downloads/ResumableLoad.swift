#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import LadePolicies

/// A streamed response that is resumed where its body failed, as often as the service's retry policy allows.
///
/// When the response to a GET without a body fails mid-body, the request is sent again. With a strong validator it asks for
/// the rest (`Range` with `If-Range`, RFC 9110 §13.1.5, §14.2). Without a validator, or when the server does not send the
/// rest, the body starts again. For that the reader must be able to drop the bytes that it has. All of it is one call: attempts are counted
/// together, the delays come from the policy, and the call's deadline applies. Other failures are not handled.
///
/// A load can also continue the bytes of an earlier load, see ``begin(at:)``.
///
/// It ends when the loader is deallocated.
package struct ResumableLoad {
    /// The next part of a body.
    package enum Piece: Sendable {
        /// Further bytes.
        case bytes(Data)
        /// The body starts again, with this head: the reader must drop the earlier bytes.
        case anew(Response)
    }

    /// How the body relates to the bytes of an earlier load.
    package enum Beginning: Sendable {
        /// The body starts with the first byte; the earlier bytes must be dropped.
        case anew(Response)
        /// The body continues after the earlier bytes.
        case rest(Response)
        /// The earlier bytes are complete.
        case complete(Response)
    }

    private let loader: Loader
    private let request: Request
    private var call = Call()
    private var delays: RetryPolicy.Backoff.Delays
    private var withdrawn = 0
    private var body = Response.Body()
    private var iterator: Response.Body.Iterator
    /// Reports the end of the body once, however many responses it takes.
    private var report: BodyReport?
    /// The version that the bytes belong to; nil when unknown.
    private var point: ResumePoint?
    private var received: Int64 = 0
    /// Whether the bytes have a content coding that is not decoded here.
    private var isCoded = false
    /// The end of the range that is being read; nil while the response is a whole one.
    private var rangeEnd: Int64?
    /// The announced length of the response that is being read, if it is a whole one.
    private var announced: Int64?
    /// The number of bytes that arrived before the response that is being read.
    private var receivedBefore: Int64 = 0
    /// The number of bytes that may be kept after the response that was read last proved malformed; nil otherwise.
    package private(set) var soundLength: Int64?
    /// The server's response to the request for the rest, if that was not the rest; nil otherwise.
    private(set) var misfit: String?
    /// The last response.
    package private(set) var response: Response

    /// Prepares a load; nothing is sent yet.
    package init(_ request: Request, by loader: Loader) {
        var request = request
        request.delivery = .streamed
        self.request = request
        self.loader = loader
        delays = loader.account.service.settings.retries.backoff.makeDelays()
        iterator = body.makeAsyncIterator()
        response = Response(status: Response.Status(0), request: request)
    }

    /// How many attempts were made; 0 before the first head.
    package var attempts: Int { response.status == Response.Status(0) ? 0 : call.attempt }

    private var settings: Service.Settings { loader.account.service.settings }

    /// The length of the whole body; nil when unknown.
    package var length: Int64? { rangeEnd == nil ? announced : point?.length }

    /// Loads the head.
    ///
    /// - Returns: The response; its body is read by ``next(mayBeginAnew:)``.
    /// - Throws: The same as `Loader.load(_:)`.
    package mutating func head() async throws(LoadingError) -> Response {
        let response = try await loadHead(request)
        try start(response)
        return response
    }

    /// Loads the head for the rest of a body that an earlier load has begun.
    ///
    /// - Parameter place: The bytes of the earlier load; nil for none.
    /// - Returns: How the body relates to the earlier bytes; ``next(mayBeginAnew:)`` reads it.
    /// - Throws: The same as `Loader.load(_:)`.
    mutating func begin(at place: ResumePoint?) async throws(LoadingError) -> Beginning {
        guard let place else { return .anew(try await head()) }
        point = place
        received = place.offset
        let asked = place.asking(request)
        var response: Response
        do throws(LoadingError) {
            response = try await loadHead(asked)
        } catch {
            response = try unsatisfied(error, asked)
        }
        call.attempt = max(call.attempt, response.attempts)
        switch BodyMeaning(of: response, to: .rest(place)) {
        case .rest(let range):
            resume(response, range)
            return .rest(response)
        case .complete:
            endBody(response)
            return .complete(response)
        // A server without ranges sends the whole body. If the whole has the known length, the kept body is complete.
        case .whole where place.version.isNamed(in: response) || place.version.validator.isEmpty:
            guard isKnown(place, in: response) else { break }
            endBody(response)
            return .complete(response)
        case .whole, .refused: break
        case .misfit, .requested, .otherUnit:
            misfit = "it responded with \(response.status.code)"
            response.body.cancel()
            response = try await askForWhole(after: response)
            if isKnown(place, in: response) {
                endBody(response)
                return .complete(response)
            }
        }
        try start(response)
        return .anew(response)
    }

    /// Asks for the whole body, because the response to the request for the rest contradicts the known facts.
    ///
    /// It costs the service another request, so the retry budget is asked.
    private mutating func askForWhole(after response: Response) async throws(LoadingError) -> Response {
        guard withdraw(cost: settings.retryBudget?.settings.retryCost ?? 0) else {
            throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
        }
        call.attempt += 1
        return try await ask(request, after: .zero)
    }

    /// Whether a whole body has the version and the length of the bytes that are there, so that it need not be read.
    ///
    /// Some servers refuse the request for bytes behind the last one, without saying where the last byte is.
    private func isKnown(_ place: ResumePoint, in response: Response) -> Bool {
        guard response.status == 200, !response.headers.contains("Content-Encoding"), place.coding == nil,
            case .whole(let length?) = BodyMeaning(of: response, to: .whole)
        else { return false }
        return length == place.offset && place.offset > 0 && place.version.isSame(in: response)
    }

    private mutating func loadHead(_ asked: Request) async throws(LoadingError) -> Response {
        let (begun, scope, slot) = try loader.core.begin(asked)
        defer { loader.core.group.leave(slot) }
        call = begun
        if let limit = request.deadline ?? settings.deadlines.streamed {
            let now = call.time.now
            call.deadline = now.advanced(by: limit)
            call.recordTimes(since: now)
        }
        report = BodyReport(call, since: call.isObserved ? call.time.now : nil)
        return try await loader.core.run(asked, call, .response, report: report) { scope.end() }.get()
    }

    /// The next piece of the body, or nil after the last.
    ///
    /// - Parameter mayBeginAnew: Whether the reader can still drop the earlier bytes.
    /// - Returns: More bytes, or the head with which the body starts again.
    /// - Throws: The error that ended the body, if it cannot be resumed; otherwise the error of the last attempt to
    ///   resume it.
    package mutating func next(mayBeginAnew: Bool) async throws(LoadingError) -> Piece? {
        while true {
            do throws(LoadingError) {
                if let chunk = try await iterator.next(isolation: #isolation) {
                    try count(chunk)
                    return .bytes(chunk)
                }
                try checkEnd()
                refund()
                report?.end(.whole)
                return nil
            } catch {
                // Bytes of a response that breaks the protocol may belong elsewhere.
                if case .malformedResponse = error.kind { soundLength = receivedBefore }
                do throws(LoadingError) {
                    if let response = try await goOn(after: located(error), mayBeginAnew) { return .anew(response) }
                } catch {
                    report?.end(error)
                    throw error
                }
            }
        }
    }

    /// The beginning of the body, at most 4 KiB, as the server's message about a failure; the load ends with it.
    ///
    /// A server that sends it slowly is waited for no longer than ``messagePatience``.
    package mutating func message() async -> Data {
        let (body, time) = (body, call.time)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Cancelled when the message is there: what remains of the body is never read.
                try? await time.sleep(for: Self.messagePatience)
                body.cancel()
            }
            var bytes = Data()
            while bytes.count < Self.messageLimit {
                // The status is the failure; a truncated message is returned as far as it arrived.
                guard let chunk = try? await iterator.next(isolation: #isolation) else { break }
                bytes.append(chunk.prefix(Self.messageLimit - bytes.count))
            }
            group.cancelAll()
            return bytes
        }
    }

    private static let messageLimit = 4 << 10

    /// The longest time for which the rest of a message is waited for.
    static var messagePatience: Duration { .seconds(5) }

    // MARK: - The current response

    /// Begins to read a body from its first byte.
    ///
    /// - Throws: `LoadingError.Kind.unacceptableStatus` for a response that certainly is not the whole body.
    private mutating func start(_ response: Response) throws(LoadingError) {
        let isOwn = request.headers.contains("Range")
        let meaning = BodyMeaning(of: response, to: isOwn ? .ownRange : .whole)
        // A page of a service that counts something else says so; a 206 without any range is a part of unknown place.
        let isUnplaced = meaning == .otherUnit && !response.headers.contains("Content-Range")
        let isMisfit = if case .misfit = meaning { true } else { false }
        guard !isMisfit, !isUnplaced else {
            response.body.cancel()
            let error = LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
            report?.end(error)
            throw error
        }
        call.attempt = max(call.attempt, response.attempts)
        received = 0
        receivedBefore = 0
        soundLength = nil
        rangeEnd = nil
        isCoded = response.headers.contains("Content-Encoding")
        announced = if case .whole(let length) = meaning { length } else { response.bodyLength }
        point = nil
        // If the caller requested a range itself, no part of it can be requested.
        if response.status == 200, !isOwn, let version = FileVersion(of: response, now: call.time.date) {
            point = ResumePoint(
                validator: version.validator,
                address: version.address,
                offset: 0,
                length: announced,
                coding: response.headers.joined("Content-Encoding")
            )
        }
        read(response)
    }

    /// Continues with the part of the body that a response contains.
    private mutating func resume(_ response: Response, _ range: ContentRange) {
        point?.length = range.whole
        // From here on the version must stay the version of this part.
        if point?.version.validator.isEmpty == true, let version = FileVersion(of: response, now: call.time.date) {
            point?.version = version
        }
        // A range ends before the length of the whole, so the sum can be represented.
        rangeEnd = range.last + 1
        receivedBefore = received
        read(response)
    }

    /// Ends the body, which is complete.
    private mutating func endBody(_ response: Response) {
        response.body.cancel()
        var empty = response
        empty.body = Response.Body()
        rangeEnd = nil
        announced = received
        read(empty)
        report?.end(.whole)
    }

    private mutating func read(_ response: Response) {
        self.response = response
        body = response.body
        iterator = body.makeAsyncIterator()
        report?.note(attempt: call.attempt)
    }

    private mutating func count(_ chunk: Data) throws(LoadingError) {
        received += Int64(chunk.count)
        report?.count(chunk.count)
        guard let end = rangeEnd ?? announced, received > end else { return }
        body.cancel()
        throw LoadingError(
            .malformedResponse(LoadingError.MalformedResponse(.contentLength)),
            LoadingError.Context(request)
        )
    }

    private func checkEnd() throws(LoadingError) {
        guard let length, received != length else { return }
        throw LoadingError(.incompleteBody(received: received, expected: length), LoadingError.Context(request))
    }

    /// The error with the lengths of the whole body, where the lengths of the last response refer to a part.
    private func located(_ error: LoadingError) -> LoadingError {
        var located = error
        located.context.attempts = call.attempt
        guard rangeEnd != nil else { return located }
        switch located.kind {
        case .incompleteBody: located.kind = .incompleteBody(received: received, expected: point?.length)
        case .connectionLost(.body, let isSafe):
            located.kind = .connectionLost(.body(received: received), isSafeToRepeat: isSafe)
        default: break
        }
        return located
    }

    // MARK: - Resuming

    /// Sends requests until the body continues.
    ///
    /// - Returns: The head, when the body starts again.
    private mutating func goOn(after error: LoadingError, _ mayBeginAnew: Bool) async throws(LoadingError) -> Response?
    {
        guard !error.isCancellation, request.method == .get, !request.hasBody,
            settings.retries.obstacle(toRepeating: request) == nil
        else { throw error }
        // The number of decoded bytes does not correspond to an offset of the server.
        if body.metrics.contentEncoding != nil { point = nil }
        var reason: Call.RetryRule?
        // Bytes of a response that breaks the protocol may belong elsewhere, so nothing continues them.
        if soundLength != nil {
            point = nil
            reason = .malformedBody
        }
        while true {
            let ranged = rangedRequest(mayBeginAnew)
            let canGoOn = ranged != nil || mayBeginAnew
            if !canGoOn, reason == nil { reason = .noVersion }
            let delay = try delay(after: error, canGoOn, reason)
            call.attempt += 1
            let response = try await ask(ranged ?? request, after: delay)
            call.attempt = max(call.attempt, response.attempts)
            guard ranged != nil, let point else {
                try start(response)
                return response
            }
            switch BodyMeaning(of: response, to: .rest(point)) {
            case .rest(let range):
                resume(response, range)
                return nil
            case .complete:
                endBody(response)
                return nil
            case .whole where mayBeginAnew:
                try start(response)
                return response
            case .whole, .requested, .otherUnit:
                reason = .otherBody("the server sent the whole body instead of the rest")
            case .misfit(let misfit): reason = .otherBody(misfit)
            case .refused:
                response.body.cancel()
                throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
            }
            response.body.cancel()
            self.point = nil
        }
    }

    /// The request for the rest; nil when it cannot be requested, or when no byte was received and the load may begin anew.
    private mutating func rangedRequest(_ mayBeginAnew: Bool) -> Request? {
        guard point != nil, received > 0 || !mayBeginAnew else { return nil }
        point?.offset = received
        guard var asked = point?.asking(request) else { return nil }
        // The rest of a coded body could not be decoded. A body that arrived coded must stay coded.
        if !asked.headers.contains("Accept-Encoding"), !isCoded { asked.headers.set("Accept-Encoding", "identity") }
        return asked
    }

    private func ask(_ asked: Request, after delay: Duration) async throws(LoadingError) -> Response {
        do throws(LoadingError) {
            return try await loader.core.askAgain(asked, call, after: delay)
        } catch {
            return try unsatisfied(error, asked)
        }
    }

    /// The response 416 to a request for the rest, which the service may count as a failure.
    ///
    /// - Throws: The error, when it is of another kind, or when the request asked for the whole body: there the status is an
    ///   error.
    private func unsatisfied(_ error: LoadingError, _ asked: Request) throws(LoadingError) -> Response {
        guard case .unacceptableStatus(let status) = error.kind, status == 416,
            asked.headers.contains("Range"), !request.headers.contains("Range")
        else { throw error }
        var last = asked
        if let address = error.context.address { last.url = address }
        return Response(status: status, headers: error.context.headers, request: last)
    }

    /// Decides whether there is another attempt, and reports the decision.
    ///
    /// - Returns: The delay before it.
    /// - Throws: The error, when there is none.
    private mutating func delay(
        after error: LoadingError,
        _ canGoOn: Bool,
        _ reason: Call.RetryRule?
    ) throws(LoadingError) -> Duration {
        let policy = settings.retries
        var attempt = RetryPolicy.Attempt(request, .failure(error))
        attempt.number = call.attempt
        if attempt.number > policy.immediateTries { attempt.delay = delays.next(call.random) }
        attempt.remaining = call.deadline.map { call.time.now.duration(to: $0) }
        let decision = policy.decision(attempt)
        var record = Call.Event.Retry(attempt: call.attempt, status: error.context.status, rule: decision.rule)
        switch decision.action {
        case .retry(let delay) where canGoOn:
            guard withdraw(after: error) else {
                record.rule = .budgetEmpty
                break
            }
            record.delay = delay
            if let reason { record.rule = reason }
            record.budget = budgetLeft
            call.record(.retryScheduled(record))
            return delay
        case .retry: if let reason { record.rule = reason }
        case .exceedDeadline(let wait):
            call.record(.retryRefused(record))
            try call.checkDeadline(wait: wait, for: .backoff(attempt: call.attempt + 1))
            throw error
        default: break
        }
        record.budget = budgetLeft
        call.record(.retryRefused(record))
        throw error
    }

    // MARK: - The budget

    private var key: ServiceKey { loader.account.service.rateLimiter.keyRule(request) }

    private var budgetLeft: Int? { settings.retryBudget?.left(for: key) }

    private mutating func withdraw(after error: LoadingError) -> Bool {
        guard !error.isFree, let budget = settings.retryBudget else { return true }
        let isTimeout = if case .timedOut = error.kind { true } else { false }
        return withdraw(cost: isTimeout ? budget.settings.timeoutCost : budget.settings.retryCost)
    }

    private mutating func withdraw(cost: Int) -> Bool {
        guard let budget = settings.retryBudget else { return true }
        guard budget.withdraw(for: key, cost: cost) else { return false }
        withdrawn += cost
        return true
    }

    private mutating func refund() {
        guard withdrawn > 0 else { return }
        settings.retryBudget?.refund(for: key, withdrawn)
        withdrawn = 0
    }
}
