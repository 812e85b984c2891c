import Lade
import LadeTesting
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(1)))
struct PagesWordsTests {
    @Test(
        "notices a size of pages that the server ignores",
        arguments: [
            (50, 20, 3, true), (50, 100, 1, true), (50, 50, 3, false), (50, 20, 1, false), (nil, 20, 3, false),
            (50, nil, 0, false),
        ] as [(Int?, Int?, Int, Bool)]
    )
    func size(asked: Int?, first: Int?, pages: Int, isNoticed: Bool) {
        let notice = PagesRun.sizeNotice(asked, "size", first: first, pages: pages)
        #expect((notice != nil) == isNoticed)
        if isNoticed { #expect(notice?.contains("ignores size=50") == true) }
    }

    @Test("says so when the list has been read")
    func notice() async throws {
        let server = try LoopbackServer { request in
            let next = request.target.contains("page=2") ? "" : "</?page=2>; rel=next"
            return .json("[1,2,3]", [ServerField("Link", next)])
        }
        let outcome = try await LadeProcess.run("pages", server.address(), "--size", "2", "--max-pages", "2")
        #expect(outcome.status == 0)
        #expect(
            outcome.talk.contains(
                "lade: The server ignores size=2: its pages have 3 items. --size-query names its query.\n"
            )
        )
        let quiet = try await LadeProcess.run("pages", "-s", server.address(), "--size", "2", "--max-pages", "2")
        #expect(quiet.talk == "")
    }

    @Test("counts in the singular and in the plural")
    func numbers() {
        var progress = PageProgress()
        let time = VirtualTime()
        let line = PagesLine(Console(), time: time, isShown: false)
        (progress.pages, progress.items) = (1, 1)
        #expect(line.text(progress, at: time.now).hasPrefix("1 page, 1 item, 0 B"))
        (progress.pages, progress.items, progress.total) = (2, 3, 4)
        #expect(line.text(progress, at: time.now).hasPrefix("2 pages, 3 of 4 items, 0 B"))
    }
}
