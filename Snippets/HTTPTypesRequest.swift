// A request and a response of swift-http-types.
#if HTTPTypes
    import HTTPTypes
    import Lade
    import LadeHTTPTypes

    let http = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/shows/1")
    let response = try await Loader().load(Request(http))
    print(try HTTPResponse(response).status)
#endif
