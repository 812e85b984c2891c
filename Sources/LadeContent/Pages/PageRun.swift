import Lade

/// What the handles of one paged endpoint share, and the running of each.
struct PageSource<Value: Sendable>: Sendable {
    let access: LoaderAccess
    let paged: PagedEndpoint<Value>
    let activity: NetworkActivity
    let completion: Completion<PageOutcome<Value>>
}

/// The runs of one page's request.
final class PageRun<Value: Sendable>: Sendable {
    let source: PageSource<Value>
    let page: Page
    let options: RequestOptions
    let control: RunControl
    private let pipeline: ResponsePipeline<Value>

    init(_ source: PageSource<Value>, _ page: Page, _ options: RequestOptions) {
        self.source = source
        self.page = page
        self.options = options
        control = RunControl(countedIn: source.activity)
        pipeline = ResponsePipeline(source.access, source.paged.endpoint(of: page))
    }

    /// Starts a run that keeps the handle until its end.
    func resume(keeping handle: any GroupedRequest) {
        control.start { [self] run in
            let outcome = await pipeline.outcome(options).map { complete($0) }
            await source.completion.conclude(
                run,
                of: control,
                source.access,
                options,
                outcome,
                cancelled: complete(pipeline.cancelled),
                keeping: handle
            )
        }
    }

    /// Adds the page, and the next one when there is a value to find it from.
    private func complete(_ outcome: RequestOutcome<Value>) -> PageOutcome<Value> {
        var complete = PageOutcome<Value>(
            value: outcome.value,
            page: page,
            response: outcome.response,
            error: outcome.error
        )
        guard let value = outcome.value, let response = outcome.response else { return complete }
        do throws(PageFailure) {
            complete.nextPage = try source.paged.page(after: page, value: value, response: response)
        } catch {
            complete.error = .pagination(error)
        }
        return complete
    }
}
