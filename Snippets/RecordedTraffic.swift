// The traffic of a service as a HAR file, for a browser or a colleague; secrets are left out.
import Lade
import LadeTraffic

let recorder = try TrafficRecorder(writingTo: "session.har")
var settings = Service.Settings()
recorder.attach(to: &settings)
let service = try Service(settings)
let response = try await service.anonymous.makeLoader().load(Request("https://api.example.com/shows"))
print(response.status)
await service.shutDown()
try recorder.flush()
