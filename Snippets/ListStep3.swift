// From a URL to a list on the screen, step 3: a list in pages. Needs “lade serve --port 8080”.
import Lade

struct Media: Decodable, Sendable, Identifiable, Equatable {
    var id: String
    var title: String
    var lead: String?
}

let loader = try Loader()

// snippet.step
let list = PagedEndpoint(
    try Endpoint("http://127.0.0.1:8080/medias").decoding([Media].self),
    sizer: .query("per_page"),
    paginator: .rule(.link(relation: "next"))
)
let first = try await loader.load(list.firstPage(size: 20), of: list)
print(first.value.count, first.next == nil ? "in all" : "and there are more")
// snippet.end
