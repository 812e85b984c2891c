#if OpenAPI
    import Foundation
    import HTTPTypes
    import Lade
    import LadeCatalogueServer
    import LadeConformance
    import LadeOpenAPI
    import LadeTesting
    @_spi(Generated) import OpenAPIRuntime
    import Testing

    /// A client of the form that swift-openapi-generator writes, against servers on loopback.
    @Suite("A client of the generated form", .timeLimit(.minutes(5)))
    struct ShowsClientTests {
        private static let peers = ConformancePeers.fromEnvironment()

        private func client(_ base: String, _ path: String = "/shows") throws -> ShowsClient {
            let transport = LadeTransport(try Loader()) { request, operation in
                request.deadline = operation == "watchShows" ? nil : .seconds(30)
            }
            return ShowsClient(serverURL: try Request(base).url, path: path, transport: transport)
        }

        @Test("bridges BR-58 a client of the generated form lists, adds and uploads, and reads a problem and events")
        func loopback() async throws {
            let server = try LoopbackServer { request in
                switch (request.method, request.path) {
                case ("GET", "/v1/shows"): .json(#"[{"title":"Sea"}]"#)
                case ("POST", "/v1/shows"): .json(request.text, status: 201)
                case ("PUT", "/v1/shows/7"): request.text == "one, two" ? .status(204) : .status(400)
                case ("GET", "/v1/shows/events"):
                    ServerResponse(
                        fields: [ServerField("Content-Type", "text/event-stream")],
                        body: .bytes(Data("data: {\"title\":\"A\"}\n\nevent: new\ndata: {\"title\":\"B\"}\n\n".utf8))
                    )
                default:
                    ServerResponse(
                        status: 404,
                        fields: [ServerField("Content-Type", "application/problem+json")],
                        body: .bytes(Data(#"{"title":"No such show"}"#.utf8))
                    )
                }
            }
            let client = try client(server.address("/v1"))

            #expect(try await client.list() == .shows([Show(title: "Sea")]))
            #expect(try await client.add(Show(title: "Land")) == .shows([Show(title: "Land")]))
            #expect(try await client.show("8") == .problem("No such show"))
            #expect(try await client.upload("7", ["one", ", ", "two"]) == .other(204))
            #expect(try await client.watch() == [Show(title: "A"), Show(title: "B")])
        }

        @Test(
            "bridges BR-58 nginx lists, stores an upload, and sends a problem and events",
            .enabled(if: peers.contains("nginxHTTP"), "needs nginx: start the peers and set LADE_PEERS")
        )
        func nginx() async throws {
            let name = "shows-\(UInt64.random(in: 0 ... .max))"
            let client = try client("http://127.0.0.1:\(Self.peers.port("nginxHTTP"))/api")

            #expect(try await client.list() == .shows([Show(title: "Sea"), Show(title: "Land")]))
            #expect(try await client.show("8") == .problem("No such show"))
            #expect(try await client.watch() == [Show(title: "A"), Show(title: "B")])
            #expect(try await client.upload(name, ["one", ", ", "two"]) == .other(201))
            let file = URL(filePath: try Self.peers.text("uploads")).appending(path: name)
            #expect(try String(contentsOf: file, encoding: .utf8) == "one, two")
            try FileManager.default.removeItem(at: file)
        }

        @Test("bridges BR-58 the local catalogue lists, and refuses what it does not have")
        func catalogue() async throws {
            let catalogue = try LocalCatalogue()

            let client = try client(catalogue.address(""), "/medias")

            guard case .shows(let medias) = try await client.list() else {
                Issue.record("the list has no medias")
                return
            }
            #expect(medias.count == 10)
            #expect(try await client.show("none") == .other(404))
            #expect(try await client.add(Show(title: "Land")) == .other(405))
        }
    }

    private struct Show: Codable, Hashable, Sendable {
        var title: String
    }

    private enum Output: Sendable, Hashable {
        case shows([Show])
        case problem(String)
        case other(Int)
    }

    /// The operations of a small API, in the calls that swift-openapi-generator writes.
    private struct ShowsClient {
        private let client: UniversalClient
        private let path: String

        init(serverURL: URL, path: String, transport: any ClientTransport) {
            client = UniversalClient(serverURL: serverURL, configuration: Configuration(), transport: transport)
            self.path = path
        }

        private var converter: Converter { client.converter }

        func list() async throws -> Output { try await call("listShows", .get, path, []) }

        func show(_ id: String) async throws -> Output { try await call("getShow", .get, path + "/{}", [id]) }

        func add(_ show: Show) async throws -> Output {
            try await call("addShow", .post, path, []) { fields in
                try converter.setRequiredRequestBodyAsJSON(
                    show,
                    headerFields: &fields,
                    contentType: "application/json; charset=utf-8"
                )
            }
        }

        /// Sends chunks of a length that is not known.
        func upload(_ id: String, _ chunks: [String]) async throws -> Output {
            let stream = AsyncStream<ArraySlice<UInt8>> { continuation in
                for chunk in chunks { continuation.yield(ArraySlice(chunk.utf8)) }
                continuation.finish()
            }
            return try await call("uploadShow", .put, path + "/{}", [id]) { fields in
                try converter.setRequiredRequestBodyAsBinary(
                    HTTPBody(stream, length: .unknown),
                    headerFields: &fields,
                    contentType: "application/octet-stream"
                )
            }
        }

        func watch() async throws -> [Show] {
            let body = try await client.send(
                input: (),
                forOperation: "watchShows",
                serializer: { _ in
                    var request = HTTPRequest(soar_path: path + "/events", method: .get)
                    request.headerFields[.accept] = "text/event-stream"
                    return (request, nil)
                },
                deserializer: { response, body in
                    try converter.verifyContentTypeIfPresent(in: response.headerFields, matches: "text/event-stream")
                    return try converter.getResponseBodyAsBinary(HTTPBody.self, from: body, transforming: \.self)
                }
            )
            var shows: [Show] = []
            for try await event in body.asDecodedServerSentEventsWithJSONData(of: Show.self) {
                if let show = event.data { shows.append(show) }
            }
            return shows
        }

        private func call(
            _ operation: String,
            _ method: HTTPRequest.Method,
            _ template: String,
            _ parameters: [any Encodable],
            body make: @Sendable (inout HTTPFields) throws -> HTTPBody? = { _ in nil }
        ) async throws -> Output {
            let ids = parameters.map { "\($0)" }
            return try await client.send(
                input: (),
                forOperation: operation,
                serializer: { _ in
                    let path = try converter.renderedPath(template: template, parameters: ids)
                    var request = HTTPRequest(soar_path: path, method: method)
                    let body = try make(&request.headerFields)
                    return (request, body)
                },
                deserializer: { response, body in
                    let type = response.headerFields[.contentType] ?? ""
                    switch response.status.code {
                    case 200:
                        return .shows(
                            try await converter.getResponseBodyAsJSON([Show].self, from: body, transforming: \.self)
                        )
                    case 201 where type.hasPrefix("application/json"):
                        let show = try await converter.getResponseBodyAsJSON(
                            Show.self,
                            from: body,
                            transforming: \.self
                        )
                        return .shows([show])
                    case 404 where type.hasPrefix("application/problem+json"):
                        let show = try await converter.getResponseBodyAsJSON(
                            Show.self,
                            from: body,
                            transforming: \.self
                        )
                        return .problem(show.title)
                    case let code: return .other(code)
                    }
                }
            )
        }
    }
#endif
