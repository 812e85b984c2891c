// An app's code against scripted responses: no network and no waiting, however long the server asks to wait.
import Lade
import LadeTesting

let transport = ScriptedTransport()
transport.on(.get, "/shows").respond(.status(503, headers: ["Retry-After": "30"])).then(.json(#"["Tagesschau"]"#))

var settings = Service.Settings()
settings.acceptableStatuses = .all
let time = VirtualTime()
settings.time = time
let loader = Service(settings, transport: transport).anonymous.makeLoader()

let (first, second) = try await time.runAutomatically {
    let first = try await loader.load(Request("https://api.example.com/shows"))
    let second = try await loader.load(Request("https://api.example.com/shows"))
    return (first, second)
}
print(first.status, second.status, transport.received.count)
