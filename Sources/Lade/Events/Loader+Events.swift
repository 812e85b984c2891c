#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeFields

extension Loader {
    /// The events that a server sends (`text/event-stream`), over as many connections as it takes.
    ///
    /// ```swift
    /// for try await event in loader.events(from: try Request("https://api.example.com/feed")) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// When a response ends or breaks, the request is sent again with `Last-Event-ID`. That happens after 3 s or the
    /// delay that the server has set by `retry`. The delay doubles with each connection in a row that brings no event,
    /// up to a minute (WHATWG HTML §9.2.3). A 204 ends the sequence. Leaving the loop, or cancelling its task, ends the
    /// connection. So does cancelling the work of the loader, its account or its service, at any time.
    ///
    /// A POST, or another method that is not idempotent, is sent again only with `Request.idempotencyKey`, or in a service
    /// whose `RetryPolicy.methods` are `all`. A body that can be sent only once is not sent again. Then the sequence ends with
    /// the response, or throws the error that ended it. A connection after an error, or after a connection without an event,
    /// withdraws from the retry budget of the service.
    ///
    /// - Parameters:
    ///   - request: The request; `Accept`, `Cache-Control` and `Last-Event-ID` are added unless it has them.
    ///   - silence: How long the server may send nothing before the connection is opened anew; nil, the default, for any
    ///     time.
    ///   - limit: The most bytes of one line and characters of one event; 1 MiB by default.
    /// - Returns: The events. Their iterator throws `LoadingError.Kind.unacceptableStatus` for another status than 200
    ///   or 204. It throws `LoadingError.Kind.decoding` with ``ProcessingError/mediaType(expected:found:)`` for another
    ///   media type, and any error after which opening the connection anew cannot help.
    public func events(
        from request: Request,
        silence: Duration? = nil,
        limit: Int = 1 << 20
    ) -> Loader.EventStream {
        Loader.EventStream(loader: self, request: request, silence: silence, limit: limit)
    }
}

extension Loader {
    /// The events of a server over several connections; made by ``Loader/events(from:silence:limit:)``.
    public struct EventStream: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = Response.ServerSentEvent
        /// The error of reading.
        public typealias Failure = LoadingError

        /// The delay before a reconnection unless the server sets another.
        static let delay = Duration.seconds(3)
        /// The shortest delay, whatever the server requests.
        static let shortestDelay = Duration.milliseconds(100)
        /// The longest delay that doubling leads to.
        static let longestDelay = Duration.seconds(60)

        let loader: Loader
        var request: Request
        let silence: Duration?
        let limit: Int

        /// Starts the reading.
        public func makeAsyncIterator() -> Iterator { Iterator(self) }

        /// Walks over the events.
        public struct Iterator: AsyncIteratorProtocol {
            private let stream: Loader.EventStream
            private var events: Response.Body.ServerSentEvents.Iterator?
            private var isEnded = false
            private var lastEventID: String
            private var delay = Loader.EventStream.delay
            /// How many connections in a row have brought no event.
            private var fruitless = 0
            /// The sum that the connections since the last event have taken from the retry budget.
            private var withdrawn = 0
            /// Why the request cannot be sent again; nil when it can.
            private let obstacle: Call.RetryRule?

            init(_ stream: Loader.EventStream) {
                var stream = stream
                let settings = stream.loader.account.service.settings
                // Each connection is a call of its own, and all of them are one effect: they share the key.
                if stream.request.idempotencyKey == .generated {
                    stream.request.idempotencyKey = .value(Request.IdempotencyKey.make(settings.random))
                }
                self.stream = stream
                lastEventID = stream.request.headers["Last-Event-ID"] ?? ""
                obstacle = settings.retries.obstacle(toRepeating: stream.request)
            }

            /// The next event, or nil after the server has ended the stream.
            ///
            /// - Throws: The error that ended the stream for good; `LoadingError.Kind.cancelled` when the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LoadingError) -> Response.ServerSentEvent? {
                while !isEnded {
                    var failure: LoadingError?
                    do throws(LoadingError) {
                        guard !Task.isCancelled else {
                            throw LoadingError(.cancelled, LoadingError.Context(stream.request))
                        }
                        if let event = try await read(actor) { return event }
                        guard !isEnded else { return nil }
                    } catch {
                        failure = error
                    }
                    events = nil
                    do throws(LoadingError) {
                        try await wait(after: failure)
                    } catch {
                        isEnded = true
                        throw error
                    }
                }
                return nil
            }

