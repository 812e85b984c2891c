#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeContent
import LadeCore
import LadeTesting
import Testing

@MainActor
@Suite("Paged content models", .timeLimit(.minutes(5)))
struct PagedContentModelTests {
    /// The addresses of an app's resources, which tests replace by files.
    private protocol URLStore: Sendable {
        func search(term: String, page: Int) -> URL
        var pinned: URL { get }
    }

    private struct FileStore: URLStore {
        let folder: URL

        func search(term: String, page: Int) -> URL { folder.appending(path: "\(term)-\(page).json") }
        var pinned: URL { folder.appending(path: "pinned.json") }
    }

    /// Loads the app's resources from the addresses in the store.
    private struct APIManager: Sendable {
        let loader: Loader
        let urls: any URLStore

        func search(_ term: String, page: Int) async throws -> [String] {
            try await loader.load(Endpoint(urls.search(term: term, page: page)).decoding([String].self))
        }

        func pinned() async throws -> [String] {
            try await loader.load(Endpoint(urls.pinned).decoding([String].self))
        }
    }

    /// Files of 25 and 10 items for two terms, and a model that searches in them.
    @MainActor
    private final class Search {
        let model: PagedContentModel<String, String>
        let manager: APIManager
        /// The terms that were searched for, in order.
        let terms = Locked<[String]>([])
        private let folder: URL

