#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The merge of the parts of a run into one output, in the order of the list.
///
/// It reads each part once, a piece at a time. The output has its name when it is whole.
struct PartMerge {
    /// A part as the manifest has it.
    struct Entry: Hashable, Sendable {
        /// The name of the file in a folder of parts.
        var name: String
        var bytes: Int64
        /// CRC-64/XZ of the bytes.
        var checksum: UInt64
        var lines: Int
    }

    /// The facts of a merged output.
    struct Outcome: Equatable, Sendable {
        var items = 0
        var bytes: Int64 = 0
        var duplicates = 0
        /// Whether items above the limit were left out.
        var isCut = false
    }

    /// The location of each item's identity; nil to count no duplicates.
    var identity: JSONPointer?
    var duplicates = Harvest.Duplicates.kept
    var itemLimit: Int?
    var calls: any DiskCalls = SystemDiskCalls()

    /// The parts that none of the folders has.
    static func missing(_ entries: [Entry], in folders: [String]) -> [Entry] {
        entries.filter { path(of: $0, in: folders) == nil }
    }

    private static func path(of entry: Entry, in folders: [String]) -> String? {
        folders.lazy.map { $0 + "/" + entry.name }.first { FileIdentity(path: $0) != nil }
    }

    /// Writes the output.
    ///
    /// - Parameters:
    ///   - entries: The parts, in the order of the output.
    ///   - folders: Where the parts are.
    ///   - path: The output.
    ///   - holds: Whether this process still has the right to write the output; asked before each part and at the end.
    /// - Returns: The facts of the output; nil when the right was lost.
    /// - Throws: `HarvestError.outputChanged` for a part that is missing, or is not what the manifest says; the output of
    ///   before stays.
    func write(
        _ entries: [Entry],
        from folders: [String],
        to path: String,
        while holds: () -> Bool = { true }
    ) throws(HarvestError) -> Outcome? {
        let temporary = path + ".new"
        let output = try Disk(creating: temporary, calls, mode: 0o644)
        var state = State(merge: self)
        do throws(HarvestError) {
            for entry in entries where !state.outcome.isCut {
                guard holds() else { return abandon(temporary) }
                guard let path = Self.path(of: entry, in: folders) else {
                    throw .outputChanged(path: (folders.first ?? ".") + "/" + entry.name, reason: "it is missing")
                }
                try state.copy(entry, try Disk(reading: path, calls), to: output)
            }
            try output.synchronise()
            guard holds() else { return abandon(temporary) }
            try Disk.rename(temporary, to: path, calls)
        } catch {
            Disk.remove(temporary)
            throw error
        }
        return state.outcome
    }

    private func abandon(_ path: String) -> Outcome? {
        Disk.remove(path)
        return nil
    }

    /// The merge so far.
    private struct State {
        let merge: PartMerge
        var outcome = Outcome()
        private let identities: LineIdentities?
        /// The checksums of all identities so far.
        private var seen: Set<UInt64> = []
        /// The beginning of a line whose end is in a later piece.
        private var line: [UInt8] = []

        init(merge: PartMerge) {
            self.merge = merge
            identities = LineIdentities(merge.identity)
        }

        mutating func copy(_ entry: Entry, _ part: Disk, to output: Disk) throws(HarvestError) {
            guard part.size == entry.bytes else { throw Self.fault(part, "it has another length") }
            let isWhole = identities == nil && outcome.items + entry.lines <= merge.itemLimit ?? .max
            var checksum = CRC64()
            var lines = 0
            try part.read(entry.bytes) { (bytes) throws(HarvestError) in
                checksum.update(bytes)
                for byte in bytes where byte == 0x0A { lines += 1 }
                if isWhole { try output.write(bytes) } else { try choose(bytes, output) }
            }
            guard checksum.value == entry.checksum else { throw Self.fault(part, "its checksum is another one") }
            guard lines == entry.lines, line.isEmpty else { throw Self.fault(part, "it has \(lines) lines") }
            guard isWhole else { return }
            outcome.items += lines
            outcome.bytes += entry.bytes
        }

        /// Writes the lines that are below the limit and, if duplicates are to be dropped, new.
        private mutating func choose(_ bytes: UnsafeRawBufferPointer, _ output: Disk) throws(HarvestError) {
            var chosen = Data()
            var rest = bytes[...]
            while let end = rest.firstIndex(of: 0x0A) {
                line.append(contentsOf: rest[..<end])
                rest = rest[(end + 1)...]
                defer { line.removeAll(keepingCapacity: true) }
                guard outcome.items < merge.itemLimit ?? .max else {
                    outcome.isCut = true
                    continue
                }
                var isNew = true
                if let identity = identities?.identity(of: line) { isNew = seen.insert(identity).inserted }
                if !isNew { outcome.duplicates += 1 }
                guard isNew || merge.duplicates == .kept else { continue }
                chosen.append(contentsOf: line)
                chosen.append(0x0A)
                outcome.items += 1
            }
            line.append(contentsOf: rest)
            outcome.bytes += Int64(chosen.count)
            try output.write(chosen)
        }

        private static func fault(_ part: Disk, _ reason: String) -> HarvestError {
            .outputChanged(path: part.path, reason: reason)
        }
    }
}
