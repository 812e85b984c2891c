#if HTTPTypes
    import Foundation
    import HTTPTypes
    import Lade
    import LadeHTTPTypes
    import Testing

    @Suite("Types of swift-http-types", .timeLimit(.minutes(5)))
    struct HTTPTypesTests {
        @Test("bridges BR-10 fields keep their order, their repetitions, the case of their names and their octets")
        func fields() throws {
            var fields = HTTPFields()
            for (name, value) in [
                ("X-b", "1"), ("Set-Cookie", "a=1"), ("x-B", ""), ("Set-Cookie", "b=ü"), ("A", "2 \t3"),
            ] {
                fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            fields.append(HTTPField(name: try #require(HTTPField.Name("Latin")), value: [0x61, 0xFC]))

            let headers = try Headers(fields)
            let back = try HTTPFields(headers)

            #expect(headers.map(\.name) == ["X-b", "Set-Cookie", "x-B", "Set-Cookie", "A", "Latin"])
            #expect(headers.all("Set-Cookie") == ["a=1", "b=ü"])
            #expect(back.map(\.name.rawName) == fields.map(\.name.rawName))
            #expect(
                back.map { $0.withUnsafeBytesOfValue(Array.init) }
                    == fields.map { $0.withUnsafeBytesOfValue(Array.init) }
            )
        }

        @Test("bridges BR-11 a field that must not be indexed is a secret, and a secret must not be indexed")
        func secrets() throws {
            let name = try #require(HTTPField.Name("X-Internal"))
            var field = HTTPField(name: name, value: "hunter2")
            field.indexingStrategy = .disallow
            var fields = HTTPFields()
            fields.append(field)
            fields.append(HTTPField(name: .authorization, value: "Bearer hunter2"))
            fields.append(HTTPField(name: .accept, value: "*/*"))

            let headers = try Headers(fields)
            let back = try HTTPFields(headers)

            #expect(!headers.description.contains("hunter2"))
            #expect(back.map(\.indexingStrategy) == [.disallow, .disallow, .automatic])
            fields.append(field)
            #expect(throws: LoadingError.self) { try Headers(fields) }
        }

        @Test("bridges BR-11 several secrets are kept whose name says what they are")
        func cookies() throws {
            var fields = HTTPFields()
            for value in ["a=1", "b=2"] {
                var field = HTTPField(name: .cookie, value: value)
                field.indexingStrategy = .avoid
                fields.append(field)
            }

            #expect(try Headers(fields).all("Cookie") == ["a=1", "b=2"])
        }

        @Test(
            "bridges BR-12 the address is that of the pseudo-fields",
            arguments: [
                ("https", "example.com", "/", "https://example.com/"),
                ("http", "example.com:8080", "/a%20b?c=d&e", "http://example.com:8080/a%20b?c=d&e"),
                ("https", "[::1]:8443", "/?", "https://[::1]:8443/?"),
            ]
        )
        func requests(_ scheme: String, _ authority: String, _ path: String, _ url: String) throws {
            let http = HTTPRequest(
                method: .put,
                scheme: scheme,
                authority: authority,
                path: path,
                headerFields: [.accept: "a/b"]
            )

            let request = try Request(http, body: .text("x"))
            let back = try HTTPRequest(request)

            #expect(request.url.absoluteString == url)
            #expect(request.method == .put)
            #expect(request.headers["Accept"] == "a/b")
            #expect(back == http)
        }

        @Test("bridges BR-12 an address without a path has a slash, and a fragment stays behind")
        func target() throws {
            #expect(try HTTPRequest(Request("https://Example.com?a#b")).path == "/?a")
            #expect(try HTTPRequest(Request("https://example.com/a?b#c")).path == "/a?b")
        }

        @Test(
            "bridges BR-13 a request that cannot be sent as it is is refused",
            arguments: [
                HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/"),
                HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/"),
                HTTPRequest(method: .get, scheme: "https", authority: "", path: "/"),
                HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: nil),
                HTTPRequest(method: .options, scheme: "https", authority: "a.example", path: "*"),
                HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/a#b"),
                HTTPRequest(method: .get, scheme: "https", authority: "user@a.example", path: "/"),
                HTTPRequest(method: .get, scheme: "https", authority: "a.example/b", path: "/c"),
                HTTPRequest(method: .get, scheme: "ftp", authority: "a.example", path: "/"),
                HTTPRequest(method: .connect, scheme: "https", authority: "a.example", path: "/"),
                HTTPRequest(
                    method: .get,
                    scheme: "https",
                    authority: "a.example",
                    path: "/",
                    headerFields: [.upgrade: "x"]
                ),
            ]
        )
        func refusals(_ request: HTTPRequest) {
            let error = #expect(throws: LoadingError.self) { try Request(request) }
            guard case .invalidRequest? = error?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
        }

        @Test("bridges BR-13 headers with a fault and other schemes are refused")
        func faults() throws {
            #expect(throws: LoadingError.self) { try HTTPFields(Headers([("a b", "1")])) }
            #expect(throws: LoadingError.self) { try HTTPRequest(Request(URL(fileURLWithPath: "/etc/hosts"))) }
        }

        @Test("bridges BR-14 a response keeps its status and its fields")
        func responses() throws {
            let request = try Request("https://example.com/")
            let http = HTTPResponse(status: .init(code: 299), headerFields: [.contentType: "a/b"])

            let response = try Response(http, body: Response.Body(Data("x".utf8)), to: request)

            #expect(response.status == 299)
            #expect(try HTTPResponse(response) == http)
            #expect(throws: LoadingError.self) { try HTTPResponse(Response(status: 42, request: request)) }
        }
    }
#endif