        init() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)")
            self.folder = folder
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for term in ["a", "b"] {
                for (page, count) in [(0, 25), (1, 10)] {
                    let items = (0..<count).map { "\(term)\(page)-\($0)" }
                    try JSONEncoder().encode(items).write(to: folder.appending(path: "\(term)-\(page).json"))
                }
            }
            try JSONEncoder().encode(["top"]).write(to: folder.appending(path: "pinned.json"))
            let manager = APIManager(loader: try Loader(), urls: FileStore(folder: folder))
            self.manager = manager
            let terms = terms
            model = try PagedContentModel(triggers: [.initialised]) { position in
                guard let term = position.query, !term.isEmpty else { return ContentPage([], hasMore: false) }
                terms.withLock { $0.append(term) }
                return ContentPage(try await manager.search(term, page: position.index))
            }
        }

        deinit {
            // A temporary folder that remains does no harm.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private func loaded(_ term: String) async throws -> Search {
        let search = try Search()
        search.model.startOver(with: term)
        _ = await settled(search.model)
        return search
    }

    @Test("content PG-01 without a term a view that appears has no content and no error")
    func nothingToLoad() async throws {
        let search = try Search()
        search.model.lifetime = .willAppear
        #expect(await settled(search.model) == .empty)
        #expect(search.model.items.isEmpty)
        #expect(search.model.lastError == nil)
    }

    @Test("content PG-02 a term loads the first page")
    func firstPage() async throws {
        let search = try await loaded("a")
        #expect(search.model.items.count == 25)
        #expect(search.model.items[2] == "a0-2")
        #expect(search.model.hasMore)
    }

    @Test("a search as the user types starts over only when the term changes")
    func typedSearch() async throws {
        let search = try Search()
        for term in ["a", "a", "b"] {
            search.model.refresh(whenChanged: .startOver(term))
            _ = await settled(search.model)
        }

        #expect(search.terms.withLock(\.self) == ["a", "b"])
        #expect(search.model.items.first == "b0-0")
    }

    @Test("content PG-03 the next page is appended, and a short one is the last")
    func nextPage() async throws {
        let search = try await loaded("a")
        search.model.loadNextPage()
        #expect(search.model.snapshot.reason == .nextPage)
        #expect(search.model.items.count == 25)
        _ = await settled(search.model)
        #expect(search.model.items.count == 35)
        #expect(search.model.items[2] == "a0-2")
        #expect(search.model.items[26] == "a1-1")
        #expect(!search.model.hasMore)
    }

    @Test("content PG-04 starting over has the first page only")
    func startingOver() async throws {
        let search = try await loaded("a")
        search.model.loadNextPage()
        _ = await settled(search.model)
        search.model.startOver(with: "a")
        _ = await settled(search.model)
        #expect(search.model.items.count == 25)
        #expect(search.model.hasMore)
    }

    @Test("content PG-05 another term replaces the items")
    func anotherTerm() async throws {
        let search = try await loaded("a")
        search.model.startOver(with: "b")
        _ = await settled(search.model)
        #expect(search.model.items.count == 25)
        #expect(search.model.items.allSatisfy { $0.hasPrefix("b0-") })
        #expect(search.model.hasMore)
    }

    @Test("content PG-06 two resources joined into one model have the fields of both")
    func combined() async throws {
        let search = try Search()
        let joined = ContentModel<String, [[String]]> { [manager = search.manager] term in
            async let pinned = manager.pinned()
            async let found = manager.search(term ?? "a", page: 1)
            return [try await pinned, try await found]
        }
        _ = await joined.load("b")
        #expect(joined.content?.first == ["top"])
        #expect(joined.content?.last?.count == 10)
        #expect(joined.content?.last?.first == "b1-0")
    }

    @Test("content PG-07 the same term twice loads twice, the second time as a refresh")
    func sameTerm() async throws {
        let search = try await loaded("a")
        search.model.startOver(with: "a")
        #expect(search.model.snapshot.reason == .refresh)
        _ = await settled(search.model)
        #expect(search.terms.withLock { $0 } == ["a", "a"])
        #expect(search.model.items.count == 25)
    }

    @Test("content XL-22 a store of file addresses loads on every platform, and a missing file is an error")
    func files() async throws {
        let search = try Search()
        let model = ContentModel<String, [String]> { [manager = search.manager] _ in
            try await manager.search("missing", page: 0)
        }
        guard case .error(let error) = await model.load() else {
            Issue.record("the file is not there")
            return
        }
        guard case .file? = (error as? LoadingError)?.kind else {
            Issue.record("another error: \(error)")
            return
        }
    }

    // MARK: - Guards and arithmetic

    private typealias Script = LoadScript<PagePosition<String>, ContentPage<Int>>

    private func scripted(_ script: Script, pageSize: Int = 25) throws -> PagedContentModel<String, Int> {
        try PagedContentModel(pageSize: pageSize) { position in
            guard let page = try await script.load(position) else { throw LoadingTestError() }
            return page
        }
    }

    @Test("content XL-14 no next page is loaded when there is none, before the first, or while a load runs")
    func guards() async throws {
        let script = Script()
        let model = try scripted(script)
        model.loadNextPage()
        #expect(model.state == .unloaded)
        model.startOver()
        try await script.begun(1)
        model.loadNextPage()
        script.end(0, .success(ContentPage(Array(0..<25))))
        _ = await settled(model)
        model.loadNextPage()
        model.loadNextPage()
        try await script.begun(2)
        script.end(1, .success(ContentPage([25])))
        _ = await settled(model)
        model.loadNextPage()

        #expect(!model.isLoading)
        #expect(script.inputs.compactMap { $0?.index } == [0, 1])
        #expect(model.items == Array(0...25))
    }

    @Test("content XL-15 a next page that failed is requested again, without duplicates")
    func retryOfPage() async throws {
        let script = Script()
        let model = try scripted(script, pageSize: 2)
        model.startOver(with: "q")
        try await script.begun(1)
        script.end(0, .success(ContentPage([0, 1], cursor: "next")))
        _ = await settled(model)
        model.loadNextPage()
        try await script.begun(2)
        script.end(1, .failure(LoadingTestError()))

        #expect(await settled(model) == .error(LoadingTestError()))
        #expect(model.items == [0, 1])
        #expect(model.hasMore)
        model.retry()
        #expect(model.snapshot.reason == .nextPage)
        try await script.begun(3)
        script.end(2, .success(ContentPage([2], hasMore: false)))
        _ = await settled(model)

        #expect(model.items == [0, 1, 2])
        #expect(script.inputs.compactMap { $0?.index } == [0, 1, 1])
        #expect(script.inputs.compactMap { $0?.cursor as? String } == ["next", "next"])
        #expect(script.inputs.allSatisfy { $0?.query == "q" })
    }

    @Test("content XL-16 another page size starts over, the same does nothing, and none is refused")
    func pageSizes() async throws {
        let script = Script()
        let model = try scripted(script)
        try model.setPageSize(20)
        #expect(model.state == .unloaded)
        model.startOver(with: "q")
        try await script.begun(1)
        script.end(0, .success(ContentPage([1])))
        _ = await settled(model)

        try model.setPageSize(20)
        #expect(!model.isLoading)
        let error = #expect(throws: LoadingError.self) { try model.setPageSize(0) }
        let sentence = try #require(error).description
        #expect(sentence.contains("page size") && sentence.contains("0 is less than 1"))
        #expect(throws: LoadingError.self) { _ = try scripted(script, pageSize: -1) }
        #expect(throws: LoadingError.self) { _ = try scripted(script, pageSize: 0) }
        #expect(try scripted(script, pageSize: 1).pageSize == 1)
        let smallest = try scripted(script)
        try smallest.setPageSize(1)
        #expect(smallest.pageSize == 1)
        #expect(model.pageSize == 20)
        try model.setPageSize(30)
        #expect(model.isLoading)
        try await script.begun(2)

        #expect(script.inputs.compactMap { $0?.size } == [20, 30])
        #expect(script.inputs.compactMap { $0?.query } == ["q", "q"])
        model.cancel()
    }

    @Test("content XL-17 a full page and then an empty one is a success with all items and no more")
    func fullThenEmpty() async throws {
        let script = Script()
        let model = try scripted(script)
        model.startOver()
        try await script.begun(1)
        script.end(0, .success(ContentPage(Array(0..<25))))
        _ = await settled(model)
        #expect(model.hasMore)
        model.loadNextPage()
        try await script.begun(2)
        script.end(1, .success(ContentPage([])))

        guard case .success(let content) = await settled(model) else {
            Issue.record("no success: \(model.state)")
            return
        }
        #expect(content.items.count == 25)
        #expect(!content.hasMore)
        #expect(model.totalItemCount == 25)
    }

    @Test("loaded pages are equal when items, number of pages and whether there are more are")
    func equality() async throws {
        let script = Script()
        let model = try scripted(script)
        let pages = [
            ContentPage([1, 2], hasMore: true), ContentPage([], hasMore: true), ContentPage([], hasMore: false),
        ]
        var contents: [PagedContent<Int>] = []
        model.startOver()
        for (number, page) in pages.enumerated() {
            try await script.begun(number + 1)
            script.end(number, .success(page))
            _ = await settled(model)
            contents.append(try #require(model.content))
            model.loadNextPage()
        }

        #expect(contents.map(\.items) == [[1, 2], [1, 2], [1, 2]])
        #expect(contents[0] == contents[0] && contents[0] != contents[1] && contents[1] != contents[2])
        model.startOver()
        try await script.begun(4)
        script.end(3, .success(ContentPage([1, 2], hasMore: false)))
        _ = await settled(model)
        #expect(model.content != contents[0])
        model.startOver()
        try await script.begun(5)
        script.end(4, .success(ContentPage([1, 3], hasMore: true)))
        _ = await settled(model)
        #expect(model.content != contents[0])
    }

    @Test(
        "there is another page as the page says, else with a cursor, else after the requested number of items",
        arguments: [
            (ContentPage([0, 1]), true), (ContentPage([0]), false), (ContentPage([0, 1, 2]), true),
            (ContentPage([0], cursor: 7), true), (ContentPage([0], cursor: 7, hasMore: false), false),
            (ContentPage([0], hasMore: true), true), (ContentPage([0, 1], hasMore: false), false),
        ] as [(ContentPage<Int>, Bool)]
    )
    func furtherPages(page: ContentPage<Int>, hasMore: Bool) async throws {
        let model = try PagedContentModel<String, Int>(pageSize: 2) { _ in page }
        _ = await model.load()
        #expect(model.hasMore == hasMore)
    }

    @Test("a paged model loads and cancels by the lifetime of its view, as its policy says")
    func lifetime() async throws {
        let script = Script()
        var model: PagedContentModel<String, Int>? = try PagedContentModel(
            triggers: [.willAppear],
            cancelsOn: [.didDisappear],
            policy: .withoutContent
        ) { try await script.load($0) ?? ContentPage([]) }
        guard let refreshes = model?.refreshes else { return }
        model?.lifetime = .willAppear
        model?.lifetime = .didDisappear
        #expect(model?.state == .unloaded)
        model?.lifetime = .willAppear
        try await script.begun(2)
        for number in 0..<2 { script.end(number, .success(ContentPage([1]))) }
        if let model { _ = await settled(model) }

        model?.lifetime = .willAppear
        model = nil

        #expect(await all(refreshes) == [nil, nil])
    }

    @Test("a page whose load is cancelled elsewhere is not a failure")
    func cancelledElsewhere() async throws {
        let transport = ScriptedTransport(answering: .stalls)
        let loader = Service(transport: transport).anonymous.makeLoader()
        let pages = PagedEndpoint(try Endpoint("https://svc.example.com/list"), paginator: .rule(.body(["next"])))
        let model = try PagedContentModel<String, Int> { _ in
            _ = try await loader.load(pages.firstPage(), of: pages)
            return ContentPage([1])
        }
        model.startOver()
        _ = try await transport.request(at: 0)

        loader.cancelAllLoads()

        #expect(await settled(model) == .unloaded)
    }

    @Test("a page after a short one has its own number and the true count of items before it")
    func shortPages() async throws {
        let script = Script()
        let model = try scripted(script)
        model.startOver()
        for (number, count) in [10, 25, 5].enumerated() {
            try await script.begun(number + 1)
            script.end(number, .success(ContentPage(Array(repeating: number, count: count), hasMore: number < 2)))
            _ = await settled(model)
            model.loadNextPage()
        }
        #expect(script.inputs.compactMap { $0?.index } == [0, 1, 2])
        #expect(script.inputs.compactMap { $0?.itemsBefore } == [0, 10, 35])
        #expect(model.items.count == 40)
    }

    @Test("nothing at all is empty, and a first page without items but with more is not")
    func emptiness() async throws {
        let script = Script()
        let model = try scripted(script)
        model.startOver()
        try await script.begun(1)
        script.end(0, .success(ContentPage([], hasMore: true)))
        #expect(await settled(model) != .empty)
        model.startOver()
        try await script.begun(2)
        script.end(1, .success(ContentPage([])))
        #expect(await settled(model) == .empty)
    }

    @Test(
        "the page after the loaded ones is of their list, when another list was cancelled or failed",
        arguments: [true, false]
    )
    func interruptedSearch(isCancelled: Bool) async throws {
        let script = Script()
        let model = try scripted(script, pageSize: 2)
        model.startOver(with: "a")
        try await script.begun(1)
        script.end(0, .success(ContentPage([0, 1], cursor: "a1")))
        _ = await settled(model)
        model.startOver(with: "b")
        try await script.begun(2)
        if isCancelled {
            model.cancel()
        } else {
            script.end(1, .failure(LoadingTestError()))
            _ = await settled(model)
        }
        try model.setPageSize(3)
        try await script.begun(3)
        model.cancel()

        model.loadNextPage()
        try await script.begun(4)
        let position = script.inputs[3]
        #expect(position?.query == "a" && position?.index == 1 && position?.size == 2)
        #expect(position?.itemsBefore == 2 && position?.cursor as? String == "a1")
        script.end(3, .success(ContentPage([2])))
        _ = await settled(model)
        #expect(model.items == [0, 1, 2] && !model.hasMore)

        // A list that starts over has the query of what is shown, and the last size.
        model.refresh()
        try await script.begun(5)
        #expect(script.inputs[4]?.query == "a" && script.inputs[4]?.size == 3)
        model.cancel()
    }

    /// What starts a list over without naming its query.
    enum Restart: CaseIterable {
        case refresh
        case trigger
        case pageSize
    }

    @Test(
        "finding LF-9 a list that starts over without a query has that of the shown content",
        arguments: Restart.allCases,
        [true, false]
    )
    func queryOfTheShown(restart: Restart, isCancelled: Bool) async throws {
        let script = Script()
        let model = try PagedContentModel<String, Int>(pageSize: 2, triggers: [.willAppear]) { position in
            try await script.load(position) ?? ContentPage([])
        }
        for (number, query) in ["a", "b"].enumerated() {
            model.startOver(with: query)
            try await script.begun(number + 1)
            guard query == "b" else {
                script.end(0, .success(ContentPage([0, 1])))
                _ = await settled(model)
                continue
            }
            if isCancelled {
                model.cancel()
            } else {
                script.end(1, .failure(LoadingTestError()))
                _ = await settled(model)
            }
        }

        switch restart {
        case .refresh: model.refresh()
        case .trigger: model.lifetime = .willAppear
        case .pageSize: try model.setPageSize(3)
        }
        try await script.begun(3)

        #expect(script.inputs[2]?.query == "a" && script.inputs[2]?.index == 0)
        model.cancel()
    }

    @Test("finding LF-9 a change of the page size during a load keeps its query, and so does a view before any content")
    func queryOfTheLoadInProgress() async throws {
        let script = Script()
        let model = try scripted(script, pageSize: 2)
        model.startOver(with: "a")
        try await script.begun(1)
        model.cancel()
        // Nothing is shown, as when a view disappears before its first page.
        model.refresh()
        try await script.begun(2)
        script.end(1, .success(ContentPage([0, 1])))
        _ = await settled(model)
        model.startOver(with: "b")
        try await script.begun(3)

        try model.setPageSize(3)
        try await script.begun(4)

        #expect(script.inputs.map { $0?.query } == ["a", "a", "b", "b"] && script.inputs[3]?.size == 3)
        model.cancel()
    }

    @Test(
        "finding LF-10 a page with as many items as asked for, or more, is not the last",
        arguments: [0, 1, 2, 3, 100]
    )
    func longPages(count: Int) async throws {
        let model = try PagedContentModel<String, Int>(pageSize: 2) { _ in ContentPage(Array(0..<count)) }

        model.startOver()
        _ = await settled(model)

        #expect(model.items.count == count && model.hasMore == (count >= 2))
    }

    @Test("cancelling a next page keeps what is loaded, and starting over during one delivers only the first page")
    func interrupted() async throws {
        let script = Script(endsWhenCancelled: false)
        let model = try scripted(script, pageSize: 2)
        model.startOver()
        try await script.begun(1)
        script.end(0, .success(ContentPage([0, 1])))
        _ = await settled(model)
        model.loadNextPage()
        try await script.begun(2)
        model.cancel()
        #expect(model.items == [0, 1])
        #expect(model.hasMore)

        model.loadNextPage()
        try await script.begun(3)
        model.startOver()
        try await script.begun(4)
        script.end(3, .success(ContentPage([7, 8])))
        _ = await settled(model)
        for number in 1...2 { script.end(number, .success(ContentPage([2, 3]))) }
        #expect(model.items == [7, 8])
    }
}
