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
}
