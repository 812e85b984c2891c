#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeJSON

/// Reads recordings in the HTTP Archive format, entry by entry: a large file needs little memory.
public struct HARReader: Sendable {
    /// Whether faults are skipped: entries that cannot be read, members that are wrong, and the rest of a file that is cut.
    ///
    /// False by default: the first fault is thrown.
    public var isLenient: Bool
    /// Whether the members of an entry are read strictly all the same.
    var readsEntriesStrictly = false
    /// The most bytes of one entry; 64 MiB by default.
    public var entryLimit = 64 << 20

    /// The facts that were read beside the entries.
    public struct Summary: Sendable, Hashable {
        /// The version of the format; nil when it is missing.
        public var version: String?
        /// The program that wrote the recording, with its version; empty when it is not known.
        public var creator = ""
        /// How many entries were delivered.
        public var count = 0
        /// The faults that were skipped, at most 100.
        public var faults: [HARFault] = []
        /// Whether the document is complete.
        public var isComplete = true
    }

    /// Makes a reader.
    public init(isLenient: Bool = false) {
        self.isLenient = isLenient
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - each: Receives each entry and its number, from 1; an error that it throws ends the reading.
    /// - Returns: The facts of the recording.
    /// - Throws: The fault of the file, or of the first entry that cannot be read.
    @discardableResult
    public func read(
        _ path: String,
        each: (Int, HAREntry) throws(HARFault) -> Void
    ) throws(HARFault) -> Summary {
        try readLines(path) { number, line throws(HARFault) in try deliver(line, number, each) }
    }

    /// Reads a document in memory; see ``read(_:each:)-(String,_)``.
    @discardableResult
    public func read(
        _ document: Data,
        each: (Int, HAREntry) throws(HARFault) -> Void
    ) throws(HARFault) -> Summary {
        var piece = document as Data?
        return try lines(
            of: { () throws(HARFault) in
                defer { piece = nil }
                return piece
            },
            each: { number, line throws(HARFault) in try deliver(line, number, each) }
        )
    }

    /// All entries of a file.
    public func entries(of path: String) throws(HARFault) -> [HAREntry] {
        var entries: [HAREntry] = []
        try read(path) { _, entry in entries.append(entry) }
        return entries
    }

    private func deliver(
        _ line: Data,
        _ number: Int,
        _ each: (Int, HAREntry) throws(HARFault) -> Void
    ) throws(HARFault) {
        // Half of a surrogate pair, as browsers write it for a body that is no text, is no reason to lose the entry.
        guard let json = JSONValue(tolerant: line) else {
            throw HARFault(entry: number, reason: "it is no JSON")
        }
        try each(number, try HAREntry(json, number: number, isLenient: isLenient && !readsEntriesStrictly))
    }

    /// Reads the entries of a file as lines of JSON.
    func readLines(
        _ path: String,
        each: (Int, Data) throws(HARFault) -> Void
    ) throws(HARFault) -> Summary {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw HARFile.fault("it cannot be opened") }
        defer { close(descriptor) }
        return try lines(
            of: { () throws(HARFault) in
                while true {
                    var piece = Data(count: 256 << 10)
                    let count = piece.withUnsafeMutableBytes { systemRead(descriptor, $0) }
                    if count < 0, errno == EINTR { continue }
                    guard count >= 0 else { throw HARFile.fault("it cannot be read") }
                    return count == 0 ? nil : piece.prefix(count)
                }
            },
            each: each
        )
    }

    private func lines(
        of next: () throws(HARFault) -> Data?,
        each: (Int, Data) throws(HARFault) -> Void
    ) throws(HARFault) -> Summary {
        var settings = JSONSplitter.Settings(
            list: ["log", "entries"],
            values: [["log", "version"], ["log", "creator", "name"], ["log", "creator", "version"]]
        )
        settings.itemLimit = entryLimit
        var splitter = JSONSplitter(settings)
        var summary = Summary()
        var number = 0
        func skip(_ fault: HARFault) throws(HARFault) {
            guard isLenient else { throw fault }
            if summary.faults.count < 100 { summary.faults.append(fault) }
        }
        var damage: JSONError?
        while damage == nil, let piece = try next() {
            do throws(JSONError) { try splitter.consume(piece) } catch { damage = error }
            guard splitter.readyBytes > 0 else { continue }
            let ready = splitter.takeLines()
            for line in Self.lines(in: ready) {
                number += 1
                do throws(HARFault) {
                    try each(number, line)
                    summary.count += 1
                } catch {
                    // An error of the receiver is no fault of the recording.
                    guard error.entry == number else { throw error }
                    try skip(error)
                }
            }
        }
        if damage == nil { do throws(JSONError) { try splitter.finish() } catch { damage = error } }
        if let damage {
            summary.isComplete = false
            try skip(Self.fault(damage, after: number))
        }
        if case .string(let version) = splitter.value(at: 0) { summary.version = version }
        for index in 1...2 {
            if case .string(let text) = splitter.value(at: index) { summary.creator += (index > 1 ? " " : "") + text }
        }
        switch splitter.listState {
        case .array: break
        case .missing: try skip(HARFault(member: "log.entries", reason: "it is missing"))
        case .null, .other: try skip(HARFault(member: "log.entries", reason: "it is no list"))
        }
        if let version = summary.version {
            if version != "1.2", version != "1.1" {
                try skip(HARFault(member: "log.version", reason: "version “\(version.prefix(20))” is not 1.2"))
            }
        } else if summary.isComplete {
            try skip(HARFault(member: "log.version", reason: "it is missing"))
        }
        return summary
    }

    /// The lines, which are parts of the same memory.
    private static func lines(in text: Data) -> [Data] {
        let ends = text.withUnsafeBytes { bytes in
            var ends: [Int] = []
            var position = 0
            while position < bytes.count, let start = bytes.baseAddress?.advanced(by: position),
                let found = memchr(start, 0x0A, bytes.count - position)
            {
                ends.append(position + start.distance(to: UnsafeRawPointer(found)))
                position = (ends.last ?? 0) + 1
            }
            return position < bytes.count ? ends + [bytes.count] : ends
        }
        var start = text.startIndex
        return ends.map { end in
            defer { start = text.startIndex + end + 1 }
            return text[start..<(text.startIndex + end)]
        }
    }

    private static func fault(_ error: JSONError, after number: Int) -> HARFault {
        let place = "line \(error.line), column \(error.column)"
        return switch error.reason {
        case .unexpectedEnd: HARFault(entry: number + 1, reason: "the file ends before the entry does")
        case .itemTooLarge(let limit): HARFault(entry: number + 1, reason: "it has more than \(limit) bytes")
        default: HARFault(entry: number + 1, reason: "it is no JSON (\(place))")
        }
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
