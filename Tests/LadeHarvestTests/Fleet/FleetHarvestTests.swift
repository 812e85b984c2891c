import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// Workers of one harvest on a board in memory, in virtual time.
@Suite("A harvest by several workers", .timeLimit(.minutes(10)))
struct FleetHarvestTests {
    private typealias Ending = HarvestWorker.Ending

    @Test(
        "fleet RD-70 RD-72 RD-73 RD-79 RD-82 RD-126 the output is that of one harvest, in every form",
        arguments: FleetRig.Form.allCases,
        [1, 3, 8]
    )
    func identical(form: FleetRig.Form, workers: Int) async throws {
        for (count, pageSize) in [(0, 3), (1, 3), (12, 3), (13, 3), (100, 3), (97, 1)] {
            let rig = try FleetRig(.init(form: form, count: count, pageSize: pageSize, faults: 20))
            let expected = try await rig.expected()
            let summaries = try await rig.run(try (0..<workers).map { try rig.worker("w\($0)") })

            #expect(rig.folder.text("out") == expected, "\(form) \(count)")
            #expect(summaries.map(\.ending).allSatisfy { $0 == .complete })
            #expect(summaries.compactMap(\.merged).count == 1)
        }
    }

    @Test("fleet RD-77 a part has a computed name, and its bytes are on the disk before the board knows of it")
    func order() async throws {
        let rig = try FleetRig(.init(count: 9, segment: 8))
        let calls = RecordingCalls()
        _ = try await rig.run([try rig.worker("w", calls)])

        let name = try #require(rig.parts.first)
        #expect(name.hasPrefix("part-0-0."))
        let steps = calls.changes.compactMap { change -> String? in
            switch change {
            case .synchronise(let file): "sync \(file)"
            case .rename(let old, let new): "\(old) to \(new)"
            default: nil
            }
        }
        let part = try #require(steps.firstIndex(of: "worker-w.part to \(name)"))
        #expect(steps[part - 1] == "sync worker-w.part")
        #expect(steps[part + 1] == "sync out.parts")
        #expect(steps[part + 2] == "sync worker-w.journal")
    }

    @Test("fleet RD-83 duplicates, the most items and the most pages are those of one harvest")
    func limits() async throws {
        for form in [FleetRig.Form.pages, .links] {
            for limit in [0, 1, 10, 39, 40, 1_000] {
                let rig = try FleetRig(.init(form: form, count: 40))
                var workers = try (0..<3).map { try rig.worker("w\($0)") }
                for index in workers.indices { workers[index].harvest.itemLimit = limit }
                let expected = try await rig.expected { $0.itemLimit = limit }
                _ = try await rig.run(workers)
                #expect(rig.folder.text("out") == expected, "\(form) \(limit) items")
            }
            for limit in [1, 4, 5, 13, 14, 15] {
                let rig = try FleetRig(.init(form: form, count: 40))
                var workers = try (0..<3).map { try rig.worker("w\($0)") }
                for index in workers.indices { workers[index].harvest.pageLimit = limit }
                let expected = try await rig.expected { $0.pageLimit = limit }
                let summaries = try await rig.run(workers)
                #expect(rig.folder.text("out") == expected, "\(form) \(limit) pages")
                let merged = summaries.compactMap(\.merged)
                // A list that is counted ends with an empty page.
                let whole = form == .pages ? 15 : 14
                #expect(merged.first?.ending == (limit < whole ? .limit : .complete), "\(form) \(limit) pages")
                #expect(rig.requestCount <= limit + 2)
            }
        }
    }

    @Test("fleet RD-70 pages that are shorter or longer than requested lose no item", arguments: [1, 2, 5, 7])
    func otherSize(size: Int) async throws {
        let rig = try FleetRig(.init(form: .offsets, count: 100, pageSize: size))
        var workers = try (0..<3).map { try rig.worker("w\($0)") }
        for index in workers.indices { workers[index].harvest.size = 3 }
        let expected = try await rig.expected { $0.size = 3 }
        _ = try await rig.run(workers)

        #expect(rig.folder.text("out") == expected)
    }

