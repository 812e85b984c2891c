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
    /// The digests of values that influence the server's response and may be secret, and the key of the digests.
    var digests: [String: String]
    var key: String
    /// The address of the next page; nil when there is none, or when it is the first.
    var nextURL: String?
    /// The cursor of the next page, where its address is not all that it takes.
    var cursor: PageCursor?
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
    /// The total that was announced first.
    var firstTotal: Int?
    /// Whether the number at a usual place of totals is no total, because more items than this number came.
    var ignoresTotal: Bool?
    /// Whether the total became smaller while pages were requested by their position.
    var hasShrunk: Bool?
    /// Whether the first page had other items when a run continued.
    var hasOtherStart: Bool?
    /// Why more may follow the last page.
    var doubts: [Harvest.Doubt]?
    /// The marks of the pages in the output; nil where pages are numbered, and in journals of older versions.
    var marks: PageMarks?
    /// The contents that the next page must not have again; nil where pages are not compared.
    var contents: PageContents?
    /// Whether the user said that secrets with other values belong to the same sign-in.
    var renewsSecrets: Bool?
    var isComplete = false

    init(_ arguments: HarvestArguments) {
        var random = SystemRandomNumberGenerator()
        key =
            String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
            + String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
        self.arguments = arguments.shown
        digests = arguments.digests(key: key)
    }

    /// Whether the numbers can come from a run.
    var isPlausible: Bool {
        let counts = [
            nextNumber, skippedItems, pages, items, duplicates, Int(clamping: bytes), Int(clamping: bodyBytes),
            itemsBefore ?? 0,
        ]
        let totals = [total ?? 0, firstTotal ?? 0]
        return counts.allSatisfy { (0...Int.max / 4).contains($0) } && totals.allSatisfy { $0 >= 0 }
    }

    /// Whether nothing was received yet, so that nothing is lost when the harvest begins with other arguments.
    var isUntouched: Bool { pages == 0 && bytes == 0 }

    func differences(from now: HarvestArguments) -> [HarvestError.Difference] {
        let shown = Self.differences(arguments, now.shown) { $0 }
        let hidden = Self.differences(digests, now.digests(key: key)) { $0 == nil ? nil : "one value" }.map {
            HarvestError.Difference(
                argument: $0.argument,
                before: $0.before,
                now: $0.now.map { _ in "another value" },
                isRenewal: $0.before != nil && $0.now != nil && now.secretNames.contains($0.argument)
            )
        }
        // The address is shown already, if the difference is not in a secret of it.
        let isShown = shown.contains { $0.argument == "url" }
        return (shown + hidden.filter { $0.argument != HarvestArguments.wholeAddress || !isShown })
            .sorted { $0.argument < $1.argument }
    }

    /// Takes renewed secrets of the same sign-in, here and in the address of the next page.
    mutating func renew(_ now: HarvestArguments) {
        if let text = nextURL, let url = URL(string: text) {
            nextURL = now.renewing(url, digest: digests[HarvestArguments.wholeAddress], key: key).absoluteString
        }
        digests = now.digests(key: key)
        renewsSecrets = true
    }

    private static func differences(
        _ before: [String: String],
        _ now: [String: String],
        _ text: (String?) -> String?
    ) -> [HarvestError.Difference] {
        Set(before.keys).union(now.keys).sorted().compactMap { name in
            before[name] == now[name]
                ? nil : HarvestError.Difference(argument: name, before: text(before[name]), now: text(now[name]))
        }
    }
}

/// The journal on the disk.
///
/// It is always either the old or the new one, in full.
struct JournalFile {
    let path: String
    let calls: any DiskCalls

    /// Whether the journal, if there is one, is the file at `path` under another name.
    func isSameFile(as path: String) -> Bool {
        guard let identity = FileIdentity(path: self.path) else { return false }
        return identity == FileIdentity(path: path)
    }

    /// The journal; nil if there is none.
    func read() throws(HarvestError) -> HarvestJournal? {
        guard let bytes = try Disk.contents(of: path, limit: Self.sizeLimit, calls) else { return nil }
        let journal: HarvestJournal
        do {
            journal = try JSONDecoder().decode(HarvestJournal.self, from: bytes)
        } catch {
            throw .invalidJournal(path: path, reason: "it is no journal of a harvest, or one of another version")
        }
        guard journal.format == HarvestJournal.currentFormat else {
            throw .invalidJournal(path: path, reason: "its format is \(journal.format)")
        }
        guard journal.isPlausible else { throw .invalidJournal(path: path, reason: "its numbers are those of no run") }
        return journal
    }

    /// Far more than the addresses and the marks of a journal take.
    private static let sizeLimit: Int64 = 16 << 20

    /// Where the new journal is before it replaces the old one.
    var temporaryPath: String { path + ".new" }

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
        do throws(HarvestError) {
            // Addresses of pages may contain tokens, so only the owner can read it.
            let file = try Disk(creating: temporaryPath, calls, mode: 0o600)
            try file.write(bytes)
            try file.synchronise()
            try Disk.rename(temporaryPath, to: path, calls)
        } catch {
            Disk.remove(temporaryPath)
            throw error
        }
    }
}
