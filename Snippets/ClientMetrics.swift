// Durations, sizes and counts of exchanges with swift-metrics.
#if SwiftMetrics
    import Lade
    import LadeMetrics

    var settings = Service.Settings()
    settings.observers = [MetricsObserver()]
    let loader = try Loader(settings)

    var request = try Request("https://api.example.com/shows/1")
    request.routeTemplate = "/shows/{id}"
    print(try await loader.load(request).status)
#endif
