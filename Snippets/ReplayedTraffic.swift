// A test against recorded responses: no request leaves the machine.
import Lade
import LadeTesting

let transport = try ReplayTransport("session.har")
let loader = Service(Service.Settings(), transport: transport).anonymous.makeLoader()
let response = try await loader.load(Request("https://api.example.com/shows"))
print(response.status, transport.unused)
try transport.checkUnused()
