// A span for each call, and a child for each exchange, with swift-distributed-tracing.
#if SwiftTracing
    import Lade
    import LadeTracing

    var settings = Service.Settings()
    settings.addSpans()
    let loader = try Loader(settings)

    print(try await loader.load(Request("https://api.example.com/shows/1")).status)
#endif
