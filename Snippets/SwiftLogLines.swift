// A line of swift-log for each call, with the logger of the caller's task.
#if SwiftLog
    import Lade
    import LadeLogging
    import Logging

    var settings = Service.Settings()
    settings.observers = [LoggerObserver(Logger(label: "http"))]
    let loader = try Loader(settings)

    var logger = Logger(label: "http")
    logger[metadataKey: "request"] = "42"
    try await LoggerObserver.$current.withValue(logger) {
        _ = try await loader.load(Request("https://api.example.com/shows/1"))
    }
#endif
