#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

extension BoardLease {
    /// The name of the file that a part of this lease has; never one that a store says.
    var partName: String { PartRecord.name(segment, epoch, fence) }
}

/// A part as the journal of its worker has it, with everything that a board needs to know about it again.
struct PartRecord: Codable, Equatable, Sendable {
    struct Failure: Codable, Equatable, Sendable {
        var kind: String
        var detail: String
    }

    private(set) var walk: Int
    private(set) var first: Int
    private(set) var count: Int
    /// The epoch and the checksums are hexadecimal digits, because many programs round large numbers.
    private(set) var epoch: String
    private(set) var fence: Int
    private(set) var generation: Int
    private(set) var pages: Int
    private(set) var items: Int
    private(set) var lines: Int
    private(set) var length: Int64
    private(set) var checksum: String
    private(set) var firstPage: String?
    private(set) var lastPage: String?
    private(set) var announced: Int?
    private(set) var isEnd: Bool
    private(set) var cursor: String?
    private(set) var failure: Failure?

    init(_ lease: BoardLease, _ part: BoardPart, _ sequel: BoardSequel) {
        (walk, first, count) = (lease.segment.walk, lease.segment.first, lease.count)
        (epoch, fence) = (String(lease.epoch, radix: 16), lease.fence)
        (pages, items, lines, length) = (part.pages, part.items, part.lines, part.length)
        checksum = String(part.checksum, radix: 16)
        firstPage = part.firstPage.map { String($0, radix: 16) }
        lastPage = part.lastPage.map { String($0, radix: 16) }
        (generation, announced) = (lease.generation, part.announced)
        isEnd = sequel == .end
        switch sequel {
        case .more(let text): cursor = text?.reveal()
        case .failed(let fault, let text):
            cursor = text?.reveal()
            failure = Failure(kind: fault.kind.rawValue, detail: fault.detail)
        case .end: break
        }
    }

    /// The name of the file of a part.
    static func name(_ segment: BoardSegment, _ epoch: UInt64, _ fence: Int) -> String {
        "part-\(segment.walk)-\(segment.first).\(String(epoch, radix: 16)).\(fence)"
    }

    var name: String { "part-\(walk)-\(first).\(epoch).\(fence)" }

    /// The lease, the part and the sequel that were, or should have been, committed.
    var commit: (lease: BoardLease, part: BoardPart, sequel: BoardSequel)? {
        guard let epoch = UInt64(epoch, radix: 16), let checksum = UInt64(checksum, radix: 16) else { return nil }
        var part = BoardPart(pages: pages, items: items, lines: lines, length: length, checksum: checksum)
        part.firstPage = firstPage.flatMap { UInt64($0, radix: 16) }
        part.lastPage = lastPage.flatMap { UInt64($0, radix: 16) }
        part.announced = announced
        let segment = BoardSegment(walk: walk, first: first)
        var lease = BoardLease(epoch: epoch, segment: segment, count: count, fence: fence)
        lease.generation = generation
        let text = cursor.map { Secret($0) }
        guard let failure else { return (lease, part, isEnd ? .end : .more(text)) }
        guard let kind = BoardFailure.Kind(rawValue: failure.kind) else { return nil }
        return (lease, part, .failed(BoardFailure(kind, detail: failure.detail), text))
    }
}

/// The part that a worker writes: under a temporary name until it is whole.
final class PartWriter {
    /// A state of the part after whole pages.
    private struct Mark {
        var part = BoardPart(pages: 0, items: 0, lines: 0, length: 0, checksum: 0)
        var crc = CRC64()
    }

    private let disk: Disk
    private let calls: any DiskCalls
    private var mark = Mark()
    /// The last state that ends where a page of the list may begin.
    private var lastWhole = Mark()

    init(_ path: String, _ calls: any DiskCalls) throws(HarvestError) {
        disk = try Disk(creating: path, calls, mode: 0o644)
        self.calls = calls
    }

    deinit { Disk.remove(disk.path) }

    /// The contents so far.
    var part: BoardPart { mark.part }

    /// Adds at most `limit` lines of a page, whose checksum is nil where pages are not compared.
    ///
    /// `pages` is the number of pages of the list that the part has then; nil where the page ends inside of one.
    func add(_ content: SplitPage, limit: Int, checksum: UInt64?, pages: Int?) throws(HarvestError) {
        var lines = content.lines
        var count = content.itemCount
        if count > limit {
            lines = Data()
            count = 0
            for line in content.lines.split(separator: 0x0A).prefix(limit) {
                lines.append(contentsOf: line)
                lines.append(0x0A)
                count += 1
            }
        }
        try disk.write(lines)
        lines.withUnsafeBytes { mark.crc.update($0) }
        mark.part.length += Int64(lines.count)
        mark.part.lines += count
        mark.part.items += count
        mark.part.checksum = mark.crc.value
        if mark.part.pages == 0, mark.part.firstPage == nil { mark.part.firstPage = checksum }
        mark.part.lastPage = checksum ?? mark.part.lastPage
        guard let pages else { return }
        mark.part.pages = pages
        lastWhole = mark
    }

    /// Removes what follows the last place at which a page of the list may begin.
    func cutToWholePages() throws(HarvestError) {
        guard mark.part != lastWhole.part else { return }
        try disk.truncate(to: lastWhole.part.length)
        mark = lastWhole
    }

    /// Counts the pages of a part that ends inside a page of the list, because the list ends there.
    func end(pages: Int) { mark.part.pages = pages }

    /// Makes the part safe from a loss of power, under its name.
    func publish(as path: String) throws(HarvestError) {
        try disk.synchronise()
        try Disk.rename(disk.path, to: path, calls)
    }
}
