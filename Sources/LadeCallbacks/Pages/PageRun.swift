import Lade

/// The shared parts of the handles of one paged endpoint.
struct PageSource<Value: Sendable>: Sendable {
    let access: LoaderAccess
    let paged: PagedEndpoint<Value>
    let activity: NetworkActivity
    let completion: Completion<Pages.Page<Outcome<Value, NetworkError>>>
}

/// The state of a page's handle: the page, its options, and its runs.
final class PageRun<Value: Sendable>: Sendable {
    let source: PageSource<Value>
    let page: PageRequest
    let options: RequestOptions
    let control: RunControl

    init(_ source: PageSource<Value>, _ page: PageRequest, _ options: RequestOptions) {
        self.source = source
        self.page = page
        self.options = options
        control = RunControl(countedIn: source.activity)
    }

    /// Starts a run that keeps the handle alive until its end.
    func resume(keeping handle: any GroupedRequest) {
        control.start(
            source.access,
            options,
            notifying: source.completion,
            cancelled: Pages.Page(page: page, content: .cancelled(page.request)),
            keeping: handle
        ) { [self] in
            await outcome()
        }
    }

    /// Runs of the same page with other options.
    func with(_ options: RequestOptions) -> PageRun {
        PageRun(source, page, options)
    }

    /// Runs of another page with the same options.
    func turned(to page: PageRequest) -> PageRun {
        PageRun(source, page, options)
    }

    /// Loads the page, and determines the next one when there is a value; nil when nothing must be delivered.
    private func outcome() async -> Pages.Page<Outcome<Value, NetworkError>>? {
        do throws(PageError) {
            let loaded = try await source.paged.load(page) { outcome in
                outcome.flatMap { outcome in
                    guard let value = outcome.value, let response = outcome.response else { return nil }
                    return Loader.Loaded(value: value, response: response)
                }
            } _: { [source, options] endpoint in
                await ResponsePipeline(source.access, endpoint).outcome(options)
            }
            guard var content = loaded.content else { return nil }
            if let failure = loaded.nextFailure { content.error = .pagination(failure) }
            return Pages.Page(
                page: page,
                next: loaded.next,
                nextFailure: loaded.nextFailure,
                total: loaded.total,
                content: content
            )
        } catch {
            return Pages.Page(page: page, content: Outcome(request: page.request, error: .pagination(error)))
        }
    }
}
