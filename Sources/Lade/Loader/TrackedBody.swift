/// Makes streamed bodies end with the loader, account or service that delivered them.
///
/// The body of an awaited call keeps its loader, through the member of the group, until it ends or is released.
enum TrackedBody {
    /// The group holds this member and not the body, so that an unread body can be released.
    private final class Member: Work {
        private weak let source: (any Response.Body.Source)?
        let asked: Request?
        // The loader holds the group, which holds this member: a cycle that the end of the body breaks.
        private let loader: Loader?

        init(_ source: any Response.Body.Source, _ request: Request, keeping loader: Loader?) {
            self.source = source
            asked = request
            self.loader = loader
        }

        func cancel() {
            source?.cancel()
        }
    }

    /// Makes the body of a response end with the group; a complete body is not changed.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - group: The group that its body joins.
    ///   - report: The reporter of the end; nil when no observer would receive it, or when the body is a part of one
    ///     that is reported.
    ///   - loader: The loader that the body keeps until its end; nil when releasing the loader ends the body.
    /// - Returns: The response with a tracked body.
    static func track(
        _ response: Response,
        in group: WorkGroup,
        _ report: BodyReport? = nil,
        keeping loader: Loader? = nil
    ) -> Response {
        let (request, attempts) = (response.request, response.attempts)
        var copy = response
        copy.body = response.body.wrapped { observed($0, request, attempts, in: group, report, loader) }
        return copy
    }

    private static func observed(
        _ source: any Response.Body.Source,
        _ request: Request,
        _ attempts: Int,
        in group: WorkGroup,
        _ report: BodyReport?,
        _ loader: Loader?
    ) -> ObservedBody {
        let slot = group.join(Member(source, request, keeping: loader))
        let translate: @Sendable (LoadingError) -> LoadingError = { named($0, group, request, attempts) }
        let count: @Sendable (Int) -> Void = { report?.count($0) }
        let body = ObservedBody(source, onChunk: count, translate: translate) { (end: ObservedBody.End) in
            group.leave(slot)
            switch end {
            case .whole: report?.end(.whole)
            case .failed(let error): report?.end(translate(error))
            case .cancelled: report?.end(.cancelled)
            case .abandoned: report?.end(.abandoned)
            }
        }
        if slot == nil { body.cancel() }
        return body
    }

    /// A body whose loader was released throws an error that says so, because its reader has cancelled nothing.
    ///
    /// Any other error gets the request as its context, unless it has one.
    private static func named(_ error: LoadingError, _ group: WorkGroup, _ request: Request, _ attempts: Int)
        -> LoadingError
    {
        guard error.isCancellation, group.isSilent else { return error.completed(with: request, attempts: attempts) }
        var context = LoadingError.Context(request)
        context.detail = "its loader was released while its body was being read"
        context.attempts = attempts
        return LoadingError(.cancelled, context)
    }
}
