// Searches as the user types, and prints what a view would show.
import LadeContent

struct Show: Codable, Sendable {
    var title: String
}

let api = try API("http://127.0.0.1:8080")
let loader = try Loader()
let model = ContentModel<String, [Show]>(
    isEmpty: { $0.isEmpty },
    load: { term in try await loader.load(api.get("shows", query: ["q": term])) }
)

model.refresh(whenChanged: "news")
for await state in model.states() {
    switch state {
    case .unloaded: print("Type something.")
    case .loading: print("…")
    case .success(let shows): print(shows.map(\.title))
    case .empty: print("Nothing found.")
    case .error(let error): print(error)
    }
    if !state.isLoading { break }
}
