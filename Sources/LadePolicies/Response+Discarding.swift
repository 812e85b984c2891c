package import LadeCore

extension Response {
    /// Ends an unneeded streamed body, so that its slot and connection are free for the next exchange.
    ///
    /// A short body of announced length is read to its end, which keeps the connection. A body that does not arrive within
    /// ``discardPatience``, and any other body, ends its exchange.
    package func discardBody(_ call: Call) async {
        let limit = 16 << 10
        guard body.bytes == nil else { return }
        guard let announced = headers.contentLength, announced <= limit else {
            return body.cancel()
        }
        let body = body
        // An error of the body, a deadline and a cancellation all end it; the interceptor above notices the last two
        // itself.
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

    /// The longest time to read the rest of an unneeded body: opening another connection rarely takes longer.
    private static var discardPatience: Duration { .seconds(1) }
}
