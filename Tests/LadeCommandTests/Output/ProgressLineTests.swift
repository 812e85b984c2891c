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
struct ProgressLineTests {
    @Test("command CM-02 shows bytes and rate of a long download, and removes the line at the end")
    func shows() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try Descriptor.open(folder.path + "talk", O_WRONLY | O_CREAT)
        let talk = LineLog(file)
        let time = VirtualTime()
        var line = ProgressLine(talk, total: 4_000, time: time)

        line.show(1_000, of: 4_000)
        time.advance(by: .seconds(1))
        line.show(2_000, of: 4_000)
        time.advance(by: .milliseconds(50))
        line.show(3_000, of: 4_000)
        line.end()

        talk.flush()
        #expect(folder.text("talk") == "\r2.0 kB of 4.0 kB, 50 %, 2.0 kB/s\u{1B}[K\r\u{1B}[K")
    }

    @Test("command CM-02 counts from nothing when the download begins anew")
    func anew() {
        let time = VirtualTime()
        var line = ProgressLine(LineLog(Descriptor.standardError), total: 4_000, time: time)
        line.show(1_000, of: 4_000)
        time.advance(by: .seconds(1))

        line.show(100, of: 2_000)
        time.advance(by: .milliseconds(50))
        line.show(500, of: 2_000)

        #expect(line.text(at: time.now) == "500 B of 2.0 kB, 25 %, 10 kB/s")
    }

    @Test("command CM-02 counts what was there before for no rate")
    func resumed() {
        let time = VirtualTime()
        var line = ProgressLine(LineLog(Descriptor.standardError), total: nil, time: time)
        line.resume(at: 1_000_000)
        time.advance(by: .seconds(1))
        line.show(1_001_000, of: 2_000_000)

        #expect(line.text(at: time.now) == "1.0 MB of 2.0 MB, 50 %, 1.0 kB/s")
    }

    @Test("finding FL-1 does not trap, whatever the numbers are")
    func extremes() {
        let time = VirtualTime()
        for received in [0, 1, Int64.max / 2, .max] {
            for total in [nil, 0, 1, .max, .min] as [Int64?] {
                var line = ProgressLine(LineLog(Descriptor.standardError), total: total, time: time)
                line.show(received, of: total)
                #expect(line.text(at: time.now.advanced(by: .nanoseconds(1))).hasSuffix("/s"))
            }
        }
    }

    @Test("command CM-02 keeps quiet about a short download")
    func short() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let talk = LineLog(try Descriptor.open(folder.path + "talk", O_WRONLY | O_CREAT))
        let time = VirtualTime()
        var line = ProgressLine(talk, total: nil, time: time)

        time.advance(by: .milliseconds(499))
        line.show(1_000, of: nil)
        line.end()

        talk.flush()
        #expect(folder.text("talk") == "")
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ProgressChoiceTests {
    @Test("says how much of a body was sent")
    func upload() {
        let time = VirtualTime()
        let line = ProgressLine(LineLog(.standardError), total: 2_000_000, time: time, verb: "sent ")
        #expect(line.text(at: time.now).hasPrefix("sent 0 B of 2.0 MB, 0 %"))
    }

    @Test("shows the progress of pages on a terminal when they go to a file or a pipe")
    func pages() throws {
        var console = Console()
        var paging = PagesSettings()
        func shows() -> Bool {
            let context = CommandContext(table: .standard, console: console, interruption: Interruption())
            return PagesRun(settings: paging, context: context).showsProgress
        }
        (console.isTalkTerminal, console.isOutputTerminal) = (true, true)
        #expect(!shows())
        paging.paging.path = "all"
        #expect(shows())
        paging.output.isSilent = true
        #expect(!shows())
        paging.output.isSilent = false
        console.isTalkTerminal = false
        #expect(!shows())
        (paging.paging.path, console.isTalkTerminal, console.isOutputTerminal) = (nil, true, false)
        #expect(shows())
    }
}
