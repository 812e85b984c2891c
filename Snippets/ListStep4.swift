// From a URL to a list on the screen, step 4: a content model. Needs “lade serve --port 8080”.
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

// snippet.step
let model = try PagedContentModel<String, Media>(pageSize: 20) { [loader, list] position in
    let page = position.cursor as? PageRequest ?? list.firstPage(size: position.size)
    let loaded = try await loader.load(page, of: list)
    return ContentPage(loaded.value, cursor: loaded.next, hasMore: loaded.next != nil)
}
model.startOver()
// snippet.end

for await state in model.states() where !state.isLoading {
    print(model.items.count)
    break
}
