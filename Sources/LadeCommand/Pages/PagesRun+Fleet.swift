import Lade
import LadeHarvest

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// A list that several processes fetch.
extension PagesRun {
    /// The most processes of a machine in one folder.
    private static let seatLimit = 256

    /// The worker with a name that no other process in the folder has, and its work.
    static func work(
        _ worker: HarvestWorker,
        on board: any WorkBoard,
        _ loader: Loader,
        _ stop: Harvest.Stop,
        _ meter: Pages.Progress.Meter
    ) async throws(HarvestError) -> HarvestWorker.Summary {
        guard worker.name.isEmpty else {
            return try await worker.work(on: board, with: loader, stop: stop, meter: meter)
        }
        var seat = 1
        while true {
            var named = worker
            named.name = "\(machine)-\(seat)"
            do throws(HarvestError) {
                return try await named.work(on: board, with: loader, stop: stop, meter: meter)
            } catch {
                // Another process of this machine has the name.
                guard case .outputBusy = error, seat < seatLimit else { throw error }
                seat += 1
            }
        }
    }

    /// The name of the machine, in characters that a name of a file may have.
    private static var machine: String {
        var buffer = [CChar](repeating: 0, count: 65)
        gethostname(&buffer, 64)
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let plain = bytes.filter { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
        }
        return plain.isEmpty ? "worker" : String(decoding: plain.prefix(48), as: UTF8.self)
    }

    /// The words about the share of this process.
    static func share(_ work: HarvestWorker.Summary, members: Int) -> String {
        var text = "\(Count.text(members, "member", "members")), \(pages(work.ownPages)) by this one"
        if let extra = work.state?.extraPages, extra > 0 { text += "; \(pages(extra)) fetched twice or in vain" }
        return text
    }

    /// The end of the work, for the user.
    func finish(_ work: HarvestWorker.Summary, members: Int) throws(CommandError) -> ExitCode {
        let shown = settings.paging.path ?? ""
        func say(_ text: String) {
            guard !settings.output.isSilent, console.isTalkTerminal else { return }
            console.talk.write("lade: \(text)\n")
        }
        switch work.ending {
        case .complete:
            say("\(Self.share(work, members: members)).")
            guard let merged = work.merged else {
                say("The list is complete; another process has merged it.")
                return .success
            }
            return try finish(merged)
        case .completeBefore(let since):
            say("The list is complete since \(since.components.seconds) s; nothing was fetched.")
            return .success
        case .incomplete(let lines):
            for line in lines.prefix(20) { console.talk.write("lade: \(line)\n") }
            if lines.count > 20 { console.talk.write("lade: and \(lines.count - 20) more\n") }
            throw CommandError(
                what: "\(Count.text(lines.count, "place", "places")) of the list could not be fetched.",
                advice: "The same command with --continue tries them again. "
                    + "If the list ends with a status, --end-status names it.",
                code: .partial
            )
        case .lacking(let names):
            for name in names.prefix(20) { console.talk.write("lade: \(name) is missing\n") }
            if names.count > 20 { console.talk.write("lade: and \(names.count - 20) more\n") }
            throw CommandError(
                what: "The list is fetched, but \(Count.text(names.count, "part is", "parts are")) on other machines.",
                advice: "Copy the folders \(shown).parts of the others here, and run the same command again.",
                code: .partial
            )
        case .stopped:
            throw CommandError(
                what: "Stopped after \(Self.pages(work.ownPages)).",
                advice: "The others go on; the same command joins them again.",
                code: .partial
            )
        case .cancelled:
            throw CommandError(
                what: "The run is cancelled.",
                advice: "The same command with --continue goes on.",
                code: .partial
            )
        case .busy(let count):
            throw .usage(
                "--restart while \(Count.text(count, "process works", "processes work"))",
                advice: "Wait for them, or take their work away with --force."
            )
        case .unreachable:
            throw CommandError(
                what: "The store of the fleet does not respond any longer.",
                advice: "Pages that were fetched are kept; the same command continues.",
                code: .partial
            )
        }
    }
}
