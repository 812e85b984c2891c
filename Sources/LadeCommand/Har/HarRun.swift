#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import Lade
import LadeTraffic

/// One run of `lade har`.
struct HarRun: Sendable {
    let settings: HarSettings
    let context: CommandContext

    private var console: Console { context.console }
    private var path: String { settings.files.first ?? "" }

    /// Carries out what the user asks for.
    ///
    /// - Returns: Success; the code of data for a recording with faults.
    func run() throws(CommandError) -> ExitCode {
        switch settings.verb {
        case .list: try list()
        case .show: try show(try entry())
        case .curl: try console.write(HarCurl.line(try entry()) + "\n")
        case .diff: try compare()
        case .html: try writePage()
        case .check: return try check()
        case .repair: try repair()
        case nil: break
        }
        return .success
    }

    /// Reads a recording; the faults that are skipped are reported.
    private func read(
        _ path: String,
        each: (Int, HAREntry) throws(HARFault) -> Void
    ) throws(CommandError) {
        do throws(HARFault) {
            let summary = try HARReader(isLenient: settings.isLenient).read(path, each: each)
            for fault in summary.faults { console.say("lade: Skipped: \(fault)") }
        } catch {
            throw .recording(path, error)
        }
    }

    /// The entry with the number that the user gives.
    private func entry() throws(CommandError) -> HAREntry {
        var found: HAREntry?
        var count = 0
        try read(path) { number, entry in
            count = number
            if number == settings.number { found = entry }
        }
        guard let found else {
            throw CommandError(
                what: "\(path) has no entry \(settings.number ?? 0), but \(count)",
                advice: "“lade har ls” lists them.",
                code: .usage
            )
        }
        return found
    }

    // MARK: - ls

    private func list() throws(CommandError) {
        var rows: [[String]] = []
        try read(path) { number, entry in
            rows.append([
                "\(number)", entry.response.status == 0 ? "–" : "\(entry.response.status)", entry.request.method,
                entry.request.url, entry.time.millisecondsForDisplay, "\(entry.response.content.size)",
                Self.notes(entry),
            ])
        }
        let table = TextTable(
            columns: [
                .init(title: "n", isNumeric: true), .init(title: "status", isNumeric: true), .init(title: "method"),
                .init(title: "address", isFlexible: true), .init(title: "ms", isNumeric: true),
                .init(title: "bytes", isNumeric: true), .init(title: "notes", isFlexible: true),
            ],
            rows: rows
        )
        if console.isOutputTerminal {
            let widths = table.widths(in: console.outputWidth)
            for line in [table.heading(widths)] + table.lines(widths) { try console.write(line + "\n") }
        } else {
            for row in table.rows { try console.write(row.joined(separator: "\t") + "\n") }
        }
    }

    /// The decisions of policies, and the failure.
    private static func notes(_ entry: HAREntry) -> String {
        var notes: [String] = []
        if let call = entry.facts.call { notes.append("call \(call)") }
        if let attempt = entry.facts.attempt, attempt > 1 { notes.append("attempt \(attempt)") }
        if let hedge = entry.facts.hedge { notes.append("hedge \(hedge)") }
        if let rule = entry.facts.rule { notes.append(rule) }
        if let cache = entry.facts.cache { notes.append("cache \(cache)") }
        if let fault = entry.facts.fault { notes.append(fault.sentence) }
        return notes.joined(separator: ", ")
    }

    // MARK: - show

    private func show(_ entry: HAREntry) throws(CommandError) {
        if settings.writesBody { return try console.write(entry.response.content.bytes ?? Data()) }
        var lines = ["> \(entry.request.method) \(entry.request.url) \(entry.request.version)"]
        lines += entry.request.headers.map { "> \($0.name): \($0.value)" }
        lines += Self.body(entry.request.content)
        lines.append("")
        if entry.response.status > 0 {
            lines.append("< \(entry.response.version) \(entry.response.status) \(entry.response.reason)")
        }
        lines += entry.response.headers.map { "< \($0.name): \($0.value)" }
        lines += Self.body(entry.response.content)
        if let fault = entry.facts.fault { lines.append("failed: \(fault.sentence)") }
        lines.append("")
        let timings = entry.timings
        let phases: [(String, Duration?)] = [
            ("blocked", timings.blocked), ("dns", timings.nameLookup), ("connect", timings.connect),
            ("  of it TLS", timings.secureConnect), ("send", timings.send), ("wait", timings.wait),
            ("receive", timings.receive),
        ]
        for case (let name, let duration?) in phases { lines.append("\(duration.millisecondsForDisplay) ms  \(name)") }
        lines.append("\(entry.time.millisecondsForDisplay) ms  in all")
        for wait in entry.facts.waits {
            lines.append("\(wait.duration.millisecondsForDisplay) ms  waiting for \(wait.reason)")
        }
        let notes = Self.notes(entry)
        if !notes.isEmpty { lines.append(notes) }
        if let address = entry.serverAddress {
            lines.append("server \(address)" + (entry.connection.map { ", port or connection \($0)" } ?? ""))
        }
        for line in lines { try console.write(line.escapedForDisplay(limit: 4_000) + "\n") }
    }

