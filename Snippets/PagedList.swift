// A list that comes in pages, read page by page and item by item; here from scripted responses, so it runs anywhere.
import Foundation
import Lade
import LadeTesting

struct Shows: Decodable {
    struct Show: Decodable { var title: String }
    var showList: [Show]
    var next: String?
}

let transport = ScriptedTransport()
transport.on(.get, "/shows?pageSize=2").respond(
    .json(#"{"showList": [{"title": "Tagesschau"}, {"title": "10 vor 10"}], "next": "/shows?token=2"}"#)
)
transport.on(.get, "/shows?token=2").respond(.json(#"{"showList": [{"title": "Sternstunde"}]}"#))
let loader = Service(transport: transport).anonymous.makeLoader()

let shows = PagedEndpoint(
    try Endpoint("https://api.example.com/shows").decoding(Shows.self),
    sizer: .query("pageSize"),
    paginator: .target(\.next),
    itemCount: \.showList.count
)

// Page by page: each is fetched when the loop asks for it, and one more while the loop works.
for try await page in loader.pages(of: shows, size: 2, prefetch: 1) {
    print("page \(page.page.number): \(page.value.showList.count) shows, more: \(page.next != nil)")
}

// Item by item, and from the page that failed after a failure.
var titles: [String] = []
var start: PageRequest?
repeat {
    do throws(PageError) {
        for try await show in loader.pages(of: shows, size: 2, from: start).items(\.showList) {
            titles.append(show.title)
        }
        start = nil
    } catch {
        print(error)
        start = error.page
    }
} while start != nil
print(titles)
