import Dispatch
import Foundation
import Lade
import LadeCallbacks
import LadeTesting
import Testing

// The code of Documentation/ComingFromBBCHTTPClient.md, run with a loopback server.

struct TitleProcessor: Service.Processor {
    func process(_ input: JSONValue?, of response: Response) throws -> String {
        guard let title = input?["title"]?.string else { throw ProcessingError.emptyBody }
        return title
    }
}

struct ClientNameDecorator: Service.Decorator {
    func decorate(_ request: Request) async -> Request {
        var decorated = request
        decorated.headers["X-Client"] = "Player"
        return decorated
    }
}

@Suite("Coming from the BBC HTTP client", .timeLimit(.minutes(5)))
struct ComingFromBBCHTTPClientTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer { request in
            switch request.path {
            case "/missing": .text("gone", status: 404)
            default: .json(#"{"title": "Sea"}"#)
            }
        }
    }

    private func notes() -> (stream: AsyncStream<String>, note: @Sendable (String) -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        return (stream, { continuation.yield($0) })
    }

    private func next(_ stream: AsyncStream<String>) async -> String? { await stream.first { _ in true } }

    @Test("finding SF-15 a request has its parts, and is sent with closures for success and failure")
    func sending() async throws {
        let (stream, note) = notes()
        let (address, missing) = (server.address("/show"), server.address("/missing"))
        let client = try Loader()
        var request = try Request(.post, address)
        request.headers["Accept"] = "application/json"
        request.userAgent = .string("Player/1.0")
        request.body = .text("body")
        request.cacheMode = .revalidate
        request.timeouts.whole = .seconds(10)
        request.acceptableStatuses = .codes(200..<300)
        let task = client.send(Endpoint(request).json()) { request, loaded in
            note("\(request.method) \(loaded.response.status.code) \(loaded.value?["title"]?.string ?? "")")
        } failure: { request, error in
            note(error.text())
        }
        #expect(await next(stream) == "POST 200 Sea")
        #expect(server.requests.first?["User-Agent"] == "Player/1.0" && server.requests.first?.text == "body")
        #expect(!task.isRunning)

        let other = client.send(try Endpoint(missing)) { _, _ in
            note("success")
        } failure: { _, error in
            let status = error.context.status
            let body = error.context.body
            note("\(status?.code ?? 0) \(String(decoding: body ?? Data(), as: UTF8.self))")
        }
        #expect(await next(stream) == "404 gone")
        other.cancel()
    }

    @Test("finding SF-15 processors follow one another")
    func processors() async throws {
        let client = try Loader()
        let address = server.address("/show")
        let title = try Endpoint(address).json().processing(with: TitleProcessor())
        let text = try await client.load(title)
        #expect(text == "Sea")
        let processors: [any Service.Processor] = [Service.JSONProcessor(), TitleProcessor()]
        let listed = try await client.load(Endpoint(address).processing(with: processors, as: String.self))
        #expect(listed == "Sea")
        struct Show: Decodable, Sendable {
            var title: String
        }

        let show = try await client.load(Endpoint(address).decoding(Show.self))
        #expect(show.title == "Sea")
    }

    @Test("finding SF-15 a client has a user agent, statuses, decorators and a queue for what it calls")
    func configuration() async throws {
        let (stream, note) = notes()
        let address = server.address("/missing")
        var settings = Service.Settings()
        settings.userAgent = .library("MyLibrary", version: "1.0.0")
        settings.acceptableStatuses = .codes(200..<500)
        settings.decorators = [
            ClientNameDecorator(),
            Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: Secret("token")),
        ]
        let client = try Loader(settings)
        let saml = Service.SAMLDecorator(clientID: "iplayer")
        saml.samlToken = Secret("token")
        let queue = DispatchQueue(label: "responses")
        client.load(try Request(address), on: .queue(queue)) { result in
            note("\((try? result.get().status.code) ?? 0)")
        }
        #expect(await next(stream) == "404")
        let request = try #require(server.requests.first)
        #expect(request["User-Agent"]?.contains("MyLibrary/1.0.0") == true && request["X-Client"] == "Player")
        #expect(request["Authorization"] == "Bearer token" && request["X-Authentication-Provider"] == "IdP")

        _ = try await client.load(Endpoint(address).decorated(by: saml))
        #expect(server.requests.count == 2)
    }

    @Test("finding SF-14 a living service is changed where it can be, and replaced by another otherwise")
    func living() async throws {
        let address = server.address("/show")
        var client = try Loader()
        var request = try Request(address)
        let service = client.account.service
        let seen = service.observe(with: ConsumptionObserver { _ in })
        service.settings.hosts.setAddresses(["backup.example.com"], for: "api.example.com")
        try service.rateLimiter.setRate(10, for: ServiceKey(request))
        request.userAgent = .string("Player/2.0")
        _ = try await client.load(request)
        #expect(server.requests.last?["User-Agent"] == "Player/2.0")
        request.userAgent = nil
        var settings = client.account.service.settings
        settings.userAgent = .string("Player/3.0")
        settings.completionExecutor = .queue(DispatchQueue(label: "responses"))
        client = try Loader(settings)
        _ = try await client.load(request)
        #expect(server.requests.last?["User-Agent"] == "Player/3.0")
        withExtendedLifetime(seen) {}
    }
}
