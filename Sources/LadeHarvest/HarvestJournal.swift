#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// How far a harvest has progressed: what its output certainly contains, and where to continue.
struct HarvestJournal: Codable, Equatable, Sendable {
    static let currentFormat = 1

    var format = HarvestJournal.currentFormat
    /// The arguments of the harvest, without secrets in addresses.
    var arguments: [String: String]
    /// The address of the next page; nil when there is none, or when it is the first.
    var nextURL: String?
    var nextNumber = 0
    var itemsBefore: Int? = 0
    /// The number of items of the next page that are in the output already.
    var skippedItems = 0
    var pages = 0
    var items = 0
    var bytes: Int64 = 0
    /// CRC-64/XZ of the output, in hexadecimal digits.
    var checksum = "0"
    var bodyBytes: Int64 = 0
    var duplicates = 0
    var total: Int?
    /// The marks of the pages in the output; nil where pages are numbered, and in journals of older versions.
    var marks: PageMarks?
    var isComplete = false

    init(arguments: [String: String]) {
        self.arguments = arguments
    }

    /// Whether the numbers can come from a run.
    var isPlausible: Bool {
        let counts = [
            nextNumber, skippedItems, pages, items, duplicates, Int(clamping: bytes), Int(clamping: bodyBytes),
        ]
        return counts.allSatisfy { (0...Int.max / 4).contains($0) } && (itemsBefore ?? 0) >= 0 && (total ?? 0) >= 0
    }

    func differences(from now: [String: String]) -> [HarvestError.Difference] {
        Set(arguments.keys).union(now.keys).sorted().compactMap { name in
            arguments[name] == now[name]
                ? nil : HarvestError.Difference(argument: name, before: arguments[name], now: now[name])
        }
    }
}

/// The journal on the disk.
///
/// It is always either the old or the new one, in full.
struct JournalFile {
    let path: String
    let calls: any DiskCalls

    /// The journal; nil if there is none.
    func read() throws(HarvestError) -> HarvestJournal? {
        guard let bytes = try Disk.contents(of: path, calls) else { return nil }
        let journal: HarvestJournal
        do {
            journal = try JSONDecoder().decode(HarvestJournal.self, from: bytes)
        } catch {
            throw .invalidJournal(path: path, reason: "it is no journal of a harvest")
        }
        guard journal.format == HarvestJournal.currentFormat else {
            throw .invalidJournal(path: path, reason: "its format is \(journal.format)")
        }
        guard journal.isPlausible else { throw .invalidJournal(path: path, reason: "its numbers are those of no run") }
        return journal
    }

    /// Replaces the journal: a new file is synchronised to the disk, then renamed over the old one.
    func write(_ journal: HarvestJournal) throws(HarvestError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let bytes: Data
        do {
            bytes = try encoder.encode(journal)
        } catch {
            throw .invalidJournal(path: path, reason: "it cannot be written: \(error)")
        }
        let temporary = path + ".new"
        // Addresses of pages may contain tokens, so only the owner can read it.
        let file = try Disk(creating: temporary, calls, mode: 0o600)
        try file.write(bytes)
        try file.synchronise()
        try Disk.rename(temporary, to: path, calls)
    }
}
