import Lade
import LadeTesting
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
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
        let text =
            asked ?? 0 > first ?? 0 ? "gives 20 items a page at most, or does not know size=50" : "ignores size=50"
        if isNoticed { #expect(notice?.contains(text) == true) }
    }

    @Test("refuses a next page on another origin when told to")
    func sameOrigin() async throws {
        let other = try LoopbackServer { _ in .json("[2]") }
        let server = try LoopbackServer { _ in .json("[1]", [ServerField("Link", "<\(other.address())>; rel=next")]) }
        let free = try await LadeProcess.run("pages", server.address())
        let bound = try await LadeProcess.run("pages", server.address(), "--same-origin")
        let both = try await LadeProcess.run("pages", server.address(), "--same-origin", "--cross-origin-body")

        #expect(free.status == 0)
        #expect(free.output == "1\n2\n")
        #expect(bound.status != 0)
        #expect(bound.output == "1\n")
        #expect(both.status == 1)
        #expect(both.output == "")
        #expect(both.talkLines.first == "lade: --cross-origin-body with --same-origin")
        #expect(server.requestCount == 2)
        #expect(other.requestCount == 1)
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

    @Test(
        "progress has pages, items, bytes, rate and the reason of a wait, and is removed: finding FQ-24 command CM-02"
    )
    func progress() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let time = VirtualTime()
        var console = Console()
        console.talk = LineLog(try Descriptor.open(folder.file("talk", ""), O_WRONLY))
        let line = PagesLine(console, time: time, isShown: true)
        let hidden = PagesLine(console, time: time, isShown: false)
        var progress = Pages.Progress()
        (progress.pages, progress.items, progress.bytes, progress.total) = (2, 30, 3_000, 100)

        time.advance(by: .milliseconds(99))
        line.show(progress)
        time.advance(by: .milliseconds(1))
        progress.waiting = .gate(key: "svc\u{1B}")
        line.show(progress)
        hidden.show(progress)
        time.advance(by: .milliseconds(99))
        line.show(progress)
        time.advance(by: .milliseconds(801))
        (progress.pages, progress.waiting) = (3, nil)
        line.show(progress)
        line.end()
        hidden.end()
        time.advance(by: .seconds(1))
        line.show(progress)

        console.talk.flush()
        let lines = [
            "2 pages, 30 of 100 items, 3.0 kB, 30 kB/s, waiting for svc\\x1B, which requested a delay\u{1B}[K",
            "3 pages, 30 of 100 items, 3.0 kB, 3.0 kB/s\u{1B}[K", "\u{1B}[K",
        ]
        #expect(folder.text("talk") == lines.map { "\r" + $0 }.joined())
    }

    @Test("counts in the singular and in the plural")
    func numbers() {
        var progress = Pages.Progress()
        let time = VirtualTime()
        let line = PagesLine(Console(), time: time, isShown: false)
        (progress.pages, progress.items) = (1, 1)
        #expect(line.text(progress, at: time.now).hasPrefix("1 page, 1 item, 0 B"))
        (progress.pages, progress.items, progress.total) = (2, 3, 4)
        #expect(line.text(progress, at: time.now).hasPrefix("2 pages, 3 of 4 items, 0 B"))
    }
}
