import Lade
import LadeTesting
import LadeTraffic

#if canImport(LadeWire)
    import LadeWire
#endif

// The code of the articles about recordings. It is compiled and never run; a test compares it with the articles.

private func record() async throws {
    let recorder = try TrafficRecorder(writingTo: "session.har")
    var settings = Service.Settings()
    recorder.attach(to: &settings)
    let service = try Service(settings)
    let shows: [Show] = try await service.anonymous.makeLoader().load(Endpoint("https://api.example.com/shows"))
    try recorder.flush()
    print(shows)
}

private func recordWithoutCalls() throws {
    let recorder = try TrafficRecorder(writingTo: "session.har")
    var settings = Service.Settings()
    recorder.attach(to: &settings)
    let service = try Service(settings)
    try recorder.flush()
    print(service)
}

private func read() throws {
    try HARReader().read("session.har") { number, entry in
        print(number, entry.request.url, entry.response.status, entry.time)
    }
}

private func replayAll(_ settings: Service.Settings) throws {
    let transport = try ReplayTransport("shows.har")
    let service = Service(settings, transport: transport)
    try transport.checkUnused()
    print(service)
}

private func replay() async throws {
    let transport = try ReplayTransport("shows.har")
    var settings = Service.Settings()
    let time = VirtualTime()
    settings.time = time
    let loader = Service(settings, transport: transport).anonymous.makeLoader()
    let shows: [Show] = try await time.runAutomatically {
        try await loader.load(Endpoint("https://api.example.com/shows"))
    }
    print(shows)
}

#if canImport(LadeWire)
    private func recordOnce() throws {
        let transport = try ReplayTransport("shows.har", recordingWith: WireTransport())
        print(transport)
    }
#endif
