public import Dispatch

/// Counts the bytes sent and received, heads included, for every exchange and in total for every call.
///
/// Exchanges that failed, were cancelled or were sent again count like all others. The total of a call is reported
/// once, when the call and all of its exchanges have ended, even when its caller has stopped waiting. Use one observer
/// for each service, because it identifies calls by their number.
///
/// ```swift
/// let observation = service.observe(with: ConsumptionObserver { total in
///     print(total.bytesReceived, total.bytesSent)
/// })
/// ```
public final class ConsumptionObserver: Call.Observer {
    /// The consumption of one exchange.
    public struct Exchange: Sendable {
        /// The call that the exchange belongs to.
        public var call: Call.ID
        /// The number of the attempt that the exchange belongs to, starting at 1.
        public var attempt: Int
        /// The error that the exchange failed with; nil when it succeeded.
        public var error: LoadingError?
        /// The measurements of the exchange; they list bytes on the wire and decoded bytes separately.
        public var metrics: Response.Metrics

        /// Bytes sent, the head included.
        public var bytesSent: Int64 { metrics.bytesSent }
        /// Bytes received, the head included.
        public var bytesReceived: Int64 { metrics.bytesReceived }
    }

    /// The consumption of one call in total.
    public struct Total: Sendable {
        /// The call.
        public var call: Call.ID
        /// The number of exchanges of the call.
        public var exchanges = 0
        /// Bytes sent, heads included.
        public var bytesSent: Int64 = 0
        /// Bytes received, heads included.
        public var bytesReceived: Int64 = 0
        /// The time from the start of the call to the end of its last exchange, including waits and retries.
        public var duration: Duration = .zero
        /// The status of the response; nil when the call failed.
        public var status: Response.Status?
        /// The error that the call failed with; nil when it ended with a response.
        public var error: LoadingError?
    }

    private struct Book {
        var total: Total
        let start: Instant
        var begun = 0
        var ended = 0
        var isOver = false
    }

    private let books = Locked<[Call.ID: Book]>([:])
    private let queue: DispatchQueue?
    private let exchangeEnded: @Sendable (Exchange) -> Void
    private let callEnded: @Sendable (Total) -> Void

    /// Makes an observer.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closures are called; the main queue by default. With nil they are called on
    ///     the current thread, which they must not block.
    ///   - exchange: Called at the end of each exchange.
    ///   - call: Called at the end of each call.
    public init(
        on queue: DispatchQueue? = .main,
        exchange: @escaping @Sendable (Exchange) -> Void = { _ in },
        call: @escaping @Sendable (Total) -> Void
    ) {
        self.queue = queue
        exchangeEnded = exchange
        callEnded = call
    }

    /// Records one event.
    public func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .callStarted:
            books.withLock { $0[call.id] = Book(total: Total(call: call.id), start: call.time.now) }
        case .exchangeStarted:
            books.withLock { $0[call.id]?.begun += 1 }
        case .exchangeFinished(let metrics):
            end(Exchange(call: call.id, attempt: call.attempt, error: nil, metrics: metrics), of: call)
        case .exchangeFailed(let error, let metrics):
            end(Exchange(call: call.id, attempt: call.attempt, error: error, metrics: metrics), of: call)
        case .callFinished(let status):
            close(call) { book in
                book.isOver = true
                book.total.status = status
            }
        case .callFailed(let error):
            close(call) { book in
                book.isOver = true
                book.total.error = error
            }
        default:
            break
        }
    }

    private func end(_ exchange: Exchange, of call: Call) {
        run { [exchangeEnded] in exchangeEnded(exchange) }
        close(call) { book in
            book.ended += 1
            book.total.exchanges += 1
            book.total.bytesSent += exchange.bytesSent
            book.total.bytesReceived += exchange.bytesReceived
        }
    }

    /// Changes the record of a call, and reports the total when this was the last change.
    private func close(_ call: Call, _ enter: (inout Book) -> Void) {
        let (id, now) = (call.id, call.time.now)
        let total = books.withLock { books -> Total? in
            guard var book = books[id] else { return nil }
            enter(&book)
            guard book.isOver, book.ended >= book.begun else {
                books[id] = book
                return nil
            }
            books[id] = nil
            book.total.duration = book.start.duration(to: now)
            return book.total
        }
        if let total { run { [callEnded] in callEnded(total) } }
    }

    private func run(_ work: @escaping @Sendable () -> Void) {
        guard let queue else { return work() }
        queue.async(execute: work)
    }
}
