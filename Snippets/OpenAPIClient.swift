// A transport for the clients that swift-openapi-generator writes.
#if OpenAPI
    import Lade
    import LadeOpenAPI
    import OpenAPIRuntime

    let loader = try Loader()
    let transport = LadeTransport(loader) { request, operationID in
        request.deadline = operationID == "watchShows" ? nil : .seconds(30)
    }

    func run(_ makeClient: (any ClientTransport) -> some Sendable) { print(makeClient(transport)) }
#endif
