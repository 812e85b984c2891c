import Foundation
import LadeCore
import LadeURLSession
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct URLRequestBridgeTests {
    @Test("a request becomes a URLRequest and comes back")
    func roundTrip() throws {
        var request = try Request(.post, "https://example.com/a?b=c")
        request.headers = ["Accept": "text/plain", "X-A": "1"]
        request.body = .bytes(Data("ab".utf8), contentType: "text/plain")
        request.timeouts.idle = .seconds(7)
        request.cacheMode = .preferStored

        let urlRequest = try request.urlRequest
        #expect(urlRequest.httpMethod == "POST")
        #expect(urlRequest.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(urlRequest.httpBody == Data("ab".utf8))
        #expect(urlRequest.timeoutInterval == 7)
        #expect(urlRequest.cachePolicy == .returnCacheDataElseLoad)

        let back = try Request(urlRequest)
        #expect(back.method == .post)
        #expect(back.url == request.url)
        #expect(back.headers.map(\.name) == ["Accept", "Content-Type", "X-A"])
        #expect(back.body?.length == 2)
        #expect(back.timeouts.idle == .seconds(7))
        #expect(back.cacheMode == .preferStored)
    }

    @Test(
        "finding FT-12 a time-out of any number is taken over as far as there is such a duration",
        arguments: [
            (.infinity, .seconds(9_223_372_036)), (.greatestFiniteMagnitude, .seconds(9_223_372_036)),
            (1e300, .seconds(9_223_372_036)),
            (.nan, .zero), (0.25, .milliseconds(250)),
        ] as [(TimeInterval, Duration)]
    )
    func timeouts(interval: TimeInterval, idle: Duration) throws {
        var urlRequest = URLRequest(url: try #require(URL(string: "https://example.com/")))
        urlRequest.timeoutInterval = interval

        let request = try Request(urlRequest)
        #expect(request.timeouts.idle == idle)
        #expect(try request.urlRequest.timeoutInterval >= 0)
    }

    @Test("the type of a body gives way to the caller's field")
    func contentType() throws {
        var request = try Request(.post, "https://example.com/")
        request.body = .bytes(Data("ab".utf8), contentType: "text/plain")
        request.headers["Content-Type"] = "text/html"
        #expect(try request.urlRequest.value(forHTTPHeaderField: "Content-Type") == "text/html")
    }

    @Test("a URLRequest that no transport would send is refused")
    func invalid() throws {
        var chunked = URLRequest(url: try #require(URL(string: "https://example.com/")))
        chunked.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
        let error = #expect(throws: LoadingError.self) { try Request(chunked) }
        guard case .invalidRequest(.framingField("Transfer-Encoding")) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "cache modes have their policies",
        arguments: [
            (.standard, .useProtocolCachePolicy), (.bypass, .reloadIgnoringLocalCacheData),
            (.revalidate, .reloadRevalidatingCacheData), (.preferStored, .returnCacheDataElseLoad),
            (.storedOnly, .returnCacheDataDontLoad),
        ] as [(Request.CacheMode, URLRequest.CachePolicy)]
    )
    func cacheModes(_ mode: Request.CacheMode, _ policy: URLRequest.CachePolicy) throws {
        var request = try Request("https://example.com")
        request.cacheMode = mode
        let urlRequest = try request.urlRequest
        #expect(urlRequest.cachePolicy == policy)
        #expect(try Request(urlRequest).cacheMode == mode)
    }

    @Test("repeated fields are joined")
    func repeated() throws {
        var request = try Request("https://example.com")
        request.headers = ["X-A": "1", "x-a": "2"]
        let value = try request.urlRequest.value(forHTTPHeaderField: "X-A")
        #expect(value?.filter { $0 != " " } == "1,2")
    }

    @Test("a body that is written while it is sent has no form there")
    func streams() throws {
        var request = try Request(.post, "https://example.com")
        request.body = .writer { _ in }
        #expect(throws: LoadingError.self) { try request.urlRequest }

        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpBodyStream = InputStream(data: Data([1]))
        #expect(throws: LoadingError.self) { try Request(urlRequest) }
    }

    @Test("a response becomes an HTTPURLResponse and comes back")
    func responses() async throws {
        let request = try Request("https://example.com/a")
        let headers: Headers = ["Content-Type": "text/plain", "Set-Cookie": "a=1", "set-cookie": "b=2"]
        let response = Response(status: 404, headers: headers, body: Response.Body(Data([1])), request: request)
        let made = try #require(response.httpURLResponse)
        #expect(made.statusCode == 404)
        #expect(made.url == request.url)
        #expect(made.value(forHTTPHeaderField: "set-cookie") == "a=1, b=2")

        let back = Response(made, body: Data([1]), request: request)
        #expect(back.status == 404)
        #expect(back.headers.all("Set-Cookie") == ["a=1", "b=2"])
        #expect(back.body.bytes == Data([1]))
    }
}
