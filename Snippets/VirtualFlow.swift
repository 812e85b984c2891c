// A whole flow in virtual time: a sign-in, a failure, a delay that the server asks for, and the story of the call.
import Lade
import LadeTesting

let transport = ScriptedTransport()
transport.on(.post, "/session").respond(.json(#"{"token": "t", "lifetime": 3600}"#))
transport.on(.get, "/shows").respond(.status(503, headers: ["Retry-After": "30"])).then(.json(#"["Sea"]"#))

struct Session: Decodable, Sendable {
    var token: String
    var lifetime: Int
}

let time = VirtualTime()
let events = EventRecorder()
var settings = Service.Settings()
settings.time = time
settings.observers = [events]
let service = Service(settings, transport: transport)
let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.example.com")) { _, _ in
    let session: Session = try await service.anonymous.makeLoader().load(
        Endpoint(.post, "https://api.example.com/session")
    )
    return .init(Secret(session.token), end: .after(.seconds(session.lifetime)))
}
let loader = service.account(authorisers: [authoriser]).makeLoader()

let start = time.now
let titles: [String] = try await time.runAutomatically {
    try await loader.load(Endpoint("https://api.example.com/shows"))
}
print(titles, "after the 30 s:", start.duration(to: time.now) >= .seconds(30))
print(transport.lines)
print(events.story.filter { $0.hasPrefix("exchange started") }.count, "exchanges")
