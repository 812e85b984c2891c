#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The parts that a worker has written, in lines of a file beside them.
///
/// It is locked while the worker runs. Each line is on the disk before the board knows of its part.
final class WorkerJournal {
    /// The first line: the run to which the folder belongs.
    private struct Header: Codable, Equatable {
        var format = 1
        var run: String
        var digest: String
        var arguments: String
    }

    private let disk: Disk
    private var size: Int64 = 0
    /// The parts, in the order in which they were written.
    private(set) var records: [PartRecord] = []

    /// Opens or begins the journal of a worker.
    ///
    /// - Throws: `HarvestError.outputBusy` while another process has the name of the worker in this folder.
    ///   `HarvestError.argumentsDiffer` for a folder of another run, unless it is begun anew.
    init(
        _ path: String,
        run: String,
        _ arguments: FleetArguments,
        restart: Bool,
        _ calls: any DiskCalls
    ) throws(HarvestError) {
        // Cursors may contain tokens, so only the owner can read it.
        disk = try Disk(locking: path, calls, mode: 0o600)
        let header = Header(run: run, digest: arguments.digest, arguments: arguments.text)
        let lines = try Self.lines(disk)
        guard let first = lines.first, !restart else {
            let folder = Disk.folder(of: path)
            for line in lines.dropFirst() {
                if let record = try? JSONDecoder().decode(PartRecord.self, from: line) {
                    Disk.remove("\(folder)/\(record.name)")
                }
            }
            try disk.truncate(to: 0)
            try append(header)
            return
        }
        guard let stored = try? JSONDecoder().decode(Header.self, from: first), stored.format == header.format else {
            throw .invalidJournal(path: path, reason: "it is no journal of a worker, or one of another version")
        }
        guard stored == header else {
            let run = HarvestError.Difference(argument: "run", before: stored.run, now: header.run)
            let others = arguments.differences(from: stored.arguments)
            throw .argumentsDiffer(journal: path, stored.run == header.run ? others : [run] + others)
        }
        size = Int64(first.count) + 1
        for line in lines.dropFirst() {
            // A line that was not written whole is the last one, and no board knows of its part.
            guard let record = try? JSONDecoder().decode(PartRecord.self, from: line), record.commit != nil else {
                break
            }
            records.append(record)
            size += Int64(line.count) + 1
        }
        try disk.truncate(to: size)
    }

    /// Adds a part, and returns when that is safe from a loss of power.
    func add(_ record: PartRecord) throws(HarvestError) {
        try append(record)
        records.append(record)
    }

    private func append(_ value: some Encodable) throws(HarvestError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var line = try? encoder.encode(value) else {
            throw .invalidJournal(path: disk.path, reason: "it cannot be written")
        }
        line.append(0x0A)
        do throws(HarvestError) {
            try disk.write(line)
            try disk.synchronise()
        } catch {
            // The beginning of a line would be taken for a part of the next one.
            try? disk.truncate(to: size)
            throw error
        }
        size += Int64(line.count)
    }

    /// The whole lines of the file.
    private static func lines(_ disk: Disk) throws(HarvestError) -> [Data] {
        guard let size = disk.size else {
            throw .file(LoadingError.FileCause(path: disk.path, operation: .read, reason: "it is no regular file"))
        }
        var bytes = Data()
        try disk.read(size) { bytes.append(contentsOf: $0) }
        guard let end = bytes.lastIndex(of: 0x0A) else { return [] }
        return bytes[..<end].split(separator: 0x0A, omittingEmptySubsequences: false).map { Data($0) }
    }
}
