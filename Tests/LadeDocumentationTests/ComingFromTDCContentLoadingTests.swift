import Foundation
import LadeContent
import LadeTesting
import Testing

// The code of Documentation/ComingFromTDCContentLoading.md, run with a loopback server.

struct ClubEvent: Decodable, Sendable, Hashable {
    var name: String
}

protocol URLStore: Sendable {
    var eventListURL: URL { get }
}

struct LiveURLStore: URLStore {
    let eventListURL: URL

    init(server: String) throws {
        eventListURL = try Request(server + "/all").url
    }
}

struct TestURLStore: URLStore {
    let eventListURL: URL

    init(folder: URL) {
        eventListURL = folder.appending(path: "events.json")
    }
}

struct APIManager: Sendable {
    let loader: Loader
    let urlStore: any URLStore

    func allEvents() async throws -> [ClubEvent] {
        try await loader.load(Endpoint(urlStore.eventListURL).decoding([ClubEvent].self))
    }
}

@MainActor
final class EventsModel: ContentModel<Void, [ClubEvent]> {
    private let apiManager: APIManager

    init(apiManager: APIManager) {
        self.apiManager = apiManager
        super.init(triggers: [.willAppear], cancelsOn: [.didDisappear])
    }

    override func makeLoad(_ input: Void?) -> ContentLoad<[ClubEvent]> {
        ContentLoad { [apiManager] in try await apiManager.allEvents() }
    }

    override func isEmpty(_ value: [ClubEvent]) -> Bool { value.isEmpty }
}

@MainActor
final class EventsScreen {
    let model: EventsModel
    private(set) var message: String?
    private(set) var isSpinning = false
    private(set) var rows: [ClubEvent] = []
    private var binding: Task<Void, Never>?

    init(model: EventsModel) {
        self.model = model
    }

    func viewDidLoad() {
        // The screen owns the task, which must not keep the screen.
        binding = Task { [weak self, model] in
            for await snapshot in model.snapshots(buffering: .all) { self?.show(snapshot) }
        }
    }

    deinit { binding?.cancel() }

    private func show(_ snapshot: ContentSnapshot<[ClubEvent]>) {
        message = snapshot.state.error?.localizedDescription
        isSpinning = snapshot.isLoading
        rows = snapshot.content ?? []
    }
}

@MainActor
@Suite("Coming from TDCContentLoading", .timeLimit(.minutes(5)))
struct ComingFromTDCContentLoadingTests {
    private func server(_ body: String, status: Int = 200) throws -> LoopbackServer {
        try LoopbackServer { request in request.path == "/all" ? .json(body, status: status) : .status(404) }
    }

    private func model(_ server: LoopbackServer) throws -> EventsModel {
        let urls = try LiveURLStore(server: "http://\(server.authority)")
        return EventsModel(apiManager: APIManager(loader: try Loader(), urlStore: urls))
    }

    @Test(
        "finding SF-15 a model has one of five states",
        arguments: [("[]", 200, "empty"), (#"[{"name": "Fair"}]"#, 200, "Fair"), ("gone", 404, "Not found")]
    )
    func states(body: String, status: Int, expected: String) async throws {
        let server = try server(body, status: status)
        let viewModel = try model(server)
        #expect(describe(viewModel) == "unloaded")
        let screen = EventsScreen(model: viewModel)
        screen.viewDidLoad()
        viewModel.refresh()
        #expect(describe(viewModel) == "loading")
        for await snapshot in viewModel.snapshots() where !snapshot.isLoading { break }
        #expect(describe(viewModel) == (status == 404 ? Response.Status(404).text() : expected))
    }

    private func describe(_ viewModel: EventsModel) -> String {
        switch viewModel.state {
        case .unloaded: "unloaded"
        case .empty: "empty"
        case .loading: "loading"
        case .success(let events): events.map(\.name).joined(separator: ", ")
        case .error(let error): error.localizedDescription
        }
    }

    @Test("finding SF-15 a view's lifetime starts and cancels loads")
    func lifetime() async throws {
        let server = try server(#"[{"name": "Fair"}]"#)
        let viewModel = try model(server)
        viewModel.lifetime = .willAppear
        #expect(viewModel.isLoading)
        for await snapshot in viewModel.snapshots() where !snapshot.isLoading { break }
        #expect(viewModel.content == [ClubEvent(name: "Fair")])
        viewModel.lifetime = .willAppear
        viewModel.lifetime = .didDisappear
        #expect(!viewModel.isLoading && viewModel.content?.count == 1)
    }

    @Test("finding SF-15 the events of the file are the model's")
    func eventsOfAFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "events-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(#"[{"name": "Fair"}]"#.utf8).write(to: folder.appending(path: "events.json"))

        let manager = APIManager(loader: try Loader(), urlStore: TestURLStore(folder: folder))
        let viewModel = EventsModel(apiManager: manager)

        #expect(await viewModel.load() == .success([ClubEvent(name: "Fair")]))
    }

    @Test("finding SF-15 a list is loaded page by page")
    func paging() async throws {
        let server = try LoopbackServer { request in
            .json(request.queryItem("page") == "0" ? #"[{"name": "a"}, {"name": "b"}]"# : #"[{"name": "c"}]"#)
        }
        let loader = try Loader()
        let url = try server.request(.get, "/events").url
        let list = try PagedContentModel<Void, ClubEvent>(pageSize: 2) { position in
            let endpoint = Endpoint(url).query("page", String(position.index))
            return ContentPage(try await loader.load(endpoint.decoding([ClubEvent].self)))
        }
        await list.load()
        list.loadNextPage()
        for await snapshot in list.snapshots() where !snapshot.isLoading { break }
        #expect(list.items.map(\.name) == ["a", "b", "c"] && !list.hasMore)
    }
}
