// The second of five common tasks: send JSON and decode the response.
import Lade

struct Show: Codable, Sendable {
    var title: String
}

let draft = Show(title: "Tagesschau")
// snippet.task
let api = try API("https://api.example.com")
let created: Show = try await Loader().load(api.post("shows", json: draft))
// snippet.end
print(created.title)
