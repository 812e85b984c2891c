import Foundation
import Lade
import LadeCallbacks
import LadeCatalogue
import LadeContent
import LadeHarvest
import SharedDoubles
import Testing

/// The names of an app's models beside those of the library.
@Suite("Names of an app", .timeLimit(.minutes(5)))
struct AppNameTests {
    @Test("finding SF-10 models of an app by the names Event, Page, Status and Link need no module in front")
    func models() {
        // That this compiles is the test: a name that two modules have is an error.
        let page: Page = Page(events: [Event(title: "Final", status: Status.planned, links: [Link(target: "/1")])])

        #expect(page.events.first?.status == .planned)
    }

    @Test("finding SF-10 the list of the library's names has none that an app gives its own models")
    func list() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let names = try String(contentsOf: root.appending(path: "Scripts/names.txt"), encoding: .utf8).split(
            separator: "\n"
        )
        let own: Set<Substring> = [
            "Event", "Page", "Status", "Link", "Method", "Metrics", "Rate", "Outcome", "Item", "User", "Session",
            "Result", "Image",
        ]

        #expect(names.count > 50)
        #expect(own.intersection(names).isEmpty)
    }

    @Test("a file that imports LadeCatalogue sees these names of it, and none that an app gives its own models")
    func catalogue() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/LadeCatalogue")
        let files = try #require(FileManager.default.enumerator(atPath: folder.path())).compactMap { $0 as? String }
        let declaration = /(?m)^public (?:struct|enum|protocol|final class|typealias|func|let|var) (\w+)/
        var names: Set<Substring> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            names.formUnion(text.matches(of: declaration).map(\.1))
        }

        #expect(
            names == [
                "Catalogue", "CatalogueDecoder", "CatalogueError", "CatalogueImage", "CatalogueItem", "CatalogueModel",
                "CatalogueProvider", "CatalogueService", "CatalogueURN", "CatalogueWord", "KeyedModel", "ModelMembers",
            ]
        )
    }
}
