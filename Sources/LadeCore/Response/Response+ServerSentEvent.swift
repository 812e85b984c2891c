extension Response {
    /// An event that a server sends over an open response (`text/event-stream`, WHATWG HTML §9.2).
    public struct ServerSentEvent: Sendable, Hashable {
        /// Its type; `message` unless the server names another.
        public var type: String
        /// Its text; several `data` lines are joined by LF.
        public var data: String
        /// The identifier of the last event that had one, this one included; empty before the first.
        public var lastEventID: String

        /// Makes an event.
        public init(type: String = "message", data: String, lastEventID: String = "") {
            self.type = type
            self.data = data
            self.lastEventID = lastEventID
        }
    }
}

/// Makes events of the lines of a stream (WHATWG HTML §9.2.6).
struct ServerSentEventParser: Sendable {
    private let limit: Int
    private var type = ""
    private var data: [String] = []
    private var size = 0
    private var isFirst = true
    /// The identifier to send with the next connection.
    private(set) var lastEventID: String
    private var id: String
    /// The delay before a reconnection that the server requested; nil when it requested none.
    private(set) var delay: Duration?

    init(lastEventID: String = "", limit: Int) {
        self.limit = limit
        self.lastEventID = lastEventID
        id = lastEventID
    }

    /// Takes a line; returns the event that it ends.
    ///
    /// - Throws: ``LoadingError/Kind/bodyTooLarge(limit:announced:)`` when the event is larger than the limit.
    mutating func take(_ line: String) throws(LoadingError) -> Response.ServerSentEvent? {
        var line = line[...]
        if isFirst, line.unicodeScalars.first == "\u{FEFF}" { line.unicodeScalars.removeFirst() }
        isFirst = false
        guard !line.isEmpty else { return dispatch() }
        let name = line.unicodeScalars.prefix { $0 != ":" }
        var value = line.unicodeScalars[name.endIndex...].dropFirst()
        if value.first == " " { value.removeFirst() }
        switch String(name) {
        case "data":
            size += value.count + 1
            guard size <= limit else { throw LoadingError(.bodyTooLarge(limit: limit, announced: nil)) }
            data.append(String(value))
        case "event": type = String(value)
        case "id": if !value.contains("\0") { id = String(value) }
        case "retry":
            // At most one hour, so that a delay that a server sends by mistake does not end the stream.
            if !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) {
                delay = .milliseconds(min(Int64(String(value)) ?? .max, 3_600_000))
            }
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> Response.ServerSentEvent? {
        lastEventID = id
        defer { (type, data, size) = ("", [], 0) }
        guard !data.isEmpty else { return nil }
        return Response.ServerSentEvent(
            type: type.isEmpty ? "message" : type,
            data: data.joined(separator: "\n"),
            lastEventID: lastEventID
        )
    }
}

extension Response.Body {
    /// The events of the body (`text/event-stream`); see ``serverSentEvents(limit:)``.
    public var serverSentEvents: Response.Body.ServerSentEvents { serverSentEvents() }

    /// The events of the body, as long as this one response lasts.
    ///
    /// `Loader.events(from:)` of the module `Lade` reconnects when the response ends.
    ///
    /// - Parameter limit: The most bytes of one line and characters of one event; 1 MiB by default. A larger one throws
    ///   ``LoadingError/Kind/bodyTooLarge(limit:announced:)``.
    /// - Returns: The events; an event that the end of the body cuts off is dropped.
    public func serverSentEvents(limit: Int = 1 << 20) -> Response.Body.ServerSentEvents {
        Response.Body.ServerSentEvents(self, limit: limit)
    }
}

extension Response.Body {
    /// The events of a ``Response/Body``.
    public struct ServerSentEvents: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = Response.ServerSentEvent
        /// The error of reading.
        public typealias Failure = LoadingError

        private let body: Response.Body
        private let limit: Int
        private let lastEventID: String

        package init(_ body: Response.Body, lastEventID: String = "", limit: Int) {
            self.body = body
            self.limit = limit
            self.lastEventID = lastEventID
        }

        /// Starts the reading.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                body.lines(limit: limit).makeAsyncIterator(),
                ServerSentEventParser(lastEventID: lastEventID, limit: limit)
            )
        }

        /// Walks over the events.
        public struct Iterator: AsyncIteratorProtocol {
            private var lines: Response.Body.Lines.Iterator
            private var parser: ServerSentEventParser

            init(_ lines: Response.Body.Lines.Iterator, _ parser: ServerSentEventParser) {
                self.lines = lines
                self.parser = parser
            }

            /// The identifier of the last event that had one.
            public var lastEventID: String { parser.lastEventID }

            /// The delay before a reconnection that the server has set; nil when it has not.
            public var reconnectionDelay: Duration? { parser.delay }

            /// The next event, or nil after the last.
            ///
            /// - Throws: The error of the body; ``LoadingError/Kind/bodyTooLarge(limit:announced:)`` above the limit;
            ///   ``LoadingError/Kind/cancelled`` when the task is cancelled, also where more events have arrived.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LoadingError) -> Response.ServerSentEvent? {
                while let line = try await lines.next(isolation: actor) {
                    if let event = try parser.take(line) { return event }
                }
                return nil
            }

            /// The next event, or nil after the last.
            public mutating func next() async throws(LoadingError) -> Response.ServerSentEvent? {
                try await next(isolation: #isolation)
            }
        }
    }
}
