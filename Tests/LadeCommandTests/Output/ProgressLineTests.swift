import Lade
import LadeTesting
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

@Suite(.timeLimit(.minutes(1)))
struct ProgressLineTests {
    @Test("command CM-02 shows bytes and rate of a long download, and removes the line at the end")
    func shows() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try Descriptor.open(folder.path + "/talk", O_WRONLY | O_CREAT)
        let talk = LineLog(file)
        let time = VirtualTime()
        var line = ProgressLine(talk, total: 4_000, time: time)

        line.add(1_000)
        time.advance(by: .seconds(1))
        line.add(1_000)
        time.advance(by: .milliseconds(50))
        line.add(1_000)
        line.end()

        talk.flush()
        #expect(folder.text(of: "talk") == "\r2.0 kB of 4.0 kB, 50 %, 2.0 kB/s\u{1B}[K\r\u{1B}[K")
    }

    @Test("command CM-02 counts from nothing when the download begins anew")
    func anew() {
        let time = VirtualTime()
        var line = ProgressLine(LineLog(Descriptor.standardError), total: 4_000, time: time)
        line.add(1_000)
        time.advance(by: .seconds(1))

        line.beginAnew(total: 2_000)
        time.advance(by: .milliseconds(50))
        line.add(500)

        #expect(line.text(at: time.now) == "500 B of 2.0 kB, 25 %, 10 kB/s")
    }

    @Test("command CM-02 keeps quiet about a short download")
    func short() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let talk = LineLog(try Descriptor.open(folder.path + "/talk", O_WRONLY | O_CREAT))
        let time = VirtualTime()
        var line = ProgressLine(talk, total: nil, time: time)

        time.advance(by: .milliseconds(499))
        line.add(1_000)
        line.end()

        talk.flush()
        #expect(folder.text(of: "talk") == "")
    }
}
