public import Dispatch

/// Counts what calls cost: bytes up and down, heads included, for every exchange and for every call in all.
///
/// Exchanges that failed, were cancelled or repeated count like all others; a call's total is told once the call and all of
/// its exchanges are over, also when nobody waits for it any more. One observer belongs to one service, because calls are
/// told apart by their number. Source: brief `sptdataloader.txt`, `service-loader.md` §19, policies PL-61.
///
/// ```swift
/// let observation = service.observe(with: ConsumptionObserver { total in
///     print(total.bytesReceived, total.bytesSent)
/// })
/// ```
public final class ConsumptionObserver: EventSink {
    /// What one exchange cost.
    public struct Exchange: Sendable {
        /// The call it belongs to.
        public var call: Call.ID
        /// The attempt it belongs to, from 1 on.
        public var attempt: Int
        /// Why it failed; nil when it ended well.
        public var error: LoadingError?
        /// Everything that is known of it; bytes on the wire and after decoding apart.
        public var metrics: Metrics

        /// Bytes up, the head included.
        public var bytesSent: Int64 { metrics.bytesSent }
        /// Bytes down, the head included.
        public var bytesReceived: Int64 { metrics.bytesReceived }
    }

    /// What one call cost in all.
    public struct Total: Sendable {
        /// The call.
        public var call: Call.ID
        /// How many exchanges it took.
        public var exchanges = 0
        /// Bytes up, heads included.
        public var bytesSent: Int64 = 0
        /// Bytes down, heads included.
        public var bytesReceived: Int64 = 0
        /// How long it took until the last of its exchanges was over, with every wait and every attempt.
        public var duration: Duration = .zero
        /// The status it ended with; nil when it failed.
        public var status: Status?
        /// Why it failed; nil when it ended with an answer.
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
    ///   - queue: Where to call; nil for the thread at hand, which must not be kept waiting. The main queue by default.
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

    /// Takes one event.
    public func record(_ event: Event, of call: Call) {
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

    /// Makes an entry, and tells the total when it was the last.
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