    private static func body(_ content: HAREntry.Content?) -> [String] {
        guard let content, content.size > 0 else { return [] }
        guard let bytes = content.bytes else {
            return ["", "(\(content.size) bytes that the recording does not have)"]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return ["", "(\(bytes.count) bytes that are no text; --body writes them)"]
        }
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let shown = lines.map { String(decoding: $0, as: UTF8.self) }
        return [""] + shown + (content.isTruncated ? ["(the first \(bytes.count) of \(content.size) bytes)"] : [])
    }

    // MARK: - diff and html

    private func entries(of path: String) throws(CommandError) -> [HAREntry] {
        var entries: [HAREntry] = []
        try read(path) { _, entry in entries.append(entry) }
        return entries
    }

    private func compare() throws(CommandError) {
        let difference = RecordingDifference(try entries(of: settings.files[0]), try entries(of: settings.files[1]))
        for line in difference.lines {
            let text = [line.kind.rawValue, line.request, line.detail].filter { !$0.isEmpty }.joined(separator: "\t")
            try console.write(text.escapedExceptTabs + "\n")
        }
        if difference.lines.isEmpty { console.say("lade: The recordings have the same exchanges.") }
    }

    private func writePage() throws(CommandError) {
        var all: [HAREntry] = []
        try read(path) { _, entry in
            var entry = entry
            // The page shows no bodies, so memory holds none.
            entry.response.content.bytes = nil
            entry.request.content?.bytes = nil
            all.append(entry)
        }
        let page = WaterfallPage(all, title: path).html
        guard let target = settings.target, target != "-" else { return try console.write(page) }
        try Self.write(page, to: target)
    }

    /// Writes a page for its owner alone.
    static func write(_ page: String, to path: String) throws(CommandError) {
        do throws(SystemError) {
            let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
            // A failure to write is what matters.
            defer { try? file.close() }
            try file.write(page.utf8)
        } catch {
            throw .file(path, "written", error)
        }
    }

    // MARK: - check and repair

    private func check() throws(CommandError) -> ExitCode {
        var found: [HARFault] = []
        do throws(HARFault) {
            // Each entry is read strictly, and a fault of one does not hide those of the others.
            let summary = try HARReader.everyFault(path) { number, entry in
                found += HARCheck.faults(of: entry, number: number)
            }
            found = summary.faults + found
            for fault in found { try write("\(fault)") }
            try write(
                found.isEmpty ? "\(summary.count) entries, no fault" : "\(summary.count) entries, \(found.count) faults"
            )
        } catch {
            throw .recording(path, error)
        }
        return found.isEmpty ? .success : .decoding
    }

    private func write(_ line: String) throws(HARFault) {
        do throws(CommandError) {
            try console.write(line.escapedForDisplay(limit: 2_000) + "\n")
        } catch {
            throw HARFault(reason: error.what, isOfFile: true)
        }
    }

    private func repair() throws(CommandError) {
        let repair: HARFile.Repair
        do throws(HARFault) { repair = try HARFile.repair(path) } catch { throw .recording(path, error) }
        let what = repair.wasDamaged ? "completed" : "is complete"
        try console.write("\(Count.text(repair.kept, "entry", "entries")): the file \(what)\n")
    }
}

extension Duration {
    /// Milliseconds with one decimal.
    fileprivate var millisecondsForDisplay: String {
        let tenths = (wholeNanoseconds + 50_000) / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension String {
    /// The text with what controls a terminal escaped, but for the tabs between its columns.
    fileprivate var escapedExceptTabs: String {
        utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self).escapedForDisplay(limit: 1_000) }.joined(separator: "\t")
    }
}
