// Reads server-sent events, and connects again where the stream ended.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let loader = try Loader()
var count = 0
for try await event in loader.events(from: try Request(address + "/feed")) {
    print(event.type, event.data)
    count += 1
    if count == 3 { break }
}
