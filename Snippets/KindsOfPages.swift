// Three kinds of pages: the next page is named by a link, found by its number, or by a cursor in the body.
import Lade

struct Items: Decodable, Sendable {
    var items: [Int]
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let loader = try Loader()
let kinds: [(path: String, rule: Pages.Rule)] = [
    ("/by-link", .link(relation: "next")),
    ("/by-number?page=1", .pageNumber(query: "page", first: 1)),
    ("/by-cursor", .bodyCursor(["next_cursor"], query: "cursor")),
]
for (path, rule) in kinds {
    let list = PagedEndpoint(
        try Endpoint(address + path).decoding(Items.self),
        paginator: .rule(rule),
        itemCount: \.items.count
    )
    var items: [Int] = []
    for try await item in loader.pages(of: list).items(\.items) { items.append(item) }
    print(path, items)
}
