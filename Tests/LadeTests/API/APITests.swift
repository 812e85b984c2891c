#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("API", .timeLimit(.minutes(5)))
struct APITests {
    struct Show: Codable, Equatable, Sendable {
        var title: String
    }

    private let rig = Rig()
    private let api: API

    init() throws {
        api = try API("http://example.test/v1/")
    }

    @Test("decodes to the type that the caller expects, and asks for JSON")
    func inference() async throws {
        rig.transport.on(.get, "/v1/shows/7").respond(.json(#"{"title":"Tagesschau"}"#))

        let show: Show = try await rig.loader.load(api.get("shows", 7))

        #expect(show == Show(title: "Tagesschau"))
        #expect(rig.transport.requests.first?.headers["Accept"] == "application/json, application/problem+json")
    }

    @Test("gives the bytes where no type is expected, and where bytes are")
    func bytes() async throws {
        rig.transport.onAnyRequest().respond(.text("abc"))

        let inferred = try await rig.loader.load(api.get("text"))
        let expected: Data = try await rig.loader.load(api.get("text"))

        #expect(inferred == Data("abc".utf8))
        #expect(expected == Data("abc".utf8))
    }

    @Test("sends a value as JSON by the method it is called for", arguments: [Request.Method.post, .put, .patch])
    func values(method: Request.Method) async throws {
        rig.transport.onAnyRequest().respond(.json(#"{"title":"b"}"#))
        let endpoint =
            switch method {
            case .post: try api.post("shows", json: Show(title: "a"))
            case .put: try api.put("shows", json: Show(title: "a"))
            default: try api.patch("shows", json: Show(title: "a"))
            }

        let answer: Show = try await rig.loader.load(endpoint)

        let received = try #require(rig.transport.received.first)
        #expect(answer == Show(title: "b"))
        #expect(received.request.method == method)
        #expect(received.body == Data(#"{"title":"a"}"#.utf8))
        #expect(received.request.body?.contentType == "application/json")
    }

    @Test(
        "escapes what is interpolated and what is appended, and leaves literals as they are written",
        arguments: [
            ("shows/\("a/b")/x", "/v1/shows/a%2Fb/x"),
            ("shows/\("?#[ä")", "/v1/shows/%3F%23%5B%C3%A4"),
            ("shows/\("\u{1}\u{F}\u{10}")", "/v1/shows/%01%0F%10"),
            ("a b/c%20d/100%", "/v1/a%20b/c%20d/100%25"),
            ("a\u{1}\u{F}\u{10}b", "/v1/a%01%0F%10b"),
            ("/shows", "/v1/shows"),
            ("shows/", "/v1/shows/"),
            ("v\(2)/x", "/v1/v2/x"),
            ("a..\("b")", "/v1/a..b"),
            ("", "/v1/"),
        ] as [(API.Path, String)]
    )
    func paths(path: API.Path, target: String) throws {
        #expect(try api.get(path).request.url.absoluteString == "http://example.test" + target)
        #expect(try api.get(API.Path(["a/b", 3])).request.url.absoluteString == "http://example.test/v1/a%2Fb/3")
    }

    @Test(
        "refuses a component that servers take out, and names it",
        arguments: [
            ("shows/\("")/x", "is empty"), ("shows/\("..")", "is “..”"), ("\(".")/x", "is “.”"),
            ("\(".")\(".")", "is “..”"),
        ] as [(API.Path, String)]
    )
    func faults(path: API.Path, reason: String) throws {
        let error = #expect(throws: LoadingError.self) { try api.get(path) }
        #expect(error?.description.contains("a component of its path \(reason)") == true)
        #expect(throws: LoadingError.self) { try api.get("shows", "..") }
        #expect(throws: LoadingError.self) { try api.get("shows", "", "x") }
    }

    @Test(
        "makes a path of a text that is no literal, in which slashes separate components",
        arguments: [
            ("shows/a b/x", "/v1/shows/a%20b/x"), ("/shows/", "/v1/shows/"), ("a%2Fb?c#d", "/v1/a%252Fb%3Fc%23d"),
            ("a:b;c@d", "/v1/a:b;c@d"), ("", "/v1/"), ("shows/../x", nil), ("./x", nil), ("shows//x", nil),
        ] as [(String, String?)]
    )
    func texts(text: String, target: String?) throws {
        guard let target else {
            #expect(throws: LoadingError.self) { try api.get(API.Path(text)) }
            return
        }
        #expect(try api.get(API.Path(text)).request.url.absoluteString == "http://example.test" + target)
    }

    @Test("puts its own query items before those of the endpoint, and leaves out those without a value")
    func queries() throws {
        var api = api
        api.query = ["key": "s&c", "none": nil]
        api.secretQueryNames = ["key"]

        let endpoint = try api.get("shows", query: ["page": 2, "q": "ä b", "from": nil])

        #expect(endpoint.request.url.query(percentEncoded: true) == "key=s%26c&page=2&q=%C3%A4%20b")
        #expect(!endpoint.description.contains("s%26c"))
    }

    @Test("escapes all but letters, digits and unreserved marks of a value, and nothing of a literal")
    func escapes() throws {
        func address(_ path: API.Path) throws -> String { try api.get(path).request.url.absoluteString }
        #expect(try address("shows/\("a%2Fb")") == "http://example.test/v1/shows/a%252Fb")
        #expect(try address("shows/\("a;b@c")") == "http://example.test/v1/shows/a%3Bb%40c")
        // Only a component with a value can be wrong, not the ones after it.
        #expect(try address("shows/\("a")//x") == "http://example.test/v1/shows/a//x")
    }

    @Test("appends components after one slash, also to a path that ends with one")
    func slashesOfComponents() throws {
        #expect(try api.get("shows/", 7).request.url.absoluteString == "http://example.test/v1/shows/7")
        #expect(try api.get("", "shows", 7).request.url.absoluteString == "http://example.test/v1/shows/7")
    }

    @Test("joins the path by one slash, however many end its address", arguments: ["", "/", "///"])
    func slashes(end: String) throws {
        let api = try API("http://example.test/v1" + end)

        #expect(try api.get("shows").request.url.absoluteString == "http://example.test/v1/shows")
        #expect(try api.get("").request.url.absoluteString == "http://example.test/v1" + end)
    }

    @Test("names its secret query items to each request, which are then shown nowhere")
    func secretQueries() throws {
        var api = api
        api.query = ["channel-of-mine": "canary"]
        api.secretQueryNames = ["channel-of-mine"]

        let request = try api.get("shows").request

        #expect(request.secretQueryNames == ["channel-of-mine"])
        #expect(!request.description.contains("canary") && !"\(LoadingError.Context(request))".contains("canary"))
    }

    @Test("gives its headers, statuses and decoder to each endpoint; the endpoint has the last word")
    func commonParts() async throws {
        var api = api
        api.headers = ["X-Client": "tests", "Accept": "application/vnd.shows+json"]
        api.acceptableStatuses = .codes(200..<500)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        api.decoder = decoder
        struct Named: Decodable, Sendable { var showTitle: String }
        rig.transport.onAnyRequest().respond(.json(#"{"show_title":"x"}"#, status: 404))

        let named: Named = try await rig.loader.load(api.get("shows").header("X-Client", "other"))

        let request = try #require(rig.transport.requests.first)
        #expect(named.showTitle == "x")
        #expect(request.headers["X-Client"] == "other")
        #expect(request.headers["Accept"] == "application/vnd.shows+json")
    }

    private struct Named: Decodable, Sendable { var showTitle: String }

    private static var snakeCaseDecoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    @Test("decodes with its decoder behind other processors too, and a failure as well")
    func decoderBehindProcessors() async throws {
        var api = api.failure(as: Named.self)
        api.decoder = Self.snakeCaseDecoder
        rig.transport.on(.get, "/v1/shows").respond(.json(#"{"show_title":"x"}"#))
        rig.transport.on(.get, "/v1/lost").respond(.json(#"{"show_title":"y"}"#, status: 404))

        let named = try await rig.loader.load(api.get("shows").map { $0 }.decoding(Named.self))
        let ifPresent = try await rig.loader.load(api.get("shows").decodingIfPresent(Named.self))
        let error = await #expect(throws: LoadingError.self) {
            _ = try await rig.loader.load(api.get("lost").map { $0 })
        }

        #expect(named.showTitle == "x" && ifPresent?.showTitle == "x")
        #expect(error?.failure(as: Named.self)?.showTitle == "y")
    }

    @Test("an endpoint decodes with the decoder that it is given, not with that of the API")
    func decoderOfEndpoint() async throws {
        rig.transport.onAnyRequest().respond(.json(#"{"show_title":"x"}"#))
        let decoder = Self.snakeCaseDecoder

        let named = try await rig.loader.load(api.get("shows").decoding(Named.self, decoder: decoder))
        let ifPresent = try await rig.loader.load(api.get("shows").decodingIfPresent(Named.self, decoder: decoder))

        #expect(named.showTitle == "x" && ifPresent?.showTitle == "x")
    }

    @Test("an endpoint of its own names the type of failures, too")
    func failureOfEndpoint() async throws {
        rig.transport.onAnyRequest().respond(.json(#"{"title":"Gone"}"#, status: 410))

        let error = await #expect(throws: LoadingError.self) {
            _ = try await rig.loader.load(rig.endpoint().failure(as: Show.self))
        }

        #expect(error?.failure(as: Show.self) == Show(title: "Gone"))
    }

    @Test("names the type of what its encoder writes")
    func encoderType() async throws {
        var api = api
        api.encoder = PropertyListEncoder()

        let request = try api.post("shows", json: Show(title: "a")).request

        #expect(request.body?.contentType == "application/x-plist")
    }

    @Test("gives the server's problem with the error of an unacceptable status (RFC 9457)")
    func problems() async throws {
        let api = api.failure(as: API.Problem.self)
        let text = #"{"type":"https://example.test/gone","title":"Gone","status":"410","detail":"No show 7"}"#
        rig.transport.onAnyRequest().respond(.json(text, status: 410))

        let error = await #expect(throws: LoadingError.self) {
            let _: Show = try await rig.loader.load(api.get("shows", 7))
        }

        // The status is of another type than the RFC gives it, so it counts as missing.
        let problem = API.Problem(type: "https://example.test/gone", title: "Gone", detail: "No show 7")
        #expect(error?.failure(as: API.Problem.self) == problem)
        #expect(error?.failure(as: Show.self) == nil)
    }

    @Test("says why a server's problem could not be decoded, and keeps the status")
    func noProblem() async throws {
        rig.transport.onAnyRequest().respond(.text("<html>", status: 502))
        let endpoint = try api.failure(as: API.Problem.self).get("shows").request { $0.retryLimit = 0 }

        let error = await #expect(throws: LoadingError.self) { _ = try await rig.loader.load(endpoint) }

        #expect(error?.failure(as: API.Problem.self) == nil)
        #expect(error?.context.status == 502)
        #expect(error?.context.processingError is DecodingError)
    }

    @Test(
        "is made of an absolute address without query and fragment",
        arguments: [
            "shows", "https://", "https://h/?a=1", "https://h/#x",
        ]
    )
    func bases(address: String) {
        #expect(throws: LoadingError.self) { try API(address) }
    }

    @Test("a body makes a POST of a GET, and a method after it has the last word")
    func bodies() throws {
        let url = try Request("http://example.test/").url
        #expect(Endpoint(url).body(.text("x")).request.method == .post)
        #expect(Endpoint(.put, url).body(.text("x")).request.method == .put)
        #expect(Endpoint(url).body(nil).request.method == .get)
        #expect(try Endpoint(url).jsonBody(1).method(.get).request.method == .get)
        #expect(try Endpoint(.delete, "http://example.test/").request.method == .delete)
    }

    @Test("a loader can be made alone, and keeps its service")
    func aloneLoader() throws {
        var settings = Service.Settings()
        settings.acceptableStatuses = 200
        let loader = try Loader(settings)
        #expect(loader.account.identifier.isEmpty)
        #expect(loader.account.service.settings.acceptableStatuses == 200)
    }
}
