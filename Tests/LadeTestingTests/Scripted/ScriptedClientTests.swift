import Foundation
import Lade
import LadeTesting
import Testing

/// Code of an app that loads by any client.
private struct ShowsStore {
    let client: any LoadingClient

    func titles() async throws -> [String] {
        try await client.load(Endpoint("https://api.example.com/shows").decoding([String].self))
    }

    func allPages() async throws -> [Int] {
        let endpoint = PagedEndpoint(
            Endpoint(try Request("https://api.example.com/list")).decoding([Int].self),
            paginator: .rule(.link(relation: "next"))
        )
        return try await client.pages(of: endpoint).reduce(into: []) { $0 += $1.value }
    }
}

/// A client of an app that counts its calls.
private final class CountingClient: LoadingClient {
    private let base: any LoadingClient
    let calls = Locked(0)

    init(_ base: any LoadingClient) { self.base = base }

    func load(_ request: Request) async throws(LoadingError) -> Response {
        calls.withLock { $0 += 1 }
        return try await base.load(request)
    }

    func loadValue<Value>(of endpoint: Endpoint<Value>) async throws(LoadingError) -> Loader.Loaded<Value> {
        calls.withLock { $0 += 1 }
        return try await base.loadValue(of: endpoint)
    }

    func download(
        _ request: Request,
        to path: String,
        options: Download.Options,
        progress: (@Sendable (Download.Progress) -> Void)?
    ) async throws(LoadingError) -> Download {
        calls.withLock { $0 += 1 }
        return try await base.download(request, to: path, options: options, progress: progress)
    }

    func pages<Value>(of endpoint: PagedEndpoint<Value>, size: Int, prefetch: Int) -> Pages.Sequence<Value> {
        calls.withLock { $0 += 1 }
        return base.pages(of: endpoint, size: size, prefetch: prefetch)
    }
}

@Suite("The client protocol", .timeLimit(.minutes(5)))
struct ScriptedClientTests {
    private let client: ScriptedClient

    init() {
        var settings = Service.Settings()
        settings.retries.backoff = .none
        client = ScriptedClient(settings)
    }

    @Test("finding SF-8 code that uses a client is tested with scripted responses, alone and wrapped by the app's own")
    func values() async throws {
        client.transport.on(.get, "/shows").respond(.status(503)).then(.json(#"["Tagesschau"]"#))
        let counting = CountingClient(client)

        #expect(try await ShowsStore(client: counting).titles() == ["Tagesschau"])
        #expect(counting.calls.withLock { $0 } == 1)
        #expect(client.transport.requests.count == 2)
    }

    @Test("finding SF-8 a client gives pages, responses and files, and a loader is one")
    func otherForms() async throws {
        client.transport.on(.get, "/list").respond(.json("[1]", headers: ["Link": "</list?page=2>; rel=next"]))
            .then(.json("[2]"))
        client.transport.on(.get, "/file").respond(.text("hello"))
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-client-\(UUID())").path()
        defer { try? FileManager.default.removeItem(atPath: path) }

        #expect(try await ShowsStore(client: client.loader).allPages() == [1, 2])
        #expect(try await ShowsStore(client: client).allPages() == [2])
        let any: any LoadingClient = client
        #expect(try await any.load(Request("https://api.example.com/file")).status == 200)
        #expect(try await any.download(Request("https://api.example.com/file"), to: path).length == 5)
        #expect(FileManager.default.contents(atPath: path) == Data("hello".utf8))
    }
}
