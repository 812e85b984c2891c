import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Harvests that lose nothing", .timeLimit(.minutes(5)))
struct HarvestSafetyTests {
    @Test("finding FH-7 continues after a kill before the first save of the journal", arguments: [0, 1, 4])
    func killedBeforeTheFirstSave(page: Int) async throws {
        let folder = try TemporaryFolder()
        let copy = try TemporaryFolder()
        let source = HarvestSample.source(copying: folder, to: copy, atPage: page)
        let harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(copy.text("out") == HarvestSample.lines(0..<page * 3))

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(copy.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(copy.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("finding FL-5 leaves the output of a complete run alone, with what was appended to it")
    func complete() async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        let source = HarvestSample.source()
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let requests = source.transport.requests.count
        let appended = try #require(folder.text("out")) + "a line of the user's\n"
        try appended.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(folder.text("out") == appended)
        #expect(source.transport.requests.count == requests)
    }

    @Test("finding FP-2 a harvest sends no credentials to another origin either")
    func otherOrigin() async throws {
        let source = PagedSource { asked in
            let isFirst = asked.request.url.host() == "api.example.com"
            return .json(PagedSource.body([1], next: isFirst ? "https://evil.example/list" : nil))
        }
        var settings = Service.Settings.still(in: source.time)
        settings.decorators = [Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "oauth-canary")]
        let loader = source.transport.makeLoader(settings)
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request.headers.set("X-Mine", "custom-canary")

        _ = try await harvest.run(with: loader, to: .file(folder.file("out")))

        let sent = source.transport.requests
        #expect(sent.count == 2)
        #expect(sent[0].headers["Authorization"] == "Bearer oauth-canary")
        #expect(sent[0].headers["X-Mine"] == "custom-canary")
        #expect(!sent[1].headers.contains { $0.value.contains("canary") })
    }

    @Test("finding FL-3 leaves the main actor free while pages are split and written", arguments: [0, 2])
    @MainActor
    func mainActor(prefetch: Int) async throws {
        let turns = MainTurns()
        var harvest = try HarvestSample.harvest()
        harvest.prefetch = prefetch

        let summary = try await harvest.run(
            with: HarvestSample.source().loader,
            to: .writer { _ in turns.takeOne() }
        )

        #expect(summary.pages == 5)
        #expect(turns.taken == 5 && turns.missed == 0)
    }

    /// Changes an output as another program might.
    private static func tamper(with output: String, _ how: String) {
        switch how {
        case "truncated": _ = truncate(output, 1)
        case "grown": _ = truncate(output, 10_000)
        case "replaced": try? "mine".write(toFile: output, atomically: true, encoding: .utf8)
        default: unlink(output)
        }
    }

    @Test(
        "says so when another program changes the output meanwhile, and records nothing of it",
        arguments: ["truncated", "grown", "replaced", "removed"]
    )
    func changedMeanwhile(how: String) async throws {
        let folder = try TemporaryFolder()
        let output = folder.file("out")
        let source = HarvestSample.source { page in
            guard page == 3 else { return false }
            Self.tamper(with: output, how)
            return false
        }

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest(saveInterval: how == "grown" ? .zero : .seconds(100))
                .run(with: source.loader, to: .file(output))
        }

        guard case .outputChanged(output, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out.journal")?.contains("\"isComplete\" : false") == true)
        if how == "replaced" { #expect(folder.text("out") == "mine") }
    }

