// A transport for the clients that swift-openapi-generator writes.
#if OpenAPI
    import HTTPTypes
    import Lade
    import LadeOpenAPI
    import OpenAPIRuntime

    let transport = LadeTransport(try Loader()) { request, operationID in
        request.deadline = operationID == "watchShows" ? nil : .seconds(30)
    }

    let server = try Request("https://api.example.com").url
    let get = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/shows/1")
    let (response, body) = try await transport.send(get, body: nil, baseURL: server, operationID: "getShow")
    print(response.status.code, try await String(collecting: body ?? "", upTo: 1_000_000))
#endif
