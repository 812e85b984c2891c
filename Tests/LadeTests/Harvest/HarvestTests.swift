import Foundation
import LadeTesting
import Testing

@testable import Lade

@Suite("Harvests")
struct HarvestTests {
    /// A folder that goes away with the test.
    final class Folder: Sendable {
        let path: String

        init() throws {
            path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)").path()
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { path + "/" + name }

        func text(_ name: String) -> String {
            (try? String(contentsOfFile: file(name), encoding: .utf8)) ?? "nothing"
        }
    }

    /// `{"id":N,…}` pages linked by `next`, pretty-printed.
    static func source(
        pages: Int = 5,
        size: Int = 3,
        total: Bool = false,
        fails: @escaping @Sendable (Int) -> Bool = { _ in false }
    ) -> PagedSource {
        PagedSource { asked in
            let page = asked["page"] ?? 0
            if fails(page) { return .status(500) }
            let items = (page * size..<(page + 1) * size).map { #"{ "id" : \#($0), "x": 1.50, "é": "\u00e9 b" }"# }
            let next = page + 1 < pages ? #","next":"/list?page=\#(page + 1)&token=secret""# : ""
            let count = total ? #","total":\#(pages * size)"# : ""
            return .json("{\"items\": [\n\(items.joined(separator: " ,\n"))\n]\(next)\(count)}")
        }
    }

    static func lines(_ numbers: some Sequence<Int>) -> String {
        numbers.map { #"{"id":\#($0),"x":1.50,"é":"\u00e9 b"}"# + "\n" }.joined()
    }

    static func harvest(saveInterval: Duration = .zero) throws -> Harvest {
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = [.body(["next"])]
        harvest.saveInterval = saveInterval
        return harvest
    }

    @Test("pages PA-20 writes each item as one line, byte for byte, in page order", arguments: [0, 3])
    func writesLines(prefetch: Int) async throws {
        let folder = try Folder()
        var harvest = try Self.harvest()
        harvest.prefetch = prefetch

        let summary = try await harvest.run(with: Self.source().loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == Self.lines(0..<15))
        #expect(summary.ending == .complete)
        #expect(summary.pages == 5 && summary.items == 15 && summary.resumedPages == 0)
        #expect(summary.bytes == Int64(Self.lines(0..<15).utf8.count))
    }

    @Test("pages PA-20 takes the document itself for the list, and refuses a first page without one")
    func lists() async throws {
        let written = Locked("")
        let destination = Harvest.Destination.writer { lines in
            written.withLock { $0 += String(decoding: lines, as: UTF8.self) }
        }
        let source = PagedSource { asked in
            .json("[ 1, \"a\" ]", headers: asked["p"] == nil ? ["Link": "<?p=1>; rel=next"] : [:])
        }
        let harvest = Harvest(try Request("https://api.example.com/list"))

        let summary = try await harvest.run(with: source.loader, to: destination)

        #expect(summary.pages == 2)
        #expect(written.withLock { $0 } == "1\n\"a\"\n1\n\"a\"\n")
        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: Self.source().loader, to: destination)
        }
        #expect(error?.description.contains("no list") == true)
    }

