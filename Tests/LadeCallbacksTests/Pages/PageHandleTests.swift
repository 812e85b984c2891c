import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

typealias Object = [String: JSONValue]

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct PageHandleTests {
    let rig = HandleRig()
    let delivered = Deliveries<Pages.Page<Outcome<Object, NetworkError>>>()
    let sized = Deliveries<Int>()

    init() {
        // Ten numbers, `limit` (2 by default) at a time from `offset`; `next` while there are more.
        rig.transport.on(.get, "/list").respond(
            .computed { (request, _) async throws(LoadingError) in
                let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
                let values = Dictionary(items.map { ($0.name, Int($0.value ?? "") ?? 0) }) { first, _ in first }
                let (offset, limit) = (values["offset"] ?? 0, values["limit"] ?? 2)
                let end = min(10, offset + limit)
                let list = (offset..<max(offset, end)).map(String.init).joined(separator: ",")
                let next = end < 10 ? #", "next": "/list?offset=\#(end)&limit=\#(limit)""# : ""
                return .json("{\"items\": [\(list)]\(next)}")
            }
        )
        rig.transport.on(.get, "/array").respond(
            .computed { (request, _) async throws(LoadingError) in
                let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
                let size = items.first { $0.name == "pageSize" }.flatMap { Int($0.value ?? "") } ?? 5
                let page = items.first { $0.name == "page" }?.value ?? "1"
                return .json("[" + Array(repeating: page, count: size).joined(separator: ",") + "]")
            }
        )
    }

    func sizer() -> Pages.Sizer {
        Pages.Sizer { [sized] request, size in
            sized.add(size)
            var request = request
            request.url.append(queryItems: [URLQueryItem(name: "limit", value: String(size))])
            return request
        }
    }

    func list(_ path: String = "/list") throws -> PagedEndpoint<Object> {
        PagedEndpoint(try rig.endpoint(path).jsonObject(), sizer: sizer(), paginator: .rule(.body(["next"])))
    }

    func first(_ options: RequestOptions = []) throws -> FirstPageHandle<Object> {
        FirstPageHandle(rig.loader, try list(), options: options, activity: rig.activity) { [delivered] in
            delivered.add($0)
        }
    }

    @Test("requests P1 starts with page 0 of unspecified size")
    func defaultPage() throws {
        let request = try first()

        #expect(!request.isRunning)
        #expect(request.page.number == 0 && request.page.size == 0)
        #expect(request.page.description.contains("unspecified"))
    }

    @Test("requests P2 accepts a size for page 0, and does not run")
    func pageSize() throws {
        let request = try first().with(pageSize: 10)

        #expect(!request.isRunning)
        #expect(request.page.number == 0 && request.page.size == 10)
    }

    @Test("requests P3 uses the first page when no page is given")
    func nilPage() throws {
        let request = try first().handle(for: nil)

        #expect(!request.isRunning)
        #expect(request.page.number == 0 && request.page.size == 0)
    }

    @Test("requests P4 accepts the size 1, and requests it")
    func smallestPageSize() async throws {
        let request = try first().with(pageSize: 1)
        #expect(request.page.number == 0 && request.page.size == 1)

        request.resume()

        #expect(try await delivered.wait(for: 1)[0].page.size == 1)
        #expect(rig.transport.lines == ["GET /list?limit=1"])
    }

    @Test("requests P5 goes by the last size, from the original request")
    func lastSizeWins() throws {
        let request = try first().with(pageSize: 18).with(pageSize: 3)

        #expect(request.page.number == 0 && request.page.size == 3)
        #expect(request.request.url.query() == "limit=3")
    }

    @Test("requests P6 keeps the size when no page is given")
    func nilPageKeepsSize() throws {
        let request = try first().with(pageSize: 36).handle(for: nil)

        #expect(request.page.number == 0 && request.page.size == 36)
        #expect(request.request.url.query() == "limit=36")
    }

    @Test("requests P7 goes back to the unspecified size")
    func resetSize() throws {
        let request = try first().with(pageSize: 36).with(pageSize: 0)

        #expect(request.page.number == 0 && request.page.size == 0)
        #expect(request.request.url.query() == nil)
    }

    @Test("requests P8 passes its page to its completion")
    func pageInCompletion() async throws {
        let request = try first().with(pageSize: 5)
        request.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.page == request.page)
        #expect(request.page.number == 0 && request.page.size == 5)
        #expect(outcome.value?["items"]?.array?.count == 5)
    }

    @Test("requests P9 follows the next page named in the body, with one completion for both")
    func bodyPagination() async throws {
        let request = try first().with(pageSize: 2)
        request.resume()
        let next = try #require(try await delivered.wait(for: 1)[0].next)

        request.handle(for: next).resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.map(\.page.number) == [0, 1])
        #expect(outcomes.map(\.page.size) == [2, 2])
        #expect(rig.transport.lines == ["GET /list?limit=2", "GET /list?offset=2&limit=2"])
    }

    @Test("requests P10 lets a paginator count items, from the original request")
    func offsetPagination() async throws {
        let asked = Deliveries<String>()
        let paged = PagedEndpoint(
            try rig.endpoint("/list").jsonObject(),
            sizer: sizer(),
            paginator: Pages.Paginator { page in
                asked.add(
                    "\(page.original.url.relativePath) \(page.original.url.query() ?? "-") \(MainDelivery.isOnMain)"
                )
                return try HandleRig.request("/list?offset=\(page.number * page.size)&limit=\(page.size)")
            }
        )
        let request = FirstPageHandle(rig.loader, paged) { [delivered] in delivered.add($0) }.with(pageSize: 2)
        request.resume()
        request.handle(for: try await delivered.wait(for: 1)[0].next).resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.map(\.page.number) == [0, 1])
        #expect(outcomes[1].value?["items"]?[0]?.integer == 2)
        #expect(asked.all == ["/list - false", "/list - false"])
    }

    @Test("requests P11 pages through arrays")
    func arrayPagination() async throws {
        let delivered = Deliveries<Pages.Page<Outcome<[JSONValue], NetworkError>>>()
        let paged = PagedEndpoint(
            try rig.endpoint("/array").jsonArray(),
            sizer: .query("pageSize"),
            paginator: Pages.Paginator { try HandleRig.request("/array?page=\($0.number + 1)&pageSize=\($0.size)") }
        )
        let request = FirstPageHandle(rig.loader, paged) { delivered.add($0) }.with(pageSize: 2)
        request.resume()
        request.handle(for: try await delivered.wait(for: 1)[0].next).resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.map(\.page.number) == [0, 1])
        #expect(outcomes.map { $0.value?.count } == [2, 2])
    }

    @Test("requests P12 never calls the sizer without a size")
    func sizerNotCalled() async throws {
        try first().resume()

        #expect(try await delivered.wait(for: 1)[0].value != nil)
        #expect(sized.all.isEmpty)
    }

    @Test("requests P13 follows pages with options too")
    func optionsWithPages() async throws {
        let request = try first(.cancellationErrors)
        request.resume()
        request.handle(for: try await delivered.wait(for: 1)[0].next).resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.allSatisfy { $0.value != nil && $0.error == nil })
        #expect(outcomes.map(\.page.number) == [0, 1])
    }

    @Test("requests P14 continues from a copy")
    func copy() async throws {
        let request = try first().with(pageSize: 2).copy()
        request.resume()
        request.handle(for: try await delivered.wait(for: 1)[0].next).resume()

        #expect(try await delivered.wait(for: 2).map(\.page.number) == [0, 1])
        #expect(request.page.size == 2)
    }

    @Test("requests P15 has no options when it is new")
    func noOptions() throws {
        #expect(try first().options == [])
    }

    @Test("requests P16 has the options it is given, and its copies have none")
    func options() throws {
        let request = try first().with(options: .cancellationErrors)
        #expect(request.options == .cancellationErrors)
        #expect(request.copy().options == [])
    }

    @Test("requests P16 the handle of a page replaces its options, and its copies have none")
    func optionsOfPage() throws {
        let page = try first(.cancellationErrors).handle(for: nil)
        #expect(page.options == .cancellationErrors)

        let other = page.with(options: .httpErrorsDisabled)

        #expect(other.options == .httpErrorsDisabled)
        #expect(other.copy().options == [])
    }

    @Test("requests P16 a handle that calls back on an executor has its options, its activity and its executor")
    func executor() async throws {
        let scheduled = Deliveries<@Sendable () -> Void>()
        let request = FirstPageHandle(
            rig.loader,
            try list(),
            options: .cancellationErrors,
            activity: rig.activity,
            on: Service.CompletionExecutor { work in scheduled.add(work) },
            completion: { [delivered] in delivered.add($0) }
        )
        #expect(request.options == .cancellationErrors)

        request.resume()
        #expect(rig.activity.isActive)
        _ = try await scheduled.wait(for: 1)
        #expect(delivered.all.isEmpty)
        scheduled.all[0]()

        #expect(delivered.all.map { $0.value != nil } == [true])
        #expect(!rig.activity.isActive)
    }

    @Test("requests §7 a page that is loading counts in the activity of its list")
    func activity() throws {
        let request = FirstPageHandle(rig.loader, try list("/stall"), activity: rig.activity) { _ in }
        for handle in [request, request.handle(for: nil)] as [any GroupedRequest] {
            handle.resume()
            #expect(rig.activity.isActive)
            handle.cancel()
            #expect(!rig.activity.isActive)
        }
    }

    @Test("requests §1.3 a cancelled request for a further page reports that page")
    func cancelledFurtherPage() async throws {
        let request = try first(.cancellationErrors).with(pageSize: 2)
        request.resume()
        let next = try #require(try await delivered.wait(for: 1)[0].next)

        let page = request.handle(for: next)
        page.resume()
        page.cancel()

        let outcome = try await delivered.wait(for: 2)[1]
        #expect(outcome.error?.isCancellation == true && outcome.page == next)
    }

    @Test("requests P17 keeps its options with another size")
    func optionsSurviveSizing() throws {
        #expect(try first().with(options: .cancellationErrors).with(pageSize: 20).options == .cancellationErrors)
    }

    @Test("requests P18 gives its options to the requests for other pages")
    func optionsSurvivePaging() async throws {
        let request = try first(.cancellationErrors).with(pageSize: 2)
        request.resume()
        let next = try await delivered.wait(for: 1)[0].next

        #expect(request.handle(for: next).options == .cancellationErrors)
        #expect(request.options == .cancellationErrors)
    }

    @Test("requests P19 is released when its own completion releases it on the last page")
    func release() async throws {
        @MainActor final class Walk {
            var first: FirstPageHandle<Object>?
        }
        let gone = Signal()
        let pages = Deliveries<Int>()
        weak var weakFirst: FirstPageHandle<Object>?
        do {
            let walk = Walk()
            let trace = Trace(gone)
            walk.first = FirstPageHandle(rig.loader, try list()) { [trace] outcome in
                withExtendedLifetime(trace) { pages.add(outcome.page.number) }
                if let next = outcome.next {
                    walk.first?.handle(for: next).resume()
                } else {
                    walk.first = nil
                }
            }
            weakFirst = walk.first
            walk.first?.resume()
        }

        try await gone.wait()

        #expect(weakFirst == nil)
        #expect(pages.all == [0, 1, 2, 3, 4])
    }

    @Test("requests §3.1 pages are equal by size, number and address, and can be keys")
    func pagesAreValues() throws {
        let request = try first()
        let pages = [request.page: 1, request.with(pageSize: 2).page: 2]

        #expect(pages[request.copy().page] == 1)
        #expect(pages[request.with(pageSize: 2).page] == 2)
    }

    @Test("requests §3.3 does not call the paginator after an error or a refused status")
    func paginatorNotCalled() async throws {
        let asked = Deliveries<Int>()
        let paged = PagedEndpoint(
            try rig.endpoint("/missing").jsonObject(),
            paginator: Pages.Paginator { page in
                asked.add(page.number)
                return nil
            }
        )
        FirstPageHandle(rig.loader, paged) { [delivered] in delivered.add($0) }.resume()
        FirstPageHandle(rig.loader, paged, options: .httpErrorsDisabled) { [delivered] in delivered.add($0) }.resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes.allSatisfy { $0.next == nil && $0.value == nil && $0.response?.status == 404 })
        #expect(asked.all.isEmpty)
    }

    @Test("requests §3.3 delivers the page even when the next one cannot be determined")
    func paginatorThrows() async throws {
        struct Odd: Error {}
        let paged = PagedEndpoint(
            try rig.endpoint("/list").jsonObject(),
            paginator: Pages.Paginator { _ in throw Odd() }
        )
        FirstPageHandle(rig.loader, paged, on: .anywhere) { [delivered] in delivered.add($0) }.resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value != nil && outcome.next == nil)
        guard case .pagination = outcome.error else {
            Issue.record("It is \(String(describing: outcome.error))")
            return
        }
    }

    @Test("pages PA-04 gives the page that reveals a circle, with an error and without a next page")
    func circle() async throws {
        let transport = ScriptedTransport(answering: .json(#"{"next": "/list?p=1"}"#), .json(#"{"next": "/list"}"#))
        let loader = HandleRig.loader(on: transport)
        let request = FirstPageHandle(loader, try list()) { [delivered] in delivered.add($0) }
        request.resume()
        let first = try await delivered.wait(for: 1)[0]
        request.handle(for: first.next).resume()

        let second = try await delivered.wait(for: 2)[1]
        #expect(first.error == nil && first.nextFailure == nil)
        #expect(second.value != nil && second.next == nil && second.nextFailure != nil)
        withExtendedLifetime(loader) {}
        guard case .pagination(let failure) = second.error, case .loop = failure.cause else {
            Issue.record("It is \(String(describing: second.error))")
            return
        }
    }

    @Test("a page that was stored is loaded by the handle of its list")
    func storedPage() async throws {
        let request = try first().with(pageSize: 3)
        request.resume()
        let next = try #require(try await delivered.wait(for: 1)[0].next)
        let stored = try JSONDecoder().decode(PageRequest.self, from: JSONEncoder().encode(next))

        request.handle(for: stored).resume()

        let outcome = try await delivered.wait(for: 2)[1]
        #expect(outcome.page == next && outcome.error == nil)
        #expect(outcome.value?["items"]?[0]?.integer == 3)
        #expect(outcome.next?.number == 2)
    }

    @Test("a stored page that leaves https is refused, with its page")
    func storedPageOfPlainHTTP() async throws {
        let request = try first()
        let stored = Data(#"{"size": 0, "number": 1, "url": "http://svc.example.com/list?offset=2"}"#.utf8)

        request.handle(for: try JSONDecoder().decode(PageRequest.self, from: stored)).resume()

        let outcome = try await delivered.wait(for: 1)[0]
        #expect(outcome.value == nil && outcome.page.number == 1 && rig.transport.requests.isEmpty)
        guard case .pagination(let failure) = outcome.error, case .insecure = failure.cause else {
            Issue.record("It is \(String(describing: outcome.error))")
            return
        }
    }

    @Test("a page has the total that its answer names")
    func total() async throws {
        var paged = try list("/counted")
        paged.total = .body(["total"])
        rig.transport.on(.get, "/counted").respond(.json(#"{"total": 7}"#))
        FirstPageHandle(rig.loader, paged) { [delivered] in delivered.add($0) }.resume()

        #expect(try await delivered.wait(for: 1)[0].total == 7)
    }

    @Test("requests PG-D1 reports no next page of an earlier run when a later one fails")
    func nextPageOfItsRun() async throws {
        let transport = ScriptedTransport(answering: .json(#"{"next": "/list?page=1"}"#), .status(500))
        let loader = HandleRig.loader(on: transport)
        let request = FirstPageHandle(loader, try list()) { [delivered] in delivered.add($0) }
        request.resume()
        try await end(of: request)

        request.resume()

        let outcomes = try await delivered.wait(for: 2)
        #expect(outcomes[0].next?.number == 1)
        #expect(outcomes[1].error?.code == .http && outcomes[1].next == nil)
    }

    @Test("requests RQ-D1 a page that others cancel is reported only when that is set", arguments: [true, false])
    func cancelledByOthers(isReported: Bool) async throws {
        let options: RequestOptions = isReported ? .cancellationErrors : []
        let request = FirstPageHandle(rig.loader, try list("/stall"), options: options) { [delivered] in
            delivered.add($0)
        }
        request.resume()
        _ = try await rig.transport.request(at: 0)

        rig.loader.cancelAllLoads()
        try await end(of: request)

        #expect(delivered.all.map { $0.error?.isCancellation } == (isReported ? [true] : []))
    }

    @Test("requests §1.3 page requests are cancelled and observed as any other")
    func cancellation() async throws {
        let changes = Deliveries<Bool>()
        let request = FirstPageHandle(rig.loader, try list("/stall"), options: .cancellationErrors) { [delivered] in
            delivered.add($0)
        }
        let page = request.handle(for: nil)
        let observations = [request.observeRunning { changes.add($0) }, page.observeRunning { changes.add($0) }]
        request.resume()
        page.resume()
        #expect(request.isRunning && page.isRunning)
        request.cancel()
        page.cancel()

        #expect(changes.all == [true, true, false, false])
        #expect(
            try await delivered.wait(for: 2).allSatisfy { $0.error?.isCancellation == true && $0.page == page.page }
        )
        #expect(page.description.contains("not running") && request.description.contains("not running"))
        for observation in observations { observation.cancel() }
    }
}
