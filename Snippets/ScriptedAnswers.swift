// An app's code against scripted responses: no network and no waiting, however long the server asks to wait.
import Lade
import LadeTesting

let transport = ScriptedTransport()
transport.on(.get, "/shows").respond(.status(503, headers: ["Retry-After": "30"])).then(.json(#"["Tagesschau"]"#))

var settings = Service.Settings()
settings.acceptableStatuses = .all
settings.time = VirtualTime()
let loader = Service(settings, transport: transport).anonymous.makeLoader()

let first = try await loader.load(Request("https://api.example.com/shows"))
let second = try await loader.load(Request("https://api.example.com/shows"))
print(first.status, second.status, transport.received.count)
