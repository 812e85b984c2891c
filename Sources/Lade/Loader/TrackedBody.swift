#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A streamed body that ends with the loader, account or service that delivered it.
final class TrackedBody: ResponseBodySource {
    /// The group holds this member and not the body, so that an unread body can be released.
    private final class Member: Work {
        private weak let source: (any ResponseBodySource)?
        let asked: Request?

        init(_ source: any ResponseBodySource, _ request: Request) {
            self.source = source
            asked = request
        }

        func cancel() {
            source?.cancel()
        }
    }

    private let body: BodyReader
    private let slot: WorkGroup.Slot?
    private let group: WorkGroup
    private let request: Request
    private let attempts: Int
    /// Nil when no observer would receive it, or when the body is a part of one that is reported.
    private let report: BodyReport?

    /// Makes the body of a response end with the group; a complete body is not changed.
    static func track(_ response: Response, in group: WorkGroup, _ report: BodyReport? = nil) -> Response {
        guard response.body.bytes == nil else { return response }
        let source = TrackedBody(response, in: group, report)
        var copy = response
        copy.body = ResponseBody(streaming: source)
        return copy
    }

    private init(_ response: Response, in group: WorkGroup, _ report: BodyReport?) {
        self.report = report
        body = BodyReader(response.body)
        self.group = group
        request = response.request
        attempts = response.attempts
        slot = group.join(Member(body, request))
        if slot == nil { body.cancel() }
    }

    deinit {
        group.leave(slot)
    }

    func next() async throws(LoadingError) -> Data? {
        let chunk: Data?
        do throws(LoadingError) {
            chunk = try await body.next()
        } catch {
            group.leave(slot)
            let error = named(error).counted(attempts)
            report?.end(error)
            throw error
        }
        if let chunk {
            report?.count(chunk.count)
        } else {
            group.leave(slot)
            report?.end(.whole)
        }
        return chunk
    }

    func cancel() {
        body.cancel()
        group.leave(slot)
        report?.end(.cancelled)
    }

    func abandon() {
        body.cancel()
        group.leave(slot)
        report?.end(.abandoned)
    }

    /// A body whose loader was released throws an error that says so, because its reader has cancelled nothing.
    ///
    /// Any other error gets the request as its context, unless it has one.
    private func named(_ error: LoadingError) -> LoadingError {
        guard error.isCancellation, group.isSilent else { return error.filled(with: request) }
        var context = ErrorContext(request)
        context.detail = "its loader was released while its body was being read"
        return LoadingError(.cancelled, context)
    }

    var trailers: Headers { body.trailers }

    var metrics: Metrics { body.metrics }
}

/// Reads a body for a source that wraps it.
final class BodyReader: ResponseBodySource {
    private let body: ResponseBody
    // A source has one reader at a time, which alone takes the iterator out and puts it back.
    private let iterator: Locked<ResponseBody.Iterator?>
    private let isCancelled = Locked(false)

    init(_ body: ResponseBody) {
        self.body = body
        iterator = Locked(body.makeAsyncIterator())
    }

    func next() async throws(LoadingError) -> Data? {
        guard !isCancelled.withLock({ $0 }) else { throw LoadingError(.cancelled) }
        let taken = iterator.withLock { iterator -> ResponseBody.Iterator? in
            defer { iterator = nil }
            return iterator
        }
        guard var reading = taken else { return nil }
        let chunk = try await reading.next(isolation: #isolation)
        iterator.withLock { [reading] in $0 = reading }
        return chunk
    }

    func cancel() {
        isCancelled.withLock { $0 = true }
        body.cancel()
    }

    var trailers: Headers { body.trailers }

    var metrics: Metrics { body.metrics }
}
