// One line with the times of an exchange, and one with the times of the whole call.
import Lade

func text(_ time: Duration?) -> String { time.map { "\(Int($0 / .milliseconds(1))) ms" } ?? "none" }

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let story = Service.CallStory()
var settings = Service.Settings()
settings.observers = [story]
let loader = try Loader(settings)
let response = try await loader.load(Request(address + "/shows/1"))
let times = response.metrics
print("connected \(text(times.connect)), first byte \(text(times.firstByte)), end \(text(times.total))")
print(story.timeline.totals.map { "\($0.stage) \(text($0.duration))" }.joined(separator: ", "))