            /// The next event, or nil after the server has ended the stream.
            public mutating func next() async throws(LoadingError) -> Response.ServerSentEvent? {
                try await next(isolation: #isolation)
            }

            /// The next event of the connection, which is opened if there is none; nil when it has ended.
            private mutating func read(_ actor: isolated (any Actor)?) async throws(LoadingError) -> Response
                .ServerSentEvent?
            {
                if events == nil { events = try await connect() }
                guard var reading = events else { return nil }
                defer {
                    // Also before an error: the fields that the server has sent so far count for the next connection.
                    lastEventID = reading.lastEventID
                    delay = reading.reconnectionDelay ?? delay
                }
                let event = try await reading.next(isolation: actor)
                events = reading
                if event != nil {
                    fruitless = 0
                    refund()
                }
                return event
            }

            /// Opens a connection; nil when the server has no more events.
            private mutating func connect() async throws(LoadingError) -> Response.Body.ServerSentEvents.Iterator? {
                var asked = stream.request
                asked.delivery = .streamed
                asked.timeouts.idle = stream.silence
                asked.acceptableStatuses = [200, 204]
                if !asked.headers.contains("Accept") { asked.headers.add("Accept", "text/event-stream") }
                if !asked.headers.contains("Cache-Control") { asked.headers.add("Cache-Control", "no-store") }
                // An identifier may have characters that no field value has; it is the server's, so the stream goes on without.
                if lastEventID.isEmpty || !lastEventID.utf8.allSatisfy(\.isFieldContent) {
                    asked.headers.remove("Last-Event-ID")
                } else {
                    asked.headers.set("Last-Event-ID", lastEventID)
                }
                fruitless += 1
                let response = try await stream.loader.load(asked)
                guard response.status == 200 else {
                    response.body.cancel()
                    isEnded = true
                    return nil
                }
                let type = response.headers.value(.contentType)
                // A field that cannot be read names no type.
                guard let type, (try? MediaType(type))?.essence == "text/event-stream" else {
                    response.body.cancel()
                    throw LoadingError(
                        .decoding,
                        LoadingError.Context(response),
                        underlyingError: ProcessingError.mediaType(expected: "text/event-stream", found: type)
                    )
                }
                return Response.Body.ServerSentEvents(response.body, lastEventID: lastEventID, limit: stream.limit)
                    .makeAsyncIterator()
            }

            /// Waits for the next connection, or ends the stream when there must be none.
            private mutating func wait(after failure: LoadingError?) async throws(LoadingError) {
                if let failure, !failure.isPassing { throw failure }
                guard obstacle == nil else {
                    if let failure { throw failure }
                    isEnded = true
                    return
                }
                guard withdraw(after: failure) else {
                    throw failure
                        ?? LoadingError(
                            .connectionLost(.nothing, isSafeToRepeat: false),
                            LoadingError.Context(stream.request)
                        )
                }
                var wait = Swift.max(delay, Loader.EventStream.shortestDelay)
                for _ in 1..<Swift.max(1, Swift.min(fruitless, 20)) where wait < Loader.EventStream.longestDelay {
                    wait = Swift.min(wait * 2, Loader.EventStream.longestDelay)
                }
                try await stream.loader.core.wait(for: wait, before: stream.request)
            }

            private var service: Service { stream.loader.account.service }

            /// Withdraws the cost of a connection that replaces a failed or an empty one; false when it may not be made.
            ///
            /// One in place of a connection that was never made costs nothing: an outage of the network does not end the stream.
            private mutating func withdraw(after failure: LoadingError?) -> Bool {
                if failure?.isFree == true { return true }
                guard failure != nil || fruitless > 0, let budget = service.settings.retryBudget else { return true }
                let isTimeout = if case .timedOut = failure?.kind { true } else { false }
                let cost = isTimeout ? budget.settings.timeoutCost : budget.settings.retryCost
                guard budget.withdraw(for: service.rateLimiter.keyRule(stream.request), cost: cost) else {
                    return false
                }
                withdrawn += cost
                return true
            }

            private mutating func refund() {
                guard withdrawn > 0 else { return }
                service.settings.retryBudget?.refund(for: service.rateLimiter.keyRule(stream.request), withdrawn)
                withdrawn = 0
            }
        }
    }
}

extension LoadingError {
    /// Whether the next connection may succeed.
    fileprivate var isPassing: Bool {
        switch kind {
        case .timedOut, .nameNotResolved, .cannotConnect, .connectionLost, .incompleteBody: true
        case .proxy(.nameNotResolved), .proxy(.cannotConnect): true
        default: false
        }
    }
}
