import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCatalogue
@testable import LadeCallbacks

@Suite("Provider and pages", .timeLimit(.minutes(5)))
struct ProviderTests {
    private let urns = (1...13).map { "urn:srf:video:\($0)" }

    // MARK: - Provider

    @Test("catalogue IL-PRV1 the address of the service reads back as it was given")
    func serviceURL() throws {
        #expect(try Catalogue(.production).serviceURL.absoluteString == "https://il.srgssr.ch")
        #expect(try Catalogue("https://example.com/prefix").serviceURL.absoluteString == "https://example.com/prefix")
        #expect(
            Catalogue.Stage.allCases.map(\.rawValue) == [
                "https://il.srgssr.ch", "https://il-stage.srgssr.ch", "https://il-test.srgssr.ch",
            ]
        )
    }

    /// The only tests that use the shared provider, one after another; each leaves none.
    @Suite("Shared provider", .serialized, .timeLimit(.minutes(5)))
    struct SharedProviderTests {
        @Test("catalogue IL-PRV2 there is no shared provider before one is set")
        func none() {
            #expect(CatalogueProvider.current == nil)
        }

        @Test("catalogue IL-PRV3 the shared provider is the one that was set last")
        func last() throws {
            let first = try CatalogueRig().provider
            let second = try CatalogueRig().provider
            defer { CatalogueProvider.setCurrent(nil) }

            CatalogueProvider.setCurrent(first)
            #expect(CatalogueProvider.current === first)
            CatalogueProvider.setCurrent(second)
            #expect(CatalogueProvider.current === second)
        }

        @Test("catalogue IL-SEED2 setting the shared provider returns the one before")
        func previous() throws {
            let first = try CatalogueRig().provider
            let second = try CatalogueRig().provider

            #expect(CatalogueProvider.setCurrent(first) == nil)
            #expect(CatalogueProvider.setCurrent(second) === first)
            #expect(CatalogueProvider.setCurrent(nil) === second)
        }
    }

    @Test("catalogue IL-PRV4 a provider without a reference is released")
    func released() throws {
        weak var weakProvider: CatalogueProvider?
        do {
            let provider = try CatalogueRig().provider
            weakProvider = provider
            #expect(weakProvider != nil)
        }

        #expect(weakProvider == nil)
    }

    @Test("catalogue IL-SEED1 an address with and without a slash at its end has the same services")
    func trailingSlash() throws {
        for text in ["https://example.com/a", "https://example.com/a/"] {
            let request = try Catalogue(text).tvTopics(.rts).request
            #expect(
                request.url.absoluteString.hasPrefix("https://example.com/a/integrationlayer/2.0/rts/topicList/tv?")
            )
        }
        #expect(try Catalogue("https://example.com/a").description.contains("https://example.com/a"))
        #expect(try CatalogueRig().provider.description.contains("catalogue.example.com"))
    }

    @Test(
        "addresses that no request can be made for are refused",
        arguments: [
            "file:///tmp", "ftp://example.com", "example.com", "https://example.com?a=b", "https://example.com#x", "",
        ]
    )
    func badServiceURL(text: String) {
        #expect(throws: CatalogueError.self) { try Catalogue(text) }
    }

    // MARK: - Requests

    @Test("catalogue IL-NET1 nothing calls back once the provider is released")
    func releasedWhileLoading() async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.stalls)
        let called = Signal()
        var provider: CatalogueProvider? = CatalogueProvider(
            try Catalogue(),
            loader: transport.makeLoader()
        )
        RequestHandle(try #require(provider).loader, try Catalogue().tvTopics(.rts)) { _ in called.raise() }.resume()
        _ = try await transport.request(at: 0)
        provider = nil
        try await transport.cancellations(atLeast: 1)

        #expect(!called.isRaised)
    }

    @Test("catalogue IL-NET2 an answer comes with its status, and an unknown URN is an error with it")
    func statuses() async throws {
        let rig = try CatalogueRig()
        rig.transport.on("known") { $0.url.path().hasSuffix("known") }.respond(
            .json(#"{"urn": "urn:rts:video:known"}"#)
        )
        rig.transport.onAnyRequest().respond(.json(#"{"status": {"code": 400}}"#, status: 400))

        let loaded = try await rig.loader.loadValue(of: rig.catalogue.media(urn: "urn:rts:video:known"))
        #expect(loaded.response.status == 200 && loaded.value.urn == "urn:rts:video:known")
        let error = await #expect(throws: LoadingError.self) {
            _ = try await rig.provider.load { try $0.media(urn: "urn:rts:video:other") }
        }
        #expect(error?.context.status == 400)
    }

    @Test(
        "catalogue IL-NET3 requests say what kind of device they are for",
        arguments: [(Catalogue.Vector.tv, "tvplay"), (.app, "appplay")]
    )
    func vector(vector: Catalogue.Vector, text: String) throws {
        var catalogue = try Catalogue()
        #expect(try catalogue.tvTopics(.rts).request.queryItems["vector"] == Catalogue.Vector.current.rawValue)
        catalogue.vector = vector

        #expect(try catalogue.tvTopics(.rts).request.queryItems == ["vector": text])
    }

    /// Whether each completion of an object, a list and a paged object is called on the main thread.
    @MainActor
    private func completionsOnMain(_ options: RequestOptions) async throws -> [Bool] {
        let rig = try CatalogueRig()
        rig.serveLists()
        let catalogue = rig.catalogue
        let (threads, output) = AsyncStream.makeStream(of: Bool.self)
        let plain = RequestHandle(
            rig.loader,
            try catalogue.media(urn: "urn:srf:video:1"),
            options: options,
            on: .main
        ) { _ in
            output.yield(MainDelivery.isOnMain)
        }
        let list = FirstPageHandle(rig.loader, try catalogue.tvLatestEpisodes(.srf), options: options, on: .main) {
            _ in
            output.yield(MainDelivery.isOnMain)
        }
        let object = FirstPageHandle(
            rig.loader,
            try catalogue.showLatestEpisodes(showURN: "urn:srf:show:tv:1"),
            options: options,
            on: .main
        ) { _ in output.yield(MainDelivery.isOnMain) }
        plain.resume()
        list.resume()
        object.resume()
        var seen: [Bool] = []
        for await isMain in threads {
            seen.append(isMain)
            if seen.count == 3 { break }
        }
        return seen
    }

    @MainActor
    @Test("catalogue IL-NET4 handles call their completions on the main thread")
    func completions() async throws {
        #expect(try await completionsOnMain([]) == [true, true, true])
    }

    @MainActor
    @Test("catalogue IL-NET5 handles with background completion call them on other threads")
    func backgroundCompletions() async throws {
        #expect(try await completionsOnMain(.backgroundCompletion) == [false, false, false])
    }

    @Test("catalogue IL-NET6 a page has 10 items")
    func pageSize() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()

        let page = try await rig.provider.load { try $0.tvLatestEpisodes(.srf).endpoint }
        #expect(page.items.count == 10 && rig.queries.map { $0["pageSize"] } == ["10"])
    }

    @Test("catalogue IL-NET7 a page has the requested number of items")
    func requestedPageSize() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()

        let page = try await rig.provider.pages(size: 7) { try $0.tvLatestEpisodes(.srf) }.first { _ in true }
        #expect(page?.value.items.count == 7 && page?.page.size == 7)
        #expect(rig.queries.map { $0["pageSize"] } == ["7"])
    }

    @Test("catalogue IL-NET8 the size that was asked for last counts, and is sent once")
    func pageSizeTwice() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        var paged = try rig.catalogue.tvLatestEpisodes(.srf)
        paged.endpoint = paged.endpoint.query("pageSize", "18")
        let page = try await rig.loader.pages(of: paged, size: 3).first { _ in true }

        #expect(page?.value.items.count == 3)
        #expect(rig.transport.requests[0].url.query()?.components(separatedBy: "pageSize=").count == 2)
    }

    @Test("catalogue IL-NET9 an unlimited page has all items")
    func unlimited() async throws {
        let rig = try CatalogueRig()
        rig.answer(#"{"showList": [{}]}"#)

        let page = try await rig.provider.pages(size: Catalogue.PageSize.unlimited) { try $0.tvShows(.rsi) }.first {
            _ in true
        }
        #expect(
            page?.page.number == 0 && page?.page.size == Catalogue.PageSize.unlimited && page?.value.items.count == 1
        )
        #expect(rig.queries.map { $0["pageSize"] } == ["unlimited"])
    }

    @Test("catalogue IL-NET10 an unlimited page that the service refuses is an error")
    func unlimitedRefused() async throws {
        let rig = try CatalogueRig()
        rig.answer("{}", status: 400)

        let failure = await #expect(throws: PageError.self) {
            _ = try await rig.provider.pages(size: Catalogue.PageSize.unlimited) { try $0.tvLatestEpisodes(.rsi) }.first
            { _ in
                true
            }
        }
        #expect(failure?.page.number == 0 && failure?.page.size == Catalogue.PageSize.unlimited)
        #expect(rig.queries.map { $0["pageSize"] } == ["unlimited"])
    }

    @Test("catalogue IL-NET11 pages follow each other")
    func pages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 5)
        let pages = try await rig.provider.pages(size: 2) { try $0.tvLatestEpisodes(.srf) }.collected()

        #expect(pages.map(\.value.items.count) == [2, 2, 1] && pages.map(\.page.number) == [0, 1, 2])
        #expect(pages.map { $0.next != nil } == [true, true, false])
        #expect(pages.flatMap(\.value.items).map(\.uid) == ["0", "1", "2", "3", "4"])
    }

    @Test("catalogue IL-NET12 an object has pages, too")
    func objectPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 8)
        let pages = try await rig.provider.pages(size: 4) {
            try $0.showLatestEpisodes(showURN: "urn:srf:show:tv:1")
        }
        .collected()

        #expect(pages.map(\.value.episodes?.count) == [4, 4])
    }

    @Test("catalogue IL-NET13 the first page of 13 URNs has 10 items")
    func firstURNPage() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let page = try await rig.provider.pages { try $0.medias(urns: urns) }.first { _ in true }

        #expect(page?.value.items.map(\.urn) == Array(urns.prefix(10)) && page?.next != nil)
        #expect(rig.queries.map { $0["urns"] } == [urns.prefix(10).joined(separator: ",")])
    }

    @Test("catalogue IL-NET14 a list of URNs is divided into pages of the requested size")
    func sizedURNPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let pages = try await rig.provider.pages(size: 5) { try $0.medias(urns: urns) }.collected()

        #expect(pages.map(\.value.items.count) == [5, 5, 3] && pages.map { $0.next != nil } == [true, true, false])
        #expect(pages.flatMap(\.value.items).map(\.urn) == urns)
    }

    @Test("catalogue IL-NET16 the second page of 13 URNs has the other 3")
    func urnPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let pages = try await rig.loader.pages(of: rig.catalogue.medias(urns: urns)).collected()

        #expect(pages.map(\.value.items.count) == [10, 3] && pages.map { $0.next != nil } == [true, false])
        #expect(pages.flatMap(\.value.items).map(\.urn) == urns)
    }

    @Test("catalogue IL-NET15 no URN gives an empty list, no error and no next page")
    func noURN() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let pages = try await rig.provider.pages { try $0.medias(urns: []) }.collected()

        #expect(pages.map(\.value.items.count) == [0] && pages[0].next == nil)
        #expect(rig.queries[0]["urns"] == "")
    }

    @Test("catalogue IL-NET17 of 100,000 URNs only those of a page are sent")
    func manyURNs() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let many = urns + (0..<100_000).map { "urn:srf:video:unknown\($0)" }
        let page = try await rig.provider.pages { try $0.medias(urns: many) }.first { _ in true }

        #expect(page?.value.items.count == 10 && page?.next != nil)
        #expect(rig.transport.requests[0].url.absoluteString.utf8.count < 1_000)
    }

    @MainActor
    @Test("catalogue IL-NET18 a handle for a nil page of 4 items loads the first")
    func nilPage() async throws {
        try await expectFirstPage(size: 4)
    }

    @MainActor
    @Test("catalogue IL-NET19 a handle for a nil page of 12 items loads the first")
    func largeNilPage() async throws {
        try await expectFirstPage(size: 12)
    }

    @MainActor
    private func expectFirstPage(size: Int) async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let (outcomes, output) = AsyncStream.makeStream(
            of: Pages.Page<Outcome<Catalogue.Listing<Catalogue.Media>, NetworkError>>.self
        )
        let first = FirstPageHandle(rig.loader, try rig.catalogue.medias(urns: urns)) { output.yield($0) }
        let handle = first.with(pageSize: size).handle(for: nil)
        handle.resume()
        var iterator = outcomes.makeAsyncIterator()
        let outcome = try #require(await iterator.next())

        #expect(outcome.page.number == 0 && outcome.page.size == size && outcome.value?.items.count == size)
    }

    @Test("catalogue IL-NET20 each page of a list has the global headers and parameters")
    func globalsOfList() async throws {
        try await expectGlobals { _ = try await $0.pages { try $0.tvLatestEpisodes(.srf) }.collected() }
    }

    @Test("catalogue IL-NET21 each page of an object has the global headers and parameters")
    func globalsOfObject() async throws {
        try await expectGlobals {
            _ = try await $0.pages { try $0.showLatestEpisodes(showURN: "urn:srf:show:tv:1") }.collected()
        }
    }

    @Test("catalogue IL-NET22 each page of a list of URNs has the global headers and parameters")
    func globalsOfURNs() async throws {
        try await expectGlobals { [urns] in _ = try await $0.pages { try $0.medias(urns: urns + urns) }.collected() }
    }

    private func expectGlobals(_ load: (CatalogueProvider) async throws -> Void) async throws {
        let rig = try CatalogueRig {
            $0.globalHeaders = ["X-Client": "test"]
            $0.globalParameters = ["forceLocation": "WW"]
        }
        rig.serveLists(count: 30)
        try await load(rig.provider)

        #expect(rig.transport.requests.count == 3)
        for request in rig.transport.requests {
            #expect(request.headers["X-Client"] == "test" && request.queryItems["forceLocation"] == "WW")
            #expect(request.queryItems["vector"] == "appplay" && request.url.host() == "catalogue.example.com")
            #expect(request.headers["Accept"] == nil)
        }
    }

    private static let nextPages: [(String, String)] = [
        ("https://il.srgssr.ch/integrationlayer/list?next=2", "/integrationlayer/list?next=2"),
        ("http://other.example.com:1/list?next=a%2Fb#x", "/list?next=a%2Fb#x"),
        ("//il.srgssr.ch/list?next=2", "/list?next=2"),
        ("/list?next=2", "/list?next=2"),
    ]

    @Test("requests P28 next pages come from the custom host of the provider, with its headers", arguments: nextPages)
    func customHost(next: String, target: String) async throws {
        let rig = try CatalogueRig("https://mirror.example.com:8443") { $0.globalHeaders = ["X-Client": "secret"] }
        rig.transport.on("next") { $0.url.query()?.contains("next=") == true }.respond(.json(#"{"mediaList": [{}]}"#))
        rig.transport.onAnyRequest().respond(.json("{\"mediaList\": [{}], \"next\": \"\(next)\"}"))
        let pages = try await rig.provider.pages { try $0.tvLatestEpisodes(.srf) }.collected()
        let seed = try await rig.provider.pages { try $0.tvTrendingMedias(.srf) }.collected()
        let objects = try await rig.provider.pages { try $0.tvShowLatestEpisodes(.srf, showUid: "1") }.collected()

        #expect(pages.count == 2 && seed.count == 2 && objects.count == 2)
        let requests = rig.transport.requests
        for index in [1, 3, 5] {
            #expect(requests[index].url.absoluteString == "https://mirror.example.com:8443" + target)
            #expect(requests[index].headers["X-Client"] == "secret")
        }
    }

    @Test(
        "a next page that cannot be loaded over HTTP is not followed",
        arguments: [
            "file:///etc/passwd", "javascript:1", "ftp://x/y", "https://user:secret@catalogue.example.com/list",
        ]
    )
    func otherScheme(next: String) async throws {
        let rig = try CatalogueRig()
        rig.answer("{\"mediaList\": [{}], \"next\": \"\(next)\"}")
        let failure = await #expect(throws: PageError.self) {
            try await rig.provider.pages { try $0.tvLatestEpisodes(.srf) }.collected()
        }

        guard case .invalidTarget = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(rig.transport.requests.count == 1)
    }

    // MARK: - The sizes of pages

    @MainActor
    private func handle(
        _ rig: CatalogueRig,
        _ make: (Catalogue) throws -> PagedEndpoint<Catalogue.Listing<Catalogue.Media>>
    ) throws -> FirstPageHandle<Catalogue.Listing<Catalogue.Media>> {
        FirstPageHandle(rig.loader, try make(rig.catalogue)) { _ in }
    }

    /// A handle of a service of today, and one of a service of the first generation.
    @MainActor
    private func handles(_ rig: CatalogueRig) throws -> [FirstPageHandle<Catalogue.Listing<Catalogue.Media>>] {
        [try handle(rig) { try $0.tvLatestEpisodes(.srf) }, try handle(rig) { try $0.tvTrendingMedias(.srf) }]
    }

    @MainActor
    @Test("requests P20 a request of a service is for the first page, of 10 items")
    func defaultSize() throws {
        for handle in try handles(CatalogueRig()) {
            #expect(!handle.isRunning && handle.page.number == 0 && handle.page.size == 10)
            let page = handle.handle(for: nil).page
            #expect(page.number == 0 && page.size == 10)
        }
        // The first generation sends no size that was not requested.
        let requests = try handles(CatalogueRig()).map(\.request.queryItems)
        #expect(requests.map { $0["pageSize"] } == ["10", nil])
        // A service that chooses its sizes itself has pages of an unspecified size.
        #expect(try handle(CatalogueRig()) { try $0.sectionMedias(.srf, uid: "1") }.page.size == 0)
    }

    @MainActor
    @Test("requests P21 a page of less than 1 item has 1", arguments: [0, -1, Int.min])
    func tooSmall(size: Int) throws {
        for handle in try handles(CatalogueRig()).map({ $0.with(pageSize: size) }) {
            #expect(handle.page.number == 0 && handle.page.size == 1)
            #expect(handle.request.queryItems["pageSize"] == "1")
        }
    }

    @MainActor
    @Test("requests P22 a page of more than 100 items has 100", arguments: [101, 1_000, Int.max - 1])
    func tooLarge(size: Int) throws {
        for handle in try handles(CatalogueRig()).map({ $0.with(pageSize: size) }) {
            #expect(handle.page.number == 0 && handle.page.size == 100)
            #expect(handle.request.queryItems["pageSize"] == "100")
        }
    }

    @MainActor
    @Test("a page of 1 to 100 items has as many, the last size counts, and unlimited is none of them")
    func sizes() throws {
        for handle in try handles(CatalogueRig()) {
            for size in [1, 2, 99, 100] {
                #expect(handle.with(pageSize: 7).with(pageSize: size).page.size == size)
                #expect(handle.with(pageSize: size).request.queryItems["pageSize"] == String(size))
            }
            let unlimited = handle.with(pageSize: Catalogue.PageSize.unlimited)
            #expect(unlimited.page.size == Catalogue.PageSize.unlimited)
            #expect(unlimited.request.queryItems["pageSize"] == "unlimited")
        }
    }

    @Test("a page of 0 or of 1,000 items is refused before anything is sent", arguments: [0, -1, 101, 1_000])
    func refusedSizes(size: Int) throws {
        let rig = try CatalogueRig()

        #expect(throws: CatalogueError.pageSize(size, allowed: 1...100)) {
            try rig.provider.pages(size: size) { try $0.tvLatestEpisodes(.srf) }
        }
        #expect(rig.transport.requests.isEmpty)
    }

    @Test(
        "finding SF-11 a first page of 0 or of 1,000 items is refused before anything is sent",
        arguments: [0, 1_000]
    )
    func refusedFirstPage(size: Int) async throws {
        let rig = try CatalogueRig()

        await #expect(throws: CatalogueError.pageSize(size, allowed: 1...100)) {
            try await rig.provider.load(size: size) { try $0.tvLatestEpisodes(.srf) }
        }
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("finding SF-11 a provider loads the first page of a service with pages")
    func firstPage() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 45)
        let standard = try await rig.provider.load { try $0.tvLatestEpisodes(.rts) }
        let large = try await rig.provider.load(size: 20) { try $0.tvLatestEpisodes(.rts) }

        #expect(standard.items.count == 10)
        #expect(large.items.count == 20)
        #expect(rig.transport.requests.count == 2)
    }

    @Test("finding SF-11 a service with a list and with pages under one name loads its list")
    func listBeforePages() async throws {
        let rig = try CatalogueRig()
        rig.answer(Samples.mediaList)
        let medias = try await rig.provider.load { try $0.tvTrendingMedias(.rts) }
        let page: Catalogue.Listing<Catalogue.Media> = try await rig.provider.load { try $0.tvTrendingMedias(.rts) }

        #expect(medias.map(\.urn) == page.items.map(\.urn))
        #expect(rig.paths == ["2.0/rts/mediaList/video/trending", "2.0/rts/mediaList/video/trending.json"])
    }

    @Test("finding SF-11 a provider for a business unit needs it at no call, and a call may name another")
    func unitOfProvider() async throws {
        let rig = try CatalogueRig { $0.unit = .rts }
        rig.answer(Samples.topicList)
        _ = try await rig.provider.load { try $0.tvTopics() }
        _ = try await rig.provider.load { try $0.tvTopics(.srf) }
        _ = try await rig.provider.load { try $0.media(urn: "urn:srf:video:1") }

        #expect(rig.paths == ["2.0/rts/topicList/tv", "2.0/srf/topicList/tv", "2.0/media/byUrn/urn:srf:video:1"])
    }

    @Test("finding SF-11 without a business unit, and for one without the service, nothing is sent")
    func missingUnit() async throws {
        let rig = try CatalogueRig()
        let units: [Catalogue.BusinessUnit] = [.rsi, .rtr, .rts, .srf, .swi]
        await #expect(throws: CatalogueError.missingBusinessUnit(service: "tvTopics", availableFor: units)) {
            try await rig.provider.load { try $0.tvTopics() }
        }
        let catalogue = try Catalogue(.production, unit: .ssatr)

        #expect(throws: CatalogueError.unavailable(service: "tvTopics", .ssatr, availableFor: units)) {
            try catalogue.tvTopics()
        }
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("finding LF-3 a page without items that names a next one is followed")
    func emptyPage() async throws {
        let rig = try CatalogueRig()
        let next = "https://catalogue.example.com/list?next="
        let rule = rig.transport.onAnyRequest()
        rule.then(.json("{\"mediaList\": [{}], \"next\": \"\(next)2\"}"))
            .then(.json("{\"mediaList\": [], \"next\": \"\(next)3\"}"))
            .then(.json("{\"mediaList\": [{}]}"))

        let pages = try await rig.provider.pages { try $0.tvLatestEpisodes(.srf) }.collected()
        #expect(pages.map(\.value.items.count) == [1, 0, 1])
        #expect(rig.transport.requests.count == 3)
    }

    @Test("a list of URNs that fills its pages has no further page")
    func fullPages() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let urns = (1...10).map { "urn:srf:video:\($0)" }
        let pages = try await rig.provider.pages(size: 5) { try $0.medias(urns: urns) }.collected()

        #expect(pages.map(\.value.items.count) == [5, 5] && rig.transport.requests.count == 2)
    }

    @Test("services of the first generation have the global parameters, before their own")
    func seedGlobals() async throws {
        let rig = try CatalogueRig { $0.globalParameters = ["forceLocation": "WW", "a": "b"] }
        let request = try rig.catalogue.videoSearch(.srf, matching: "x").endpoint.request

        #expect(request.url.query()?.hasPrefix("a=b&forceLocation=WW&vector=") == true)
        #expect(request.queryItems["q"] == "x")
    }

    @Test("a loader that asks for more than 100 items sends 100")
    func clampedSize() async throws {
        let rig = try CatalogueRig()
        rig.serveLists(count: 250)
        let pages = try await rig.loader.pages(of: rig.catalogue.tvLatestEpisodes(.srf), size: 5_000).collected()

        #expect(pages.map(\.value.items.count) == [100, 100, 50])
    }

    @Test("sections of editorial pages choose the size of their pages")
    func unsized() throws {
        let paged = try Catalogue().sectionMedias(.rts, uid: "1")

        #expect(paged.sizer == nil && paged.endpoint.request.queryItems == ["vector": "appplay"])
    }

    // MARK: - Errors of responses

    typealias Broken = (answer: ScriptedResponse, isDecoding: Bool, status: Int?)
    static let broken: [Case<Broken>] = [
        Case("§20.19 1", (.json(#"{"status": {"code": 404, "msg": "not found"}}"#, status: 404), false, 404)),
        Case("§20.19 2", (.text("<html>", status: 500), false, 500)),
        Case("§20.19 3", (.json("not json"), true, 200)),
        Case("§20.19 4", (.json(""), true, 200)),
        Case("§20.19 5", (.json("[]"), true, 200)),
        Case("§20.19 8", (.json(#"{"mediaList": [{"title": 5}]}"#), true, 200)),
        Case("§20.19 14", (.connectionLost(), false, nil)),
    ]

    @Test("catalogue IL-20.19: answers that cannot be used are errors", arguments: broken)
    func brokenAnswers(_ entry: Case<Broken>) async throws {
        let rig = try CatalogueRig()
        rig.transport.onAnyRequest().respond(entry.row.answer)
        let error = await #expect(throws: LoadingError.self) {
            _ = try await rig.provider.load { try $0.tvLivestreams(.rts) }
        }

        #expect(error?.context.status?.code == entry.row.status)
        if case .decoding = error?.kind { #expect(entry.row.isDecoding) } else { #expect(!entry.row.isDecoding) }
    }

    @Test("catalogue IL-20.19 13 a redirect is not followed: its answer is the answer, which is none")
    func redirect() async throws {
        let rig = try CatalogueRig()
        rig.transport.onAnyRequest().respond(.status(302, headers: ["Location": "https://other.example.com/"]))
        let error = await #expect(throws: LoadingError.self) {
            _ = try await rig.provider.load { try $0.tvTopics(.rts) }
        }

        guard case .unacceptableStatus(302) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.count == 1)
    }

    @Test("catalogue IL-20.19 6, 7, 9 to 11, 15, 16, 18: answers without what was asked for are empty")
    func emptyAnswers() async throws {
        func list(_ json: String) throws -> Catalogue.Listing<Catalogue.Media> {
            try decoded(Catalogue.Listing<Catalogue.Media>.self, json)
        }

        #expect(try list("{}").items.isEmpty && list("{}").next == nil)
        #expect(try list(#"{"mediaList": {}}"#).items.isEmpty)
        #expect(try list(#"{"mediaList": null}"#).items.isEmpty)
        #expect(try list(#"{"mediaList": [{}]}"#).items == [Catalogue.Media()])
        #expect(try list(#"{"mediaList": [null, {}]}"#).items.count == 1)
        #expect(try list(#"{"mediaList": [], "next": {"title": "x"}}"#).next == nil)
        #expect(try decoded(Catalogue.Media.self, "{}") == Catalogue.Media())
        #expect(try decoded(Catalogue.Media.self, #"{"date": "yesterday"}"#).date == nil)
        #expect(
            try decoded(Catalogue.Media.self, #"{"date": "2023-04-02T19:30:00.250+02:00"}"#).date?.timeIntervalSince1970
                == 1_680_456_600.25
        )
        let rig = try CatalogueRig()
        rig.answer(#"{"songList": []}"#)
        #expect(try await rig.provider.load { try $0.radioCurrentSong(.rts, channelUid: "1") } == nil)
        let pages = try await rig.provider.pages { try $0.medias(urns: ["urn:rts:video:1"]) }.collected()
        #expect(pages.map(\.value.items.count) == [0])
    }

    @Test("catalogue IL-20.19 12, 17, 19: what is malformed is an error that names its place")
    func malformed() throws {
        let search = #"{"searchResultMediaList": [], "total": 0, "aggregations": {"dateList": 3}}"#

        #expect(try faultPath(Catalogue.Listing<Catalogue.SearchHit>.self, search) == "/aggregations/dateList")
        let tolerant = try decoded(Catalogue.Listing<Catalogue.SearchHit>.self, search) {
            $0.ignoresMalformedFacets = true
        }
        #expect(tolerant.aggregations == nil && tolerant.total == 0)
        let facets = [
            (#"{"dateList": 3}"#, #"[{"text": "a"}]"#, false, true),
            (#"{"dateList": []}"#, "[{\"text\": 3}]", true, false),
        ]
        for (aggregations, suggestions, hasAggregations, hasSuggestions) in facets {
            let json = "{\"aggregations\": \(aggregations), \"suggestionList\": \(suggestions)}"
            let page = try decoded(Catalogue.Listing<Catalogue.SearchHit>.self, json) {
                $0.ignoresMalformedFacets = true
            }
            #expect((page.aggregations != nil) == hasAggregations && (page.suggestions != nil) == hasSuggestions)
        }
        #expect(try faultPath(Catalogue.Media.self, #"{"imageUrl": "http://[bad"}"#) == "/imageUrl")
        #expect(
            try faultPath(Catalogue.Listing<Catalogue.Media>.self, #"{"mediaList": [{}, {"show": {"title": 5}}]}"#)
                == "/mediaList/1/show/title"
        )
    }

    @Test("catalogue IL-SEED20 every status has a text, in every language")
    func statusTexts() {
        for code in 100...999 {
            for language in MessageLanguage.allCases {
                #expect(!Response.Status(code).text(in: language).isEmpty, "\(code)")
            }
        }
    }

    // MARK: - Tokens

    private func token(_ json: String, _ url: String) async throws -> (URL, [Request]) {
        let rig = try CatalogueRig()
        rig.answer(json)
        let stream = try #require(URL(string: url))
        let playable = try await Catalogue.playableURL(for: stream, loader: rig.loader)
        return (playable, rig.transport.requests)
    }

    @Test("catalogue IL-SEED18 the address of a protected stream gets a token")
    func token() async throws {
        let (url, requests) = try await token(
            Samples.token,
            "https://a-vh.akamaihd.net/i/tj/2017/x.csmil/master.m3u8?start=5"
        )
        let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems)

        #expect(items.map(\.name) == ["start", "hdnts"])
        #expect(items.last?.value == "exp=1700000030~acl=/i/tj/2017/x.csmil/*~hmac=00ff")
        #expect(
            requests.count == 1 && requests[0].url.host() == "tp.srgssr.ch" && requests[0].url.path() == "/akahd/token"
        )
        #expect(requests[0].queryItems == ["acl": "/i/tj/2017/x.csmil/*"])
    }

    @Test(
        "a token comes before the fragment and after the items of an address, encoded where it must be",
        arguments: [
            ("https://a.akamaihd.net/x.m3u8#t=5", "https://a.akamaihd.net/x.m3u8?hdnts=1%012#t=5"),
            ("https://a.akamaihd.net/x.m3u8?", "https://a.akamaihd.net/x.m3u8?hdnts=1%012"),
            ("https://a.akamaihd.net/x.m3u8?b=1&", "https://a.akamaihd.net/x.m3u8?b=1&hdnts=1%012"),
            ("https://a.akamaihd.net/x.m3u8?b=1#?", "https://a.akamaihd.net/x.m3u8?b=1&hdnts=1%012#?"),
            ("https://A.AKAMAIHD.NET/x.m3u8", "https://A.AKAMAIHD.NET/x.m3u8?hdnts=1%012"),
        ]
    )
    func placeOfToken(stream: String, playable: String) async throws {
        let (url, _) = try await token(#"{"token": {"authparams": "hdnts=1\u00012"}}"#, stream)

        #expect(url.absoluteString == playable)
    }

    @Test("the access list of a token is the decoded folder of the stream, and errors do not show the token")
    func accessList() async throws {
        let (url, requests) = try await token(
            #"{"token": {"authparams": "hdnts=1&x=2=3&y"}}"#,
            "https://a.akamaihd.net/i/a%20b/c.m3u8"
        )
        #expect(requests.first?.queryItems == ["acl": "/i/a b/*"])
        #expect(url.absoluteString == "https://a.akamaihd.net/i/a%20b/c.m3u8?hdnts=1&x=2=3&y")
        #expect(try Catalogue.tokenizeURL(url).request.secretQueryNames.contains("hdnts"))

        let error = await #expect(throws: LoadingError.self) {
            _ = try await token("{}", "https://a.akamaihd.net/c.m3u8?session=secret")
        }
        guard case .decoding = error?.kind, let reason = error?.underlyingError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason as? CatalogueError == .noStreamToken(host: "a.akamaihd.net"))
    }

    @Test("catalogue IL-SEED19 a stream that needs no token keeps its address, and nothing is sent")
    func noToken() async throws {
        let (url, requests) = try await token("{}", "https://media.example.org/a.m3u8?x=1")

        #expect(url.absoluteString == "https://media.example.org/a.m3u8?x=1" && requests.isEmpty)
    }

    @Test(
        "an answer without a token is an error",
        arguments: [
            #"{"token": "x"}"#, "{}", #"{"token": {}}"#, #"{"token": {"authparams": ""}}"#,
            #"{"token": {"authparams": 5}}"#, "[]", "",
        ]
    )
    func malformedToken(json: String) async throws {
        let error = await #expect(throws: LoadingError.self) {
            _ = try await token(json, "https://a-vh.akamaihd.net/x.m3u8")
        }

        guard case .decoding = error?.kind, let reason = error?.underlyingError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(json.isEmpty || json == "[]" || reason is CatalogueError)
    }
}
