// From a URL to a list on the screen, step 2: the response as values. Needs “lade serve --port 8080”.
import Lade

let loader = try Loader()

// snippet.step
struct Media: Decodable, Sendable, Identifiable, Equatable {
    var id: String
    var title: String
    var lead: String?
}

let medias: [Media] = try await loader.load(Endpoint("http://127.0.0.1:8080/medias?per_page=3"))
for media in medias { print(media.title) }
// snippet.end