    @Test("fleet RD-71 a status that ends the list ends it for all workers, and pages beyond it are few")
    func endStatus() async throws {
        let rig = try FleetRig(.init(count: 40))
        rig.fail { asked in (asked["page"] ?? 1) > 14 ? .status(404) : nil }
        var workers = try (0..<4).map { try rig.worker("w\($0)") }
        for index in workers.indices { workers[index].harvest.endStatuses = [404] }
        let expected = try await rig.expected { $0.endStatuses = [404] }
        _ = try await rig.run(workers)

        #expect(rig.folder.text("out") == expected)
        #expect(rig.requestCount <= 14 + 4 * 2)
    }

    @Test("fleet RD-74 RD-75 RD-76 a stopped worker past its lease commits nothing, and goes on with other segments")
    func stopped() async throws {
        let rig = try FleetRig(.init(count: 60, slowness: 1))
        let expected = try await rig.expected()
        let isFirst = Locked(true)
        rig.fail { [board = rig.board] asked in
            guard asked["page"] == 2,
                isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else { return nil }
            // The process of the first worker is stopped for longer than its lease.
            board.silence("one")
            return .json("{\"items\": [{\"id\":\"late\"}]}").after(.seconds(100))
        }
        let (first, second, third) = (try rig.worker("one"), try rig.worker("two"), try rig.worker("three"))
        let (board, loader, time) = (rig.board, rig.loader, rig.time)
        let (late, others) = try await time.runAutomatically {
            async let late = first.work(on: board.worker("one"), with: loader)
            try await time.sleep(for: .seconds(1))
            async let others = [
                second.work(on: board.worker("two"), with: loader), third.work(on: board.worker("three"), with: loader),
            ]
            let found = try await others
            board.wake("one")
            return (try await late, found)
        }

        #expect(rig.folder.text("out") == expected)
        #expect(late.ending == .complete)
        #expect(others.contains { $0.merged != nil })
        #expect(rig.parts.allSatisfy { !(rig.folder.text("out.parts/" + $0)?.contains("late") ?? true) })
    }

