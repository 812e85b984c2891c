// The first of five common tasks: JSON into a struct.
import Lade

struct Show: Decodable, Sendable {
    var title: String
}

// snippet.task
let show: Show = try await Loader().load(Endpoint("https://api.example.com/shows/1"))
// snippet.end
print(show.title)
