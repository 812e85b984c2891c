import Lade

/// What the handles of one paged endpoint share.
struct PageSource<Value: Sendable>: Sendable {
    let access: LoaderAccess
    let paged: PagedEndpoint<Value>
    let activity: NetworkActivity
    let completion: Completion<PageOutcome<Value>>
}

/// What every handle of a page holds: the page, its options, and its runs.
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
        control.start(asking: pipeline, options, telling: source.completion, keeping: handle) { [self] in complete($0) }
    }

    /// Runs of the same page with other options.
    func with(_ options: RequestOptions) -> PageRun {
        PageRun(source, page, options)
    }

    /// Runs of another page with the same options.
    func turned(to page: Page) -> PageRun {
        PageRun(source, page, options)
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