    @Test("pages PA-21 keeps a journal that says what the output holds for certain, and no more")
    func journal() async throws {
        let folder = try Folder()
        let harvest = try Self.harvest()
        let states = Locked<[HarvestJournal]>([])
        let out = folder.file("out")
        let source = Self.source { _ in
            // Whenever a page is asked for, the one before is safe.
            if let bytes = FileManager.default.contents(atPath: out + ".journal"),
                let journal = try? JSONDecoder().decode(HarvestJournal.self, from: bytes)
            {
                let size = FileManager.default.contents(atPath: out)?.count ?? 0
                #expect(journal.bytes == Int64(size))
                states.withLock { $0.append(journal) }
            }
            return false
        }

        _ = try await harvest.run(with: source.loader, to: .file(out))

        let journals = states.withLock { $0 }
        #expect(journals.map(\.pages) == [1, 2, 3, 4])
        #expect(journals.map(\.items) == [3, 6, 9, 12])
        #expect(journals[0].nextURL == "https://api.example.com/list?page=1&token=secret")
        #expect(!folder.text("out.journal").isEmpty)
        let mode = try FileManager.default.attributesOfItem(atPath: out + ".journal")[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("pages PA-21 saves no more often than the interval says, and always at the end")
    func interval() async throws {
        let folder = try Folder()
        let source = Self.source()
        var harvest = try Self.harvest(saveInterval: .seconds(1))
        harvest.time = source.time
        let out = folder.file("out")
        let seen = Locked(0)
        let watching = Self.source { _ in
            if FileManager.default.fileExists(atPath: out + ".journal") { seen.withLock { $0 += 1 } }
            return false
        }

        _ = try await harvest.run(with: watching.loader, to: .file(out))

        #expect(seen.withLock { $0 } == 0)
        #expect(folder.text("out.journal").contains("\"isComplete\" : true"))
    }

    @Test("pages PA-22 goes on after an error as if nothing had happened", arguments: [0, 2])
    func resumes(prefetch: Int) async throws {
        let folder = try Folder()
        let broken = Locked(3)
        let source = Self.source { page in broken.withLock { $0 == page } }
        var harvest = try Self.harvest(saveInterval: .seconds(100))
        harvest.prefetch = prefetch

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        guard case .page(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.page.number == 3)
        broken.withLock { $0 = -1 }
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.resumedPages == 3 && summary.pages == 5 && summary.items == 15)
        #expect(folder.text("out") == Self.lines(0..<15))
        let requests = source.transport.requests.count
        #expect(try await harvest.run(with: source.loader, to: .file(folder.file("out"))).ending == .complete)
        #expect(source.transport.requests.count == requests)
    }

    @Test("pages PA-22 cuts off a torn line and whatever the journal does not know of")
    func cutsTornLines() async throws {
        let folder = try Folder()
        let harvest = try Self.harvest()
        let broken = Locked(2)
        let source = Self.source { page in broken.withLock { $0 == page } }
        _ = try? await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let torn = folder.text("out") + Self.lines(6..<8).dropLast(9)
        try torn.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
        broken.withLock { $0 = -1 }

        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == Self.lines(0..<15))
    }

    @Test("pages PA-22 refuses an output that is not what was written")
    func changedOutput() async throws {
        let folder = try Folder()
        let harvest = try Self.harvest()
        let source = Self.source { $0 == 2 }
        _ = try? await harvest.run(with: source.loader, to: .file(folder.file("out")))
        for text in ["{}", String(Self.lines(0..<6).map { $0 == "1" ? "2" : $0 })] {
            try text.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
            let error = await #expect(throws: HarvestError.self) {
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }
            guard case .outputChanged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test("pages PA-23 refuses other arguments, says which, and begins anew when told to")
    func arguments() async throws {
        let folder = try Folder()
        let source = Self.source()
        var harvest = try Self.harvest()
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.rules = [.link(relation: "next")]
        harvest.identity = ["id"]

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.map(\.argument) == ["identity", "next"])
        #expect(differences.map(\.before) == [nil, "body /next"])
        #expect(differences.map(\.now) == ["/id", "link next"])
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")), restart: true)
        #expect(summary.items == 3 && summary.resumedPages == 0)
    }

