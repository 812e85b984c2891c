import LadeCore

extension Response {
    /// Ends a streamed body that is not wanted, so that its slot and connection are free for the next exchange.
    ///
    /// A body that is short and announced is read to its end, which keeps the connection; one that does not arrive within
    /// ``discardPatience``, and any other, ends its exchange.
    func discardBody(_ call: Call) async {
        let limit = 16 << 10
        guard body.bytes == nil else { return }
        guard let announced = headers["Content-Length"].flatMap({ Int($0) }), announced <= limit else {
            return body.cancel()
        }
        let body = body
        // An error of the body, a deadline and a cancellation all end it; the link above notices the last two itself.
        _ = try? await call.inTask { (call) async throws(LoadingError) in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await body.collect(limit: limit) }
                group.addTask { try? await call.time.sleep(for: Self.discardPatience) }
                await group.next()
                body.cancel()
                group.cancelAll()
            }
        }
    }

    /// How long the rest of an unwanted body may take: opening another connection is rarely slower.
    private static var discardPatience: Duration { .seconds(1) }
}
