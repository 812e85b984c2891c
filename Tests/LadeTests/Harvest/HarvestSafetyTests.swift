import Foundation
import LadeTesting
import Testing

@testable import Lade

@Suite("Harvests that lose nothing", .timeLimit(.minutes(5)))
struct HarvestSafetyTests {
    @Test("finding FH-7 continues after a kill before the first save of the journal", arguments: [0, 1, 4])
    func killedBeforeTheFirstSave(page: Int) async throws {
        let folder = try HarvestSample.Folder()
        let copy = try HarvestSample.Folder()
        // The harvest waits for this page, so nothing is written while its files are copied.
        let source = HarvestSample.source { number in
            guard number == page else { return false }
            for name in ["out", "out.journal"] {
                try? FileManager.default.copyItem(atPath: folder.file(name), toPath: copy.file(name))
            }
            return false
        }
        let harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(copy.text("out") == HarvestSample.lines(0..<page * 3))

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(copy.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(copy.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("finding FL-5 leaves the output of a complete run alone, with what was appended to it")
    func complete() async throws {
        let folder = try HarvestSample.Folder()
        let harvest = try HarvestSample.harvest()
        let source = HarvestSample.source()
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let requests = source.transport.requests.count
        let appended = folder.text("out") + "a line of the user's\n"
        try appended.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(folder.text("out") == appended)
        #expect(source.transport.requests.count == requests)
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
}

/// Counts how often the main actor runs while other work blocks its own thread.
final class MainTurns: Sendable {
    private let state = Locked((taken: 0, missed: 0))

    var taken: Int { state.withLock(\.taken) }
    var missed: Int { state.withLock(\.missed) }

    /// Blocks the calling thread until the main actor has run other work; on the main actor itself that is impossible.
    func takeOne() {
        guard !isOnMainQueue() else { return state.withLock { $0.missed += 1 } }
        let isOver = DispatchSemaphore(value: 0)
        Task { @MainActor [state] in
            state.withLock { $0.taken += 1 }
            isOver.signal()
        }
        isOver.wait()
    }
}