    @Test("fleet RD-85 RD-86 a failed page of a numbered list costs one page, and can be tried again")
    func failedPage() async throws {
        let rig = try FleetRig(.init(count: 60))
        let expected = try await rig.expected()
        let isBroken = Locked(true)
        rig.fail { asked in
            asked["page"] == 7 && isBroken.withLock(\.self) ? .status(418, "canary") : nil
        }
        let summaries = try await rig.run(try (0..<3).map { try rig.worker("w\($0)") })

        for summary in summaries {
            guard case .incomplete(let lines) = summary.ending else {
                Issue.record("\(summary.ending)")
                continue
            }
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("Page 7: ") == true)
            #expect(lines.first?.contains("canary") == false)
        }
        #expect(rig.folder.text("out") == nil)
        isBroken.withLock { $0 = false }
        _ = await rig.board.worker("any").carryOut(.retry)
        let again = try await rig.run([try rig.worker("w9")])
        #expect(again.first?.ending == .complete)
        #expect(again.first?.ownPages == 1)
        #expect(rig.folder.text("out") == expected)
    }

    @Test("fleet RD-86 a list whose pages all fail ends after some of them", arguments: [1, 3])
    func allFail(workers: Int) async throws {
        let rig = try FleetRig()
        rig.fail { _ in .status(403).after(.milliseconds(50)) }
        let summaries = try await rig.run(try (0..<workers).map { try rig.worker("w\($0)") })

        for summary in summaries {
            guard case .incomplete = summary.ending else {
                Issue.record("\(summary.ending)")
                continue
            }
        }
        #expect(rig.requestCount < 40, "\(rig.requestCount) requests")
    }

    @Test("fleet RD-85 a status from 500 on is tried again after 1, 5 and 25 seconds, and then fails")
    func temporary() async throws {
        let rig = try FleetRig(.init(count: 6))
        let expected = try await rig.expected()
        let times = Locked([Instant]())
        rig.fail { [time = rig.time] asked in
            guard asked["page"] == 1, times.withLock({ $0.count }) < 3 else { return nil }
            let now = time.now
            times.withLock { $0.append(now) }
            return .status(503)
        }
        _ = try await rig.run([try rig.worker()])

        #expect(rig.folder.text("out") == expected)
        let found = times.withLock(\.self)
        #expect(found[0].duration(to: found[1]) >= .seconds(1))
        #expect(found[1].duration(to: found[2]) >= .seconds(5))
    }

    @Test("fleet RD-84 a list whose server ignores numbers ends as that of one harvest", arguments: ["refused", "end"])
    func repeated(kind: String) async throws {
        let repeated = try #require(Pages.Rule.RepeatedPages(rawValue: kind))
        let rig = try FleetRig(.init(count: 40))
        // The last page comes again and again.
        rig.fail { asked in
            (asked["page"] ?? 1) > 9 ? .json("{\"items\":[{\"id\":26}]}") : nil
        }
        var workers = try (0..<3).map { try rig.worker("w\($0)") }
        for index in workers.indices { workers[index].harvest.repeatedPages = repeated }
        if repeated == .end {
            let expected = try await rig.expected { $0.repeatedPages = .end }
            _ = try await rig.run(workers)
            #expect(rig.folder.text("out") == expected)
            return
        }
        await #expect {
            _ = try await rig.run(workers)
        } throws: { error in
            if case HarvestError.page(let failure) = error, case .repeated = failure.cause { true } else { false }
        }
        #expect(rig.folder.text("out") == nil)
    }

    @Test("fleet RD-84 a segment that begins with page one or the page before it ends the list", arguments: [1, 4])
    func border(page: Int) async throws {
        // Pages 1 to 4 are the first segment; from page 5 on one of them comes again.
        for repeated in [Pages.Rule.RepeatedPages.end, .refused] {
            let rig = try FleetRig(.init(count: 12))
            rig.fail { asked in
                guard (asked["page"] ?? 1) > 4 else { return nil }
                let items = ((page - 1) * 3..<page * 3).map { #"{ "id" : \#($0), "é" : "\u00e9 \#($0)" }"# }
                return .json("{\"items\": [\(items.joined(separator: ","))]}")
            }
            var workers = try (0..<2).map { try rig.worker("w\($0)") }
            for index in workers.indices { workers[index].harvest.repeatedPages = repeated }
            guard repeated == .refused else {
                let expected = try await rig.expected { $0.repeatedPages = .end }
                _ = try await rig.run(workers)
                #expect(rig.folder.text("out") == expected)
                #expect(expected.utf8.count { $0 == 0x0A } == 12)
                continue
            }
            await #expect(throws: HarvestError.self) { _ = try await rig.run(workers) }
            #expect(rig.folder.text("out") == nil)
        }
    }

    @Test("fleet RD-87 RD-96 a full disk gives the segment back, and the others complete the list")
    func fullDisk() async throws {
        let rig = try FleetRig(.init(count: 60))
        let expected = try await rig.expected()
        let full = try rig.worker("full", RecordingCalls(failing: 9, .noSpace))
        await #expect {
            _ = try await rig.run([full])
        } throws: { error in
            if case HarvestError.diskFull = error { true } else { false }
        }
        let start = rig.time.now
        let summaries = try await rig.run([try rig.worker("other")])

        #expect(summaries.first?.ending == .complete)
        #expect(rig.folder.text("out") == expected)
        // No lease had to end.
        #expect(start.duration(to: rig.time.now) < .seconds(20))
    }

    @Test("fleet RD-87 credentials that are refused end the worker, and not the run")
    func refusedCredentials() async throws {
        let rig = try FleetRig(.init(count: 60))
        let expected = try await rig.expected()
        rig.fail { asked in asked.request.headers.contains("Authorization") ? .status(401) : nil }
        var wrong = try rig.worker("wrong")
        wrong.harvest.request.headers.set("Authorization", "Bearer canary")
        wrong.harvest.isSameSignIn = true
        var right = try rig.worker("right")
        right.harvest.isSameSignIn = true
        await #expect {
            _ = try await rig.run([wrong])
        } throws: { error in
            if case HarvestError.page(let failure) = error { failure.cause.loadingError != nil } else { false }
        }
        let summaries = try await rig.run([right])
        #expect(summaries.first?.ending == .complete)
        #expect(rig.folder.text("out") == expected)
    }

    @Test("fleet RD-88 RD-128 other arguments are refused with what differs, without secrets, and nothing is fetched")
    func otherArguments() async throws {
        let rig = try FleetRig(.init(count: 60))
        _ = try await rig.run([try rig.worker("one")])
        let count = rig.requestCount
        for change in ["url", "secret", "segment"] {
            var other = try rig.worker("other \(change)".replacingOccurrences(of: " ", with: "-"))
            switch change {
            case "url": other.harvest.request.url = URL(string: "https://api.example.com/others?key=canary")!
            case "secret": other.harvest.request.headers.set("Authorization", "Bearer canary")
            default: other.segmentSize = 5
            }
            do {
                _ = try await rig.run([other])
                Issue.record("it worked")
            } catch let error as HarvestError {
                guard case .argumentsDiffer(_, let differences) = error else { throw error }
                #expect(!differences.isEmpty)
                #expect(!error.description.contains("canary"))
            }
        }
        #expect(rig.requestCount == count)
    }

    @Test("fleet RD-89 a complete run fetches nothing again")
    func complete() async throws {
        let rig = try FleetRig(.init(count: 20))
        _ = try await rig.run([try rig.worker("one")])
        let count = rig.requestCount
        let summaries = try await rig.run([try rig.worker("two"), try rig.worker("one")])

        #expect(rig.requestCount == count)
        for summary in summaries {
            guard case .completeBefore = summary.ending else {
                Issue.record("\(summary.ending)")
                continue
            }
        }
        var anew = try rig.worker("one")
        anew.opening = .restart(force: false)
        #expect(try await rig.run([anew]).first?.ending == .complete)
        #expect(rig.requestCount > count)
    }

    @Test("fleet RD-90 workers join and leave, and a later one continues", arguments: [1, 5, 9, 14, 20])
    func leaving(page: Int) async throws {
        for form in [FleetRig.Form.pages, .links, .cursors] {
            let rig = try FleetRig(.init(form: form, count: 60))
            let expected = try await rig.expected()
            for name in ["one", "two", "three"] {
                let worker = try rig.worker(name)
                let stop = Harvest.Stop()
                let (board, loader, seen) = (rig.board, rig.loader, Locked(0))
                let meter = Pages.Progress.Meter { progress in
                    if progress.pages >= page { stop.request() }
                    seen.withLock { $0 = progress.pages }
                }
                let summary = try await rig.time.runAutomatically {
                    try await worker.work(on: board.worker(name), with: loader, stop: stop, meter: meter)
                }
                switch summary.ending {
                case .stopped, .complete, .completeBefore: break
                default: Issue.record("\(summary.ending)")
                }
                // Whole pages are kept.
                #expect(summary.state?.pages ?? 0 >= min(seen.withLock(\.self), 20))
            }
            let start = rig.time.now
            #expect(try await rig.run([try rig.worker("last")]).first?.ending != .stopped)
            #expect(rig.folder.text("out") == expected)
            #expect(start.duration(to: rig.time.now) < .seconds(20))
        }
    }

    @Test("fleet RD-91 a cursor that has expired fails the list, or begins it again", arguments: [false, true])
    func expired(restarts: Bool) async throws {
        let rig = try FleetRig(.init(form: .cursors, count: 60))
        let expected = try await rig.expected()
        var first = try rig.worker("one")
        first.restartsWalks = restarts
        let stop = Harvest.Stop()
        let (board, loader, worker) = (rig.board, rig.loader, first)
        let meter = Pages.Progress.Meter { if $0.pages == 6 { stop.request() } }
        _ = try await rig.time.runAutomatically {
            try await worker.work(on: board.worker("one"), with: loader, stop: stop, meter: meter)
        }
        let isGone = Locked(true)
        rig.fail { asked in
            guard asked["from"] == 18 else { return nil }
            return isGone.withLock { isGone in
                defer { isGone = false }
                return isGone
            } ? .status(410) : nil
        }
        var second = try rig.worker("two")
        second.restartsWalks = restarts
        let summary = try #require(try await rig.run([second]).first)

        guard restarts else {
            guard case .incomplete = summary.ending else {
                Issue.record("\(summary.ending)")
                return
            }
            return
        }
        #expect(summary.ending == .complete)
        #expect(rig.folder.text("out") == expected)
    }

    @Test("fleet RD-92 RD-93 a machine that lacks parts says which, and merges when it has them")
    func lacking() async throws {
        let rig = try FleetRig(.init(count: 40))
        let expected = try await rig.expected()
        let elsewhere = try TemporaryFolder()
        var one = try rig.worker("one")
        one.output = elsewhere.file("out")
        let summaries = try await rig.run([one, try rig.worker("two")])
        #expect(summaries.contains { if case .lacking(let names) = $0.ending { !names.isEmpty } else { false } })
        #expect(rig.folder.text("out") == nil)

        let count = rig.requestCount
        for name in elsewhere.names.isEmpty
            ? []
            : try FileManager.default.contentsOfDirectory(
                atPath: elsewhere.file("out.parts")
            ) where name.hasPrefix("part-")
        {
            try FileManager.default.copyItem(
                atPath: elsewhere.file("out.parts/" + name),
                toPath: rig.output + ".parts/" + name
            )
        }
        #expect(try await rig.run([try rig.worker("two")]).first?.ending == .complete)
        #expect(rig.folder.text("out") == expected)
        #expect(rig.requestCount == count)
    }

    @Test("fleet RD-95 without the store a worker finishes its segment, waits, and commits it when the store returns")
    func unreachable() async throws {
        let rig = try FleetRig(.init(count: 60, segment: 8))
        let expected = try await rig.expected()
        rig.fail { [board = rig.board] asked in
            if asked["page"] == 3 { board.isReachable = false }
            return nil
        }
        let (board, time, loader, worker) = (rig.board, rig.time, rig.loader, try rig.worker())
        let (summary, count) = try await time.runAutomatically {
            async let summary = worker.work(on: board.worker("one"), with: loader)
            try await time.sleep(for: .seconds(100))
            let count = rig.requestCount
            board.isReachable = true
            return (try await summary, count)
        }
        #expect(count == 8)
        #expect(summary.ending == .complete)
        #expect(rig.folder.text("out") == expected)
        // Each page was fetched once, with the empty one.
        #expect(rig.requestCount == 21)
    }

    @Test("fleet RD-95 after the longest wait a worker ends with its journal, and a later one commits the part")
    func patience() async throws {
        let rig = try FleetRig(.init(count: 60, segment: 8))
        let expected = try await rig.expected()
        rig.fail { [board = rig.board] asked in
            if asked["page"] == 3 { board.isReachable = false }
            return nil
        }
        var worker = try rig.worker()
        worker.patience = .seconds(20)
        #expect(try await rig.run([worker]).first?.ending == .unreachable)
        let before = rig.requestCount
        #expect(try await rig.run([worker]).first?.ending == .unreachable)
        #expect(rig.requestCount == before)
        rig.fail { _ in nil }
        rig.board.isReachable = true
        #expect(try await rig.run([worker]).first?.ending == .complete)
        #expect(rig.folder.text("out") == expected)
        #expect(rig.requestCount == 21)
    }

    @Test("fleet RD-94 a page costs at most 0.2 orders to the board")
    func orders() async throws {
        let rig = try FleetRig(.init(count: 3_000, segment: 32, slowness: 50))
        let expected = try await rig.expected()
        _ = try await rig.run(try (0..<4).map { try rig.worker("w\($0)") })

        #expect(rig.folder.text("out") == expected)
        #expect(rig.board.orders <= 200, "\(rig.board.orders) orders for 1,000 pages")
    }

    @Test("fleet RD-81 parts that the output does not have are removed by their worker an hour after its end")
    func tidied() async throws {
        let rig = try FleetRig(.init(count: 60))
        _ = try await rig.run([try rig.worker("one"), try rig.worker("two")])
        let extra = rig.output + ".parts/worker-one.journal"
        let journal = try #require(FileManager.default.contents(atPath: extra))
        let first = try #require(journal.split(separator: 0x0A).dropFirst().first)
        // The same part once more, under another fence, as a lost race leaves it.
        var record = try #require(try JSONSerialization.jsonObject(with: Data(first)) as? [String: Any])
        let name = "part-\(record["walk"] ?? 0)-\(record["first"] ?? 0).\(record["epoch"] ?? "")."
        let fence = record["fence"] as? Int ?? 0
        record["fence"] = 999
        let line = try JSONSerialization.data(withJSONObject: record) + Data([0x0A])
        try (journal + line).write(to: URL(filePath: extra))
        let copy = rig.output + ".parts/" + name
        try FileManager.default.copyItem(atPath: copy + "\(fence)", toPath: copy + "999")

        let whole = rig.parts
        _ = try await rig.run([try rig.worker("one")])
        #expect(rig.parts == whole)
        rig.time.advance(by: .seconds(3_600))
        _ = try await rig.run([try rig.worker("one")])
        #expect(rig.parts == whole.filter { !$0.hasSuffix(".999") })
    }

    @Test("fleet RD-96 a second process with the name of a worker in the same folder is refused")
    func sameName() async throws {
        let rig = try FleetRig(.init(count: 60))
        await #expect {
            _ = try await rig.run([try rig.worker("one"), try rig.worker("one")])
        } throws: { error in
            if case HarvestError.outputBusy = error { true } else { false }
        }
    }

    @Test("fleet RD-111 RD-128 a cursor of the store is followed as a link of a server, and has no secret of the list")
    func hostileCursor() async throws {
        let rig = try FleetRig(.init(form: .links, count: 60))
        var walk = try rig.harvest()
        walk.request = try Request("https://api.example.com/list?key=canary")
        walk.request.headers.set("Authorization", "Bearer canary")
        let pages = walk.makeWalk()
        var start = PageStart()
        (start.number, start.url) = (4, "https://elsewhere.example.com/list?from=12")
        let page = try start.page(in: pages)
        #expect(!page.request.headers.contains("Authorization"))
        for url in ["http://api.example.com/list?from=12", "file:///etc/passwd", "ftp://api.example.com/"] {
            start.url = url
            #expect(throws: HarvestError.self) { try start.page(in: pages) }
        }
        start.url = "https://api.example.com/list?from=12&key=canary"
        let text = try #require(start.text(in: pages))
        #expect(!text.contains("canary"))
        #expect(try PageStart(text, in: pages)?.page(in: pages).request.url.absoluteString == start.url)
        for text in ["", "{}", "[]", "{\"number\":-1,\"url\":\"/\"}", "{\"number\":9223372036854775807,\"url\":\"/\"}"]
        {
            #expect(PageStart(text, in: pages) == nil)
        }
    }

    @Test("fleet RD-128 canaries are in no part, journal or text of the run but in the fields of a page")
    func canaries() async throws {
        let rig = try FleetRig(.init(form: .links, count: 30))
        var worker = try rig.worker()
        worker.harvest.request = try Request("https://api.example.com/list?key=canary-key")
        worker.harvest.request.headers.set("Authorization", "Bearer canary-token")
        worker.harvest.secrets["cookies"] = "canary-cookie"
        worker.harvest.circumstances["user"] = "canary-user"
        let arguments = FleetArguments(worker, worker.harvest.makeWalk())
        #expect(!arguments.text.contains("canary"))
        _ = try await rig.run([worker])
        for name in rig.folder.names + (try FileManager.default.contentsOfDirectory(atPath: rig.output + ".parts")) {
            let text = rig.folder.text(name) ?? rig.folder.text("out.parts/" + name) ?? ""
            #expect(!text.contains("canary"), "\(name)")
        }
    }
}
