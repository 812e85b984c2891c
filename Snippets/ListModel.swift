// A model of a list for a view: its pages, its states, and its next page when the list has scrolled to its end.
import Foundation
import LadeContent

struct Items: Decodable, Sendable {
    var items: [Int]
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let loader = try Loader()
let list = PagedEndpoint(
    try Endpoint(address + "/by-link").decoding(Items.self),
    paginator: .rule(.link(relation: "next"))
)
let model = try PagedContentModel<String, Int>(pageSize: 2) { [loader, list] position in
    let page = position.cursor as? PageRequest ?? list.firstPage(size: position.size)
    let loaded = try await loader.load(page, of: list)
    return ContentPage(loaded.value.items, cursor: loaded.next, hasMore: loaded.next != nil)
}
model.startOver()
for await snapshot in model.snapshots() where !snapshot.isLoading {
    if let error = snapshot.state.error { print(error.localizedDescription) }
    print(model.items)
    guard model.hasMore else { break }
    model.loadNextPage()
}
