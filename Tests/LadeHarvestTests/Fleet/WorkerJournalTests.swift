import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// The journal of a worker.
@Suite("The journal of a worker", .timeLimit(.minutes(5)))
struct WorkerJournalTests {
    private static func arguments(_ path: String = "/list?key=canary") throws -> FleetArguments {
        var request = try Request("https://api.example.com" + path)
        request.headers.set("Authorization", "Bearer canary")
        let worker = HarvestWorker(Harvest(request), run: "r", name: "w", output: "out")
        return FleetArguments(worker, worker.harvest.makeWalk())
    }

    private static func record(_ number: Int, _ sequel: BoardSequel = .more(nil)) -> PartRecord {
        let segment = BoardSegment(walk: 0, first: number * 4)
        var lease = BoardLease(epoch: .max - 1, segment: segment, count: 4, fence: number)
        lease.generation = 2
        var part = BoardPart(pages: 4, items: 8, lines: 8, length: 99, checksum: .max)
        (part.firstPage, part.lastPage, part.announced) = (7, .max, 3)
        return PartRecord(lease, part, sequel)
    }

    private static func open(
        _ folder: TemporaryFolder,
        _ arguments: FleetArguments? = nil,
        restart: Bool = false
    ) throws -> WorkerJournal {
        let arguments = try arguments ?? self.arguments()
        return try WorkerJournal(folder.file("j"), run: "r", arguments, restart: restart, SystemDiskCalls())
    }

    @Test(
        "fleet RD-77 RD-80 the journal has all that a board must know of a part again",
        arguments: [
            .end, .more(nil), .more("next"), .failed(BoardFailure(.temporary, detail: "no"), nil),
            .failed(BoardFailure(.expired, detail: "gone"), "next"),
        ] as [BoardSequel]
    )
    func stored(sequel: BoardSequel) throws {
        let folder = try TemporaryFolder()
        let record = Self.record(3, sequel)
        do {
            let journal = try Self.open(folder)
            try journal.add(record)
        }
        let read = try #require(try Self.open(folder).records.first?.commit)

        #expect(read.sequel == sequel)
        #expect(read.part == record.commit?.part)
        #expect(read.lease == record.commit?.lease)
        #expect(read.lease.generation == 2)
        #expect(record.name == "part-0-12.fffffffffffffffe.3")
    }

    @Test("fleet RD-77 a line that was not written whole is cut off at every byte")
    func torn() throws {
        let folder = try TemporaryFolder()
        do {
            let journal = try Self.open(folder)
            for number in 0..<3 { try journal.add(Self.record(number)) }
        }
        let whole = try #require(folder.text("j"))
        let lines = whole.split(separator: "\n", omittingEmptySubsequences: false).map { $0.utf8.count + 1 }
        let third = lines[0] + lines[1] + lines[2]
        for length in stride(from: third, to: whole.utf8.count, by: 7) {
            try folder.write(String(decoding: whole.utf8.prefix(length), as: UTF8.self), to: "j")
            let journal = try Self.open(folder)
            #expect(journal.records.count == 2)
            try journal.add(Self.record(2))
            #expect(folder.text("j") == whole)
        }
    }

    @Test("fleet RD-96 another process with the same worker name in the same folder is refused")
    func locked() throws {
        let folder = try TemporaryFolder()
        let first = try Self.open(folder)
        #expect {
            _ = try Self.open(folder)
        } throws: { error in
            if case HarvestError.outputBusy = error { true } else { false }
        }
        withExtendedLifetime(first) {}
    }

    @Test("fleet RD-88 RD-128 a folder of another run is refused with what differs, and without secrets")
    func otherRun() throws {
        let folder = try TemporaryFolder()
        _ = try Self.open(folder)
        let others = [
            try Self.arguments("/other?key=canary"),
            try Self.arguments("/list?key=canary2"),
        ]
        for other in others {
            do {
                _ = try Self.open(folder, other)
                Issue.record("it was opened")
            } catch let error as HarvestError {
                guard case .argumentsDiffer(_, let differences) = error else { throw error }
                #expect(!differences.isEmpty)
                #expect(!error.description.contains("canary"))
            }
        }
        #expect(folder.text("j")?.contains("canary") == false)
        #expect(try folder.mode("j") == 0o600)
        _ = try Self.open(folder, others[0], restart: true)
        _ = try Self.open(folder, others[0])
    }

    @Test("fleet RD-96 a full disk leaves a journal without half a line", arguments: RecordingCalls.Fault.allCases)
    func full(fault: RecordingCalls.Fault) throws {
        for number in 0..<16 {
            let folder = try TemporaryFolder()
            let calls = RecordingCalls(failing: number, fault)
            var added = 0
            if let journal = try? WorkerJournal(folder.file("j"), run: "r", Self.arguments(), restart: false, calls) {
                for number in 0..<3 where added == number {
                    if (try? journal.add(Self.record(number))) != nil { added += 1 }
                }
            }
            let journal = try Self.open(folder)
            #expect(journal.records.count == added)
        }
    }
}
