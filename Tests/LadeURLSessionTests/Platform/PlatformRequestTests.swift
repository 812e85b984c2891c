import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct PlatformRequestTests {
    private func refusedFeature(_ change: (inout Request) throws -> Void) throws -> String? {
        var request = try Request("http://example.com")
        try change(&request)
        do throws(LoadingError) {
            _ = try PlatformRequest(request)
            return nil
        } catch {
            guard case .invalidRequest(.unsupportedFeature(let feature)) = error.kind else { return "another error" }
            return feature
        }
    }

    @Test("what the platform cannot do is refused and named, never ignored")
    func refused() throws {
        #expect(try refusedFeature { _ in } == nil)
        #expect(
            try refusedFeature { $0.destination = .unixSocket(path: "/s") }
                == "way to dial another destination than the address names"
        )
        #expect(
            try refusedFeature { $0.destination = .host("other", port: nil) }
                == "way to dial another destination than the address names"
        )
        #expect(try refusedFeature { $0.version = .http1_1 } == "choice of the protocol version")
        #expect(try refusedFeature { $0.body = .bytes(Data([1])) } == "body for a GET request")
        #expect(try refusedFeature { $0.body = .bytes(Data()) } == nil)
        #expect(
            try refusedFeature { request in
                var body = Request.Body.bytes(Data([1]))
                body.trailers = { Headers() }
                request.method = .post
                request.body = body
            } == "request trailers"
        )
    }

    @Test("a method that the platform would send in capitals is refused")
    func spelling() throws {
        var urlRequest = URLRequest(url: try #require(URL(string: "http://example.com")))
        urlRequest.httpMethod = "get"
        let isKept = urlRequest.httpMethod == "get"
        #expect(
            try refusedFeature { $0.method = try Request.Method("get") }
                == (isKept ? nil : "method “get” in this spelling")
        )
    }

    @Test("an empty body is left out with GET only, and keeps its type with other methods")
    func emptyBodies() throws {
        let empty = Request.Body.bytes(Data(), contentType: "text/plain")
        let get = try PlatformRequest(Request(.get, "http://example.com", body: empty))
        #expect(get.body == nil)
        #expect(get.urlRequest.value(forHTTPHeaderField: "Content-Type") == nil)
        let post = try PlatformRequest(Request(.post, "http://example.com", body: empty))
        #expect(post.body != nil)
        #expect(post.urlRequest.value(forHTTPHeaderField: "Content-Type") == "text/plain")
    }

    @Test("fields go over as they are, the length is the platform's, the type is the body's unless the caller's")
    func fields() throws {
        var request = try Request(.post, "http://example.com")
        request.headers = ["X-A": "1", "Content-Length": "2", "X-Empty": ""]
        request.body = .bytes(Data("ab".utf8), contentType: "text/plain")
        let typed = try PlatformRequest(request).urlRequest
        #expect(typed.value(forHTTPHeaderField: "X-A") == "1")
        #expect(typed.value(forHTTPHeaderField: "X-Empty") == "")
        #expect(typed.value(forHTTPHeaderField: "Content-Length") == nil)
        #expect(typed.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(typed.httpBody == nil)

        request.headers["Content-Type"] = "text/html"
        #expect(try PlatformRequest(request).urlRequest.value(forHTTPHeaderField: "Content-Type") == "text/html")
    }

    #if canImport(FoundationNetworking)
        @Test("transport TR-91 what must not be sent twice gets a connection that was never used")
        func freshConnections() throws {
            func needsFresh(_ method: Request.Method, _ body: Request.Body? = nil) throws -> Bool {
                try PlatformRequest(Request(method, "http://example.com", body: body)).needsFreshConnection
            }
            #expect(try !needsFresh(.get))
            #expect(try !needsFresh(.head))
            #expect(try !needsFresh(.delete))
            #expect(try needsFresh(.post))
            #expect(try needsFresh(.patch))
            // Sending it again would be allowed, but the platform omits the body.
            #expect(try needsFresh(.put, .bytes(Data([1]))))
        }
    #endif
}
