// From a URL to a list on the screen, step 5: the screen, here lines of text. Needs “lade serve --port 8080”.
import LadeContent

struct Media: Decodable, Sendable, Identifiable, Equatable {
    var id: String
    var title: String
    var lead: String?
}

let loader = try Loader()
let list = PagedEndpoint(
    try Endpoint("http://127.0.0.1:8080/medias").decoding([Media].self),
    sizer: .query("per_page"),
    paginator: .rule(.link(relation: "next"))
)
let model = try PagedContentModel<String, Media>(pageSize: 20) { [loader, list] position in
    let page = position.cursor as? PageRequest ?? list.firstPage(size: position.size)
    let loaded = try await loader.load(page, of: list)
    return ContentPage(loaded.value, cursor: loaded.next, hasMore: loaded.next != nil)
}
model.startOver()

// snippet.step
for await snapshot in model.snapshots() {
    switch snapshot.state {
    case .unloaded: break
    case .loading: print(model.items.isEmpty ? "Loading…" : "Loading more…")
    case .empty: print("There is nothing.")
    case .error(let error): print("That failed: \(error)")
    case .success(let content):
        for media in content.items.suffix(20) { print(media.title) }
        // The list has scrolled to its end.
        model.loadNextPage()
    }
    if case .error = snapshot.state { break }
    if model.items.count >= 60 { break }
}
// snippet.end
