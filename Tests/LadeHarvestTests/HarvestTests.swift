import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

@Suite("Harvests", .timeLimit(.minutes(5)))
struct HarvestTests {
    @Test("pages PA-20 writes each item as one line, byte for byte, in page order", arguments: [0, 3])
    func writesLines(prefetch: Int) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.prefetch = prefetch

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == HarvestSample.lines(0..<15))
        #expect(summary.ending == .complete)
        #expect(summary.pages == 5 && summary.items == 15 && summary.resumedPages == 0)
        #expect(summary.bytes == Int64(HarvestSample.lines(0..<15).utf8.count))
    }

    @Test("pages PA-20 uses the document itself as the list, and refuses a first page without one")
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
            try await harvest.run(with: HarvestSample.source().loader, to: destination)
        }
        #expect(error?.description.contains("not a list") == true)
    }

    @Test("takes files as URLs, and refuses a URL that names no file")
    func fileURLs() throws {
        let output = try #require(URL(string: "file:///tmp/items%20%C3%A4%25.ndjson"))
        let journal = try #require(URL(string: "file:///tmp/items.journal"))
        let remote = try #require(URL(string: "https://a.test/file"))

        guard
            case .file("/tmp/items ä%.ndjson", "/tmp/items.journal") = try Harvest.Destination.file(
                output,
                journal: journal
            )
        else {
            Issue.record("The paths differ")
            return
        }
        #expect(throws: LoadingError.self) { try Harvest.Destination.file(remote) }
        #expect(throws: LoadingError.self) { try Harvest.Destination.file(output, journal: remote) }
    }

    @Test("pages PA-21 keeps a journal that says what the output holds for certain, and no more")
    func journal() async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        let states = Locked<[HarvestJournal]>([])
        let out = folder.file("out")
        let source = HarvestSample.source { _ in
            // Whenever a page is requested, the one before is safe on the disk.
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
        #expect(journals.map(\.pages) == [0, 1, 2, 3, 4])
        #expect(journals.map(\.items) == [0, 3, 6, 9, 12])
        #expect(journals[1].nextURL == "https://api.example.com/list?page=1&token=secret")
        #expect(folder.text("out.journal")?.isEmpty == false)
        let mode = try FileManager.default.attributesOfItem(atPath: out + ".journal")[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("pages PA-21 saves no more often than the interval says, and always at the end")
    func interval() async throws {
        let folder = try TemporaryFolder()
        let time = VirtualTime()
        var harvest = try HarvestSample.harvest(saveInterval: .seconds(1))
        harvest.time = time
        let out = folder.file("out")
        let seen = Locked<[Int?]>([])
        let source = HarvestSample.source(pages: 7) { _ in
            let bytes = FileManager.default.contents(atPath: out + ".journal") ?? Data()
            let journal = try? JSONDecoder().decode(HarvestJournal.self, from: bytes)
            seen.withLock { $0.append(journal?.pages) }
            time.advance(by: .milliseconds(500))
            return false
        }

        _ = try await harvest.run(with: source.loader, to: .file(out))

        // Each page takes half a second, so every other page is saved.
        #expect(seen.withLock { $0 } == [0, 0, 2, 2, 4, 4, 6])
        #expect(folder.text("out.journal")?.contains("\"isComplete\" : true") == true)
    }

    @Test("pages PA-25 says which output cannot be written", arguments: ["/dev/null", "/nowhere/at/all"])
    func unwritable(path: String) async throws {
        let folder = try TemporaryFolder()
        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(
                with: HarvestSample.source().loader,
                to: .file(path, journal: folder.file("journal"))
            )
        }
        guard case .file(let fault) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == path)
        #expect(fault.reason.hasPrefix("it is no regular file") == (path == "/dev/null"))
        #expect(folder.names.isEmpty)
    }

    @Test("takes items and nesting up to its limits, and nothing beyond", arguments: [false, true])
    func limits(isBeyond: Bool) async throws {
        let folder = try TemporaryFolder()
        let bodies = [#"{"items":[[[[]]],"123456"]}"#, #"{"items":[[[[[]]]]]}"#, #"{"items":["1234567"]}"#]
        for body in isBeyond ? bodies.dropFirst() : bodies.prefix(1) {
            var harvest = try HarvestSample.harvest()
            harvest.itemByteLimit = 8
            harvest.nestingLimit = 5

            let result = await Result<Harvest.Summary, any Error> { [harvest] in
                try await harvest.run(with: PagedSource { _ in .json(body) }.loader, to: .file(folder.file("out")))
            }

            guard isBeyond else {
                #expect(try result.get().items == 2)
                return
            }
            guard case .failure(HarvestError.page(let failure)) = result,
                case .decoding = failure.cause.loadingError?.kind
            else {
                Issue.record("\(result)")
                return
            }
        }
    }

    @Test("the meter of a run that continues begins with what was there")
    func meterContinues() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.total = .body(["total"])
        harvest.pageLimit = 2
        let first = Pages.Progress.Meter()
        let before = try await harvest.run(
            with: HarvestSample.source(total: true).loader,
            to: .file(folder.file("out")),
            meter: first
        )
        let reports = Locked<[Pages.Progress]>([])
        harvest.pageLimit = nil

        _ = try await harvest.run(
            with: HarvestSample.source(total: true).loader,
            to: .file(folder.file("out")),
            meter: Pages.Progress.Meter { progress in reports.withLock { $0.append(progress) } }
        )

        let (begun, last) = reports.withLock { ($0.first, $0.last) }
        #expect(begun?.pages == 2 && begun?.items == 6 && begun?.total == 15)
        #expect(begun?.bytes == first.progress.bytes && before.bytes != first.progress.bytes)
        #expect(last?.pages == 5 && last?.items == 15)
    }

    @Test("pages PA-20 refuses a page that ends within its document, and writes none of its items")
    func cutPage() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            .json(asked["p"] == nil ? #"{"items":[1],"next":"/list?p=1"}"# : #"{"items":[2,3]"#)
        }

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: source.loader, to: .file(folder.file("out")))
        }

        guard case .page(let failure) = error, case .decoding = failure.cause.loadingError?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == "1\n")
        #expect(folder.text("out.journal")?.contains("\"isComplete\" : false") == true)
    }

    @Test("a run that ends cancels the pages that are loaded ahead")
    func cancelsAhead() async throws {
        var harvest = try HarvestSample.harvest()
        harvest.rules = [.pageNumber(query: "page", first: 0)]
        harvest.prefetch = 3
        harvest.itemLimit = 3
        harvest.total = .body(["total"])
        let (started, ended) = (Signal(), Signal())

        _ = try await harvest.run(to: .writer { _ in }) { request throws(LoadingError) in
            let page = request.url.query() ?? ""
            if page.contains("page=2") {
                started.raise()
                do { try await Signal().wait() } catch { ended.raise() }
                throw LoadingError(.cancelled, LoadingError.Context(request))
            }
            // The limit is reached when the page after is being loaded.
            if page.contains("page=1") { try await started.wait() }
            let items = page.contains("page=1") ? "[3,4]" : "[1,2]"
            let body = Response.Body(Data("{\"items\":\(items),\"total\":100}".utf8))
            return Response(status: 200, body: body, request: request)
        }

        try await ended.wait()
    }

    @Test(
        "pages PA-25 reports that the reader has closed the output, and that a descriptor has no space",
        .enabled(if: isLinux)
    )
    func descriptors() async throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .descriptor(ends[1]))
        }
        close(ends[1])
        guard case .outputClosed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let full = open("/dev/full", O_WRONLY)
        let noRoom = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .descriptor(full))
        }
        close(full)
        guard case .diskFull = noRoom else {
            Issue.record("\(String(describing: noRoom))")
            return
        }
    }

    @Test("pages PA-25 ends with the error of a writer, and names the output for any other")
    func writerErrors() async throws {
        struct Refusal: Error, CustomStringConvertible { let description = "refused" }
        let source = HarvestSample.source()

        let own = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(
                with: source.loader,
                to: .writer { _ in throw HarvestError.outputClosed }
            )
        }
        let other = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: source.loader, to: .writer { _ in throw Refusal() })
        }

        guard case .outputClosed = own, case .file(let fault) = other else {
            Issue.record("\(String(describing: own)), \(String(describing: other))")
            return
        }
        #expect(fault.path == "the output" && fault.operation == .write && fault.reason == "refused")
    }

    @Test("pages PA-25 saves the whole pages before the one for which there is no space")
    func noSpace() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        harvest.calls = InterceptedWrites(full: #"{"id":9,"#)

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .diskFull = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == HarvestSample.lines(0..<9))
        #expect(folder.text("out.journal")?.contains("\"pages\" : 3") == true)
    }

    @Test("waits for the reader of a descriptor that does not block", .enabled(if: isLinux))
    func nonblocking() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        #expect(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let pipeIdentity = try #require(FileIdentity(ends[1]))
        // More than any pipe holds; the reader begins when it is full.
        let full = Signal()
        let item = "\"\(String(repeating: "x", count: 4 << 20))\""
        let reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let read = Locked(0)
        let end = Signal()
        Thread.detachNewThread {
            full.waitOnThread()
            while let bytes = try? reader.read(upToCount: 1 << 20), !bytes.isEmpty {
                read.withLock { $0 += bytes.count }
            }
            end.raise()
        }

        var harvest = try HarvestSample.harvest()
        harvest.calls = InterceptedWrites { code in if code == EAGAIN { full.raise() } }
        let summary = try await harvest.run(
            with: PagedSource { _ in .json("{\"items\":[\(item)]}") }.loader,
            to: .descriptor(ends[1])
        )
        // The harvest leaves the caller's descriptor open; its number may belong to another file by now if not.
        #expect(FileIdentity(ends[1]) == pipeIdentity)
        #expect(close(ends[1]) == 0)
        try await end.wait()

        #expect(summary.bytes == Int64(item.utf8.count + 1) && read.withLock { $0 } == item.utf8.count + 1)
    }

    @Test("pages PA-26 counts duplicates and what is missing, over interruptions too", arguments: [false, true])
    func duplicates(dropped: Bool) async throws {
        let folder = try TemporaryFolder()
        // Each page repeats the last item of the one before; one item of the total never arrives.
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let items = (page * 2...page * 2 + 2).map { #"{"id":\#($0)}"# }.joined(separator: ",")
            return .json(#"{"items":[\#(items)],"total":10\#(page < 3 ? #","next":"/list?page=\#(page + 1)""# : "")}"#)
        }
        var harvest = try HarvestSample.harvest()
        harvest.identity = ["id"]
        harvest.total = nil
        harvest.duplicates = dropped ? .dropped : .kept
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.pageLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.duplicates == 3)
        #expect(summary.items == (dropped ? 9 : 12))
        let lines = try #require(folder.text("out")).split(separator: "\n")
        #expect(Set(lines).count == 9 && lines.count == summary.items)
    }

    @Test("pages PA-26 reports how many of the announced items never came", arguments: [false, true])
    func missing(hasIdentity: Bool) async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            asked["p"] == nil
                ? .json(#"{"items":[{"id":1},{"id":2}],"total":6,"next":"/list?p=1"}"#)
                : .json(#"{"items":[{"id":2}],"total":5}"#)
        }
        var harvest = try HarvestSample.harvest()
        harvest.identity = hasIdentity ? ["id"] : nil
        harvest.total = .body(["total"])

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        // Without an identity, the item that came twice counts twice.
        #expect(summary.duplicates == (hasIdentity ? 1 : 0) && summary.total == 5)
        #expect(summary.missing == (hasIdentity ? 3 : 2))
    }

    @Test(
        "pages PA-20 refuses a first page whose list is absent or null, and takes such a later one as empty",
        arguments: ["", #""items":null"#]
    )
    func absentList(members: String) async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        let first = PagedSource { _ in .json("{\(members)}") }
        let later = PagedSource { asked in
            .json(asked["p"] == nil ? #"{"items":[1],"next":"/list?p=1"}"# : "{\(members)}")
        }

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: first.loader, to: .file(folder.file("first")))
        }
        let summary = try await harvest.run(with: later.loader, to: .file(folder.file("later")))

        guard case .page(let failure) = error, case .decoding = failure.cause.loadingError?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(summary.ending == .complete && summary.items == 1)
        #expect(!folder.names.contains("first") && folder.text("later") == "1\n")
    }

    @Test("pages PA-26 knows what is missing of a complete list only, and of the latest total that was named")
    func missingOfWhat() async throws {
        let source = PagedSource { asked in
            asked["p"] == nil
                ? .json(#"{"items":[{"id":1},{"id":2}],"total":4,"next":"/list?p=1"}"#)
                : .json(#"{"items":[{"id":3}]}"#)
        }
        let tooFew = PagedSource { _ in .json(#"{"items":[{"id":1},{"id":2}],"total":1}"#) }
        var harvest = try HarvestSample.harvest()
        harvest.identity = ["id"]
        harvest.total = .body(["total"])
        var limited = harvest
        limited.pageLimit = 1

        let part = try await limited.run(with: source.loader, to: .writer { _ in })
        let whole = try await harvest.run(with: source.loader, to: .writer { _ in })
        let more = try await harvest.run(with: tooFew.loader, to: .writer { _ in })

        #expect(part.ending == .limit && part.total == 4 && part.missing == nil)
        #expect(whole.ending == .complete && whole.total == 4 && whole.missing == 1)
        #expect(more.ending == .complete && more.total == 1 && more.missing == 0)
    }

    @Test("pages PA-26 finds the identities of an earlier run in an output of any size")
    func identitiesOfLargeOutputs() async throws {
        // Together more than the megabyte that is read at a time, which ends within a line.
        let padding = String(repeating: "x", count: 1_000)
        let items = (0..<1_200).map { #"{"id":\#($0),"x":"\#(padding)"}"# }
        let source = PagedSource { asked in
            let next = asked["p"] == nil ? #","next":"/list?p=1""# : ""
            return .json("{\"items\":[\(items.joined(separator: ","))]\(next)}")
        }
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.identity = ["id"]
        harvest.duplicates = .dropped
        harvest.pageLimit = 1
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.pageLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.duplicates == 1_200)
        #expect(folder.text("out") == items.map { $0 + "\n" }.joined())
    }

    @Test("lets only one harvest write to an output")
    func locks() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { _ in .stalls }
        let harvest = try HarvestSample.harvest()
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