    @Test("pages PA-23 leaves a file alone that no journal speaks of")
    func foreignOutput() async throws {
        let folder = try Folder()
        try "mine".write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        let error = await #expect(throws: HarvestError.self) {
            try await Self.harvest().run(with: Self.source().loader, to: .file(folder.file("out")))
        }
        guard case .outputExists = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == "mine")
    }

    @Test("pages PA-24 finishes the page when asked to stop, and goes on later")
    func stops() async throws {
        let folder = try Folder()
        let stop = Harvest.Stop()
        let source = Self.source { page in
            if page == 2 { stop.request() }
            return false
        }
        let harvest = try Self.harvest(saveInterval: .seconds(100))

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")), stop: stop)

        #expect(summary.ending == .stopped)
        #expect(folder.text("out") == Self.lines(0..<9))
        let rest = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(rest.resumedPages == 3 && rest.ending == .complete)
        #expect(folder.text("out") == Self.lines(0..<15))
    }

    @Test("pages PA-24 ends at once when its task is cancelled, with what was whole saved")
    func cancels() async throws {
        let folder = try Folder()
        let source = PagedSource { asked in
            asked["p"] == nil ? .json(#"{"items":[1],"next":"/list?p=1"}"#) : .stalls
        }
        let harvest = try Self.harvest(saveInterval: .seconds(100))
        let task = Task { try await harvest.run(with: source.loader, to: .file(folder.file("out"))) }
        _ = try await source.transport.request(at: 1)

        task.cancel()

        await #expect(throws: HarvestError.self) { try await task.value }
        #expect(folder.text("out.journal").contains("\"pages\" : 1"))
    }

    @Test("pages PA-25 says which output cannot be written", arguments: ["/dev/null", "/nowhere/at/all"])
    func unwritable(path: String) async throws {
        let folder = try Folder()
        let error = await #expect(throws: HarvestError.self) {
            try await Self.harvest().run(
                with: Self.source().loader,
                to: .file(path, journal: folder.file("journal"))
            )
        }
        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == path)
    }

    @Test("pages PA-25 says that a reader has gone, and that a descriptor has no room", .enabled(if: isLinux))
    func descriptors() async throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let error = await #expect(throws: HarvestError.self) {
            try await Self.harvest().run(with: Self.source().loader, to: .descriptor(ends[1]))
        }
        close(ends[1])
        guard case .outputClosed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let full = open("/dev/full", O_WRONLY)
        let noRoom = await #expect(throws: HarvestError.self) {
            try await Self.harvest().run(with: Self.source().loader, to: .descriptor(full))
        }
        close(full)
        guard case .diskFull = noRoom else {
            Issue.record("\(String(describing: noRoom))")
            return
        }
    }

    @Test("pages PA-26 counts duplicates and what is missing, over interruptions too", arguments: [false, true])
    func duplicates(dropped: Bool) async throws {
        let folder = try Folder()
        // Each page repeats the last item of the one before; an item of the total never comes.
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let items = (page * 2...page * 2 + 2).map { #"{"id":\#($0)}"# }.joined(separator: ",")
            return .json(#"{"items":[\#(items)],"total":10\#(page < 3 ? #","next":"/list?page=\#(page + 1)""# : "")}"#)
        }
        var harvest = try Self.harvest()
        harvest.identity = ["id"]
        harvest.total = nil
        harvest.duplicates = dropped ? .dropped : .kept
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.pageLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.duplicates == 3)
        #expect(summary.items == (dropped ? 9 : 12))
        let lines = folder.text("out").split(separator: "\n")
        #expect(Set(lines).count == 9 && lines.count == summary.items)
    }

    @Test("pages PA-26 reports how many of the announced items never came")
    func missing() async throws {
        let folder = try Folder()
        let source = PagedSource { asked in
            asked["p"] == nil
                ? .json(#"{"items":[{"id":1},{"id":2}],"total":6,"next":"/list?p=1"}"#)
                : .json(#"{"items":[{"id":2}],"total":5}"#)
        }
        var harvest = try Self.harvest()
        harvest.identity = ["id"]
        harvest.total = .body(["total"])

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.duplicates == 1 && summary.total == 5 && summary.missing == 3)
    }

    @Test("stops in the middle of a page at the item limit, and goes on there with a higher one")
    func itemLimit() async throws {
        let folder = try Folder()
        var harvest = try Self.harvest()
        for limit in [1, 4, 5, 6, 11, 15, 20] {
            harvest.itemLimit = limit
            let summary = try await harvest.run(with: Self.source().loader, to: .file(folder.file("out")))
            #expect(summary.items == min(limit, 15))
            #expect(folder.text("out") == Self.lines(0..<min(limit, 15)))
        }
    }

    @Test("does not begin anew after a page whose successor cannot be followed")
    func deadEnd() async throws {
        let folder = try Folder()
        let isMended = Locked(false)
        let source = PagedSource { asked in
            let next = isMended.withLock { $0 } ? "/list?p=1" : "ftp://x/"
            return .json(asked["p"] == nil ? #"{"items":[1,2],"next":"\#(next)"}"# : #"{"items":[3]}"#)
        }
        let harvest = try Self.harvest()
        for _ in 0..<2 {
            await #expect(throws: HarvestError.self) {
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }
            #expect(folder.text("out") == "1\n2\n")
        }
        isMended.withLock { $0 = true }

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.items == 3 && summary.pages == 2)
        #expect(folder.text("out") == "1\n2\n3\n")
    }

    @Test("lets only one harvest write to an output")
    func locks() async throws {
        let folder = try Folder()
        let source = PagedSource { _ in .stalls }
        let harvest = try Self.harvest()
        let task = Task { try await harvest.run(with: source.loader, to: .file(folder.file("out"))) }
        _ = try await source.transport.request(at: 0)

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        task.cancel()
        _ = await task.result

        guard case .outputBusy = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}

#if os(Linux)
    private let isLinux = true
#else
    private let isLinux = false
#endif