    @Test(
        "says so when another program changes the output before a last page without items",
        arguments: ["truncated", "grown", "replaced", "removed"]
    )
    func changedAtTheEnd(how: String) async throws {
        let folder = try TemporaryFolder()
        let output = folder.file("out")
        let source = PagedSource { asked in
            guard asked["p"] != nil else { return .json(#"{"items":[1,2],"next":"/list?p=1"}"#) }
            Self.tamper(with: output, how)
            return .json(#"{"items":[]}"#)
        }

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest(saveInterval: .seconds(100)).run(with: source.loader, to: .file(output))
        }

        guard case .outputChanged(output, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out.journal")?.contains("\"isComplete\" : false") == true)
        if how == "replaced" { #expect(folder.text("out") == "mine") }
    }

    @Test("says so when the output of a page that was written in part is gone", arguments: [false, true])
    func partOfAPage(isRemoved: Bool) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.itemLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        #expect((isRemoved ? unlink(folder.file("out")) : truncate(folder.file("out"), 0)) == 0)

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .outputChanged(folder.file("out"), "it is shorter") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: - Nothing received

    @Test("keeps the journal of a list without items, with its arguments")
    func listWithoutItems() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { _ in .json(#"{"items":[]}"#) }
        var harvest = try HarvestSample.harvest()
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.request.headers.set("Accept-Language", "rm")

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.map(\.argument) == ["accept-language"])
        #expect(source.transport.requests.count == 1)
    }

    @Test("keeps the journal when a page fails after another program has emptied the output")
    func emptiedOutput() async throws {
        let folder = try TemporaryFolder()
        let output = folder.file("out")
        let source = HarvestSample.source { page in
            if page == 1 { #expect(truncate(output, 0) == 0) }
            return page == 1
        }

        await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: source.loader, to: .file(output))
        }

        #expect(folder.names == ["out", "out.journal"])
        #expect(folder.text("out.journal")?.contains("\"pages\" : 1") == true)
    }

    @Test("leaves no file behind when not even the first page came, and takes other arguments then")
    func nothingCame() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request = try Request("https://api.example.com/lost")

        await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source { _ in true }.loader, to: .file(folder.file("out")))
        }

        #expect(folder.names == [])
        harvest.request = try Request("https://api.example.com/list")
        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        #expect(summary.items == 15)
    }

    @Test("keeps what another program has put in the place of the output when not even the first page came")
    func replacedOutput() async throws {
        let folder = try TemporaryFolder()
        let source = HarvestSample.source { _ in
            try? "mine".write(toFile: folder.file("out"), atomically: true, encoding: .utf8)
            return true
        }

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: source.loader, to: .file(folder.file("out")))
        }

        // Nothing was to be saved, so the page is why the run failed.
        guard case .page = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == "mine")
    }

    @Test("keeps an empty file that was there before when its journal is refused")
    func emptyOutputWithStrangeJournal() async throws {
        let folder = try TemporaryFolder()
        try "".write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
        try "no journal".write(toFile: folder.file("out.journal"), atomically: false, encoding: .utf8)

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .invalidJournal = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.names == ["out", "out.journal"])
    }

    @Test("keeps an empty file that was there before when not even the first page came")
    func emptyOutput() async throws {
        let folder = try TemporaryFolder()
        try "".write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest()
                .run(with: HarvestSample.source { _ in true }.loader, to: .file(folder.file("out")))
        }

        #expect(folder.names == ["out", "out.journal"])
    }

    @Test("begins with other arguments where a killed run had received nothing, and nowhere else", arguments: [0, 1])
    func otherArguments(killedAt page: Int) async throws {
        let folder = try TemporaryFolder()
        let copy = try TemporaryFolder()
        let source = HarvestSample.source(copying: folder, to: copy, atPage: page)
        var harvest = try HarvestSample.harvest()
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.request.headers.set("Accept-Language", "rm")

        let result = await Result<Harvest.Summary, any Error> {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(copy.file("out")))
        }

        if page == 0 {
            #expect(try result.get().items == 15)
            #expect(copy.text("out") == HarvestSample.lines(0..<15))
        } else {
            guard case .failure(let error as HarvestError) = result, case .argumentsDiffer = error else {
                Issue.record("\(result)")
                return
            }
        }
    }

    // MARK: - Journals in unusual places

    @Test(
        "refuses a journal that is the output as well, which stays as it is",
        arguments: [("out", "out"), ("out", "./out"), ("out", "link"), ("j.new", "j")],
        [false, true]
    )
    func journalIsOutput(names: (output: String, journal: String), restart: Bool) async throws {
        let folder = try TemporaryFolder()
        try "mine".write(toFile: folder.file(names.output), atomically: false, encoding: .utf8)
        #expect(symlink("out", folder.file("link")) == 0)
        let source = HarvestSample.source()

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(
                with: source.loader,
                to: .file(folder.file(names.output), journal: folder.file(names.journal)),
                restart: restart
            )
        }

        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.file(names.journal) && fault.reason == "it is the output as well")
        #expect(folder.text(names.output) == "mine")
        #expect(source.transport.requests.isEmpty)
    }

    @Test(
        "refuses a journal that is a pipe, has no end or cannot be opened",
        arguments: ["pipe", "endless", "large", "circle"]
    )
    func strangeJournal(kind: String) async throws {
        let folder = try TemporaryFolder()
        let journal = folder.file("out.journal")
        switch kind {
        case "pipe": #expect(mkfifo(journal, 0o600) == 0)
        case "endless": #expect(symlink("/dev/zero", journal) == 0)
        case "circle": #expect(symlink("out.journal", journal) == 0)
        default:
            #expect(FileManager.default.createFile(atPath: journal, contents: nil) && truncate(journal, 1 << 40) == 0)
        }

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == journal && fault.operation == .read)
        #expect(folder.names == ["out.journal"])
    }

    @Test("makes no file for an output that is its journal as well", arguments: ["out", "out.new"])
    func newOutputIsJournal(output: String) async throws {
        let folder = try TemporaryFolder()

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(
                with: HarvestSample.source().loader,
                to: .file(folder.file(output), journal: folder.file("out"))
            )
        }

        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.reason == "it is the output as well")
        #expect(folder.names == [])
    }

    @Test("reads a journal of 16 MiB, and no larger one", arguments: [0, 1])
    func journalLimit(excess: Int) async throws {
        let folder = try TemporaryFolder()
        let journal = folder.file("out.journal")
        #expect(FileManager.default.createFile(atPath: journal, contents: nil))
        #expect(truncate(journal, off_t(16 << 20 + excess)) == 0)

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        switch error {
        case .invalidJournal: #expect(excess == 0)
        case .file(let fault): #expect(excess == 1 && fault.reason == "it is larger than 16777216 bytes")
        default: Issue.record("\(String(describing: error))")
        }
    }

    @Test("keeps what another program writes into the output while a journal is refused")
    func writtenMeanwhile() async throws {
        let folder = try TemporaryFolder()
        try "no journal".write(toFile: folder.file("out.journal"), atomically: false, encoding: .utf8)
        var harvest = try HarvestSample.harvest()
        harvest.calls = RecordingCalls { path in
            guard path.hasSuffix(".journal") else { return }
            try? "mine".write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
        }

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .invalidJournal = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == "mine")
    }

    @Test("writes its journal through no link and into no pipe that was planted", arguments: ["link", "pipe"])
    func plantedTemporary(kind: String) async throws {
        let folder = try TemporaryFolder()
        let planted = folder.file("out.journal.new")
        try "untouched".write(toFile: folder.file("victim"), atomically: false, encoding: .utf8)
        #expect((kind == "link" ? symlink("victim", planted) : mkfifo(planted, 0o600)) == 0)

        let summary = try await HarvestSample.harvest()
            .run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete)
        #expect(folder.text("victim") == "untouched")
        #expect(folder.names == ["out", "out.journal", "victim"])
        let kindOfJournal = try FileManager.default.attributesOfItem(atPath: folder.file("out.journal"))[.type]
        #expect(kindOfJournal as? FileAttributeType == .typeRegular)
    }

    @Test("follows no link that is planted where the new journal is about to be")
    func plantedMeanwhile() async throws {
        let folder = try TemporaryFolder()
        let victim = folder.file("victim")
        try "untouched".write(toFile: victim, atomically: false, encoding: .utf8)
        var harvest = try HarvestSample.harvest()
        harvest.calls = RecordingCalls { path in
            if path.hasSuffix(".new") { #expect(symlink("victim", path) == 0) }
        }

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == folder.file("out.journal.new"))
        #expect(folder.text("victim") == "untouched")
    }

    // MARK: - Pages that never end

    @Test("notices a loop whose addresses differ in their fragments only")
    func fragments() async throws {
        let folder = try TemporaryFolder()
        let count = Locked(0)
        let source = PagedSource { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .json(#"{"items":[\#(number)],"next":"/list#\#(number)"}"#)
        }
        var harvest = try HarvestSample.harvest()
        harvest.pageLimit = 10

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }

        guard case .page(let failure) = error, case .loop = failure.cause else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(source.transport.requests.count == 1)
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
