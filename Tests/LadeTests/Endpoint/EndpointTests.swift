#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Endpoints", .timeLimit(.minutes(5)))
struct EndpointTests {
    struct Show: Codable, Equatable, Sendable {
        var title: String
    }

    @Test("client CD-01 gets with the service's time-outs and as HTTP says when only an address is given")
    func defaults() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/thing").respond(.text("abc"))

        _ = try await rig.loader.load(rig.endpoint())

        let request = try #require(rig.transport.requests.first)
        #expect(request.method == .get)
        var timeouts = Request.Timeouts()
        timeouts.whole = .seconds(60)  // what the call has left (PL-01)
        #expect(request.timeouts == timeouts)
        #expect(request.cacheMode == .standard)
    }

    @Test("client CD-02 puts everything that the builders were given on the wire")
    func builders() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(299, "ok"))
        let endpoint = try rig.endpoint("/thing?keep=a%20b&page=1#top")
            .method(.put)
            .header("X-One", "1")
            .headers(["X-Two": "2", "X-Two": "3"])
            .query("page", "2")
            .query("new", "ä&=")
            .body(.text("body"))
            .timeouts { $0.idle = .seconds(7) }
            .acceptingStatuses(299)
            .cacheMode(.revalidate)
            .sourceIdentifier("tests")
            .decorated(
                by: Service.decorator { request in
                    var request = request
                    request.headers.add("X-Decorated", "yes")
                    return request
                }
            )
            .text()

        let text = try await rig.loader.load(endpoint)

        let received = try #require(rig.transport.received.first)
        #expect(text == "ok")
        #expect(received.target == "/thing?keep=a%20b&page=2&new=%C3%A4%26%3D")
        #expect(received.request.method == .put)
        #expect(received.request.headers["X-One"] == "1")
        #expect(received.request.headers.all("X-Two") == ["2", "3"])
        #expect(received.request.headers["X-Decorated"] == "yes")
        #expect(received.text == "body")
        #expect(received.request.timeouts.idle == .seconds(7))
        #expect(received.request.sourceIdentifier == "tests")
    }

    @Test(
        "a query item replaces all of its name, in the place of the first, and a fragment stays",
        arguments: [
            ("?a=1&b=2", "?a=9&b=2"), ("?a=1&b=2&a=3", "?a=9&b=2"), ("?b=2#top", "?b=2&a=9#top"), ("", "?a=9"),
            ("?%61=1", "?a=9"),
        ]
    )
    func queryItems(before: String, after: String) throws {
        let endpoint = try Endpoint("https://svc.example.com/a" + before).query("a", "9")

        #expect(endpoint.request.url.absoluteString == "https://svc.example.com/a" + after)
    }

    @Test("a query item is known by its name with a space, however that is written")
    func namesWithSpaces() throws {
        for name in ["a+b", "a%20b"] {
            let endpoint = try Endpoint("https://svc.example.com/?\(name)=1").query("a b", nil)
            #expect(endpoint.request.url.absoluteString == "https://svc.example.com/")
        }
    }

    @Test("several headers replace those of their names")
    func replacedHeaders() throws {
        let endpoint = try Endpoint("https://svc.example.com/a").header("X-One", "1").header("X-Two", "2")
            .headers(["x-one": "3", "X-One": "4"])

        #expect(endpoint.request.headers.all("X-One") == ["3", "4"] && endpoint.request.headers["X-Two"] == "2")
    }

    @Test("client D-06 leaves an endpoint as it was when a changed copy is made")
    func copies() throws {
        let first = try Endpoint("https://svc.example.com/a?x=1")
        let second = first.header("A", "b").query("x", nil).method(.post)

        #expect(first.request.headers.isEmpty)
        #expect(first.request.url.absoluteString == "https://svc.example.com/a?x=1")
        #expect(second.request.url.absoluteString == "https://svc.example.com/a")
        #expect(second.request.method == .post)
    }

    @Test("client CD-18 gives the raw bytes without processors")
    func raw() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("abc"))

        let loaded = try await rig.loader.loadValue(of: rig.endpoint())

        #expect(loaded.value == Data("abc".utf8))
        #expect(loaded.response.status == 200)
    }

    @Test("client CD-19 gives each processor what the one before made")
    func processors() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("abc"))

        let value = try await rig.loader.load(rig.endpoint().text().map { $0.uppercased() })

        #expect(value == "ABC")
    }

    @Test("decodes a value and gives the answer with it")
    func decodes() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.json(#"{"title": "Eins"}"#))

        let loaded = try await rig.loader.loadValue(of: rig.endpoint().decoding(Show.self))

        #expect(loaded.value == Show(title: "Eins"))
        #expect(loaded.response.headers["Content-Type"] == "application/json")
    }

    @Test("checks the status of what came over HTTP, whatever the scheme of the request", arguments: [true, false])
    func statusOfOtherSchemes(isHTTP: Bool) throws {
        let request = try Request("own://host/a")
        let response = Response(status: 404, request: request, version: isHTTP ? .http1_1 : nil)

        #expect(response.isSuccess(200) == !isHTTP)
    }

    @Test("makes the value of an answer at hand, without sending anything")
    func fromResponse() throws {
        let request = try Request("https://svc.example.com/a")
        let response = Response(status: 200, body: Response.Body(Data(#"{"title":"Zwei"}"#.utf8)), request: request)

        #expect(try Endpoint(request).decoding(Show.self).value(from: response) == Show(title: "Zwei"))
    }
}
