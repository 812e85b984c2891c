#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// One call, from the request to the last byte of the response.
struct Fetch: Sendable {
    let settings: GetSettings
    let context: CommandContext
    /// The cookie jar that several calls share; nil to use one for this call only.
    var jar: CookieJar?
    /// The files that the calls of the command write.
    var files = FetchFiles()

    private var output: OutputSettings { settings.output }
    private var console: Console { context.console.coloured(output.colour) }

    /// Makes the call and writes the response to its destination.
    ///
    /// - Returns: Success; throws for a failure and for an unsuccessful status.
    func run() async throws(CommandError) -> ExitCode {
        let place = OutputPlace(settings)
        let path = settings.writesNothing ? nil : try place.path(reserving: files.names)
        defer { if let path { place.release(path, in: files.names) } }
        if output.skipsExisting, let path, InputReader.exists(path) {
            if !output.isSilent { console.say("lade: \(path.escapedForDisplay()) exists and is left as it is.") }
            return .success
        }
        if output.digest != nil, let path { try OutputFile.checkIsComparable(path) }
        let file: OutputFile? =
            if let path, let first = settings.request.firstByte, first > 0, !settings.isUpload {
                try OutputFile(appendingTo: path)
            } else if let path {
                try await OutputFile(path, mayOverwrite: mayOverwrite || mayStay).opened(in: context.time)
            } else { nil }
        if !settings.writesNothing { try place.checkOthers() }
        var call = try await PreparedCall(settings, context)
        call.request.delivery = .streamed
        // The command decides whether a status is a success after it has shown the body.
        call.request.deliversEveryStatus = true
        if output.includesHead || output.headPath != nil || output.writeOut != nil || call.request.method == .head {
            call.request.headRecord = HeadRecord(keepsTunnels: !output.hidesTunnelHeads)
        }
        call.bodyRate = output.rate
        if let jar { call.jar = jar }
        let upload = uploadLine(of: &call.request)
        defer { upload?.withLock { $0.end() } }
        if settings.printsCurl {
            try console.write(try CurlLine(settings, call).text + "\n")
            return .success
        }
        if settings.isOffline {
            let sent = SentRequest(call.request, decodesContent: settings.connection.decodesContent)
            try await sent.write(to: console, showsSecrets: output.showsSecrets)
            return .success
        }
        do throws(CommandError) {
            return try await Witness.observing(output, settings.policy, settings.connection, context) {
                [call] (witness) async throws(CommandError) in
                try await fetch(call, to: file, at: path, witness)
            }
        } catch {
            // An error before anything is sent is shown in spite of --silent; a later one is not.
            var error = error
            if !output.tellsErrors { error.isQuiet = true }
            throw error
        }
    }

    /// Makes the call; returns its failure.
    func failure() async -> CommandError? {
        do throws(CommandError) {
            _ = try await run()
            return nil
        } catch {
            return error
        }
    }

    /// Whether a file that exists is replaced; what protects it counts more than a default.
    private var mayOverwrite: Bool {
        output.mayOverwrite && !output.takesServerName && !output.keepsExisting && !output.continuesFile
    }

    /// Whether the response may leave a file unchanged, so that an existing file is no error before the response.
    private var mayStay: Bool { output.continuesFile || settings.request.hasCondition }

    private func fetch(
        _ call: PreparedCall,
        to file: OutputFile?,
        at path: String?,
        _ witness: Witness
    ) async throws(CommandError) -> ExitCode {
        let request = call.request
        var facts = WriteOut.Facts(request: request)
        facts.number = settings.addressNumber
        facts.address = settings.request.address ?? ""
        facts.usesProxy = settings.connection.proxy != nil
        let collector = FactCollector()
        let start = context.time.now
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .call,
            call,
            witness: witness,
            observers: output.writeOut == nil ? [] : [collector]
        )
        do throws(CommandError) {
            let loader = account.makeLoader()
            switch file {
            case .regular: try await download(request, by: loader, to: path, witness, &facts)
            case nil where output.usesRemoteName: try await download(request, by: loader, to: nil, witness, &facts)
            case .special(let device): try await stream(request, by: loader, to: device, witness, &facts)
            case .unread: preconditionFailure("a pipe was not opened")
            case nil: try await stream(request, by: loader, to: nil, witness, &facts)
            }
        } catch {
            await witness.end(account.service, at: context.time)
            facts.error = error
            tellCacheStatus(of: facts.response, witness)
            // A call without a response may have received heads, as of a proxy that refused it. The failure of the call
            // is reported, and one to write them is not reported in addition.
            if facts.response == nil { try? writeHeads(of: request, named: file != nil || output.usesRemoteName) }
            if !error.isQuiet { try? writeOut(&facts, collector, since: start) }
            // The command reports the failure of the call. A failure to save the session is not reported in addition.
            try? call.finish(settings.session, console)
            throw error
        }
        await witness.end(account.service, at: context.time)
        tellCacheStatus(of: facts.response, witness)
        try writeOut(&facts, collector, since: start)
        try call.finish(settings.session, console)
        return .success
    }

    /// Says what the cache did, once it is known whether the body was stored.
    private func tellCacheStatus(of response: Response?, _ witness: Witness) {
        guard settings.caching.showsStatus, let member = response.flatMap(witness.cache.status) else { return }
        console.say("Cache-Status: \(member)")
    }

    // MARK: - To a file

    /// Downloads to a file, named by the user or by the server.
    private func download(
        _ request: Request,
        by loader: Loader,
        to path: String?,
        _ witness: Witness,
        _ facts: inout WriteOut.Facts
    ) async throws(CommandError) {
        let line = showsProgress ? Locked(ProgressLine(console.talk, total: nil, time: context.time)) : nil
        defer { line?.withLock { $0.end() } }
        let kept = Locked(Int64?.none)
        var options = options(for: request, line)
        options.kept = { count in kept.withLock { $0 = count } }
        let download: Download
        do throws(LoadingError) {
            download =
                if let path { try await loader.download(request, to: path, options: options) } else {
                    try await loader.download(request, into: output.folder ?? "", options: options)
                }
        } catch {
            if case .unacceptableStatus(let status) = error.kind {
                // The body is not wanted, and the status is not an error.
                if output.ignoresStatus, output.failsWithoutBody, output.digest == nil, status.code >= 400 { return }
                if settings.followsCurl { throw witness.failure(error) }
            }
            line?.withLock { $0.end() }
            if !output.isSilent, let notice = Self.keptNotice(kept.withLock(\.self), after: error, resumption) {
                console.say(notice)
            }
            throw OutputFile.written(error)
                ?? OutputFile.exists(error, mayOverwrite: mayOverwrite || output.continuesFile)
                ?? OutputFile.unfinished(error) ?? OutputFile.mismatch(error, with: output.digest)
                ?? witness.failure(error)
        }
        (facts.response, facts.path, facts.isUnchanged) = (download.response, download.path, download.isUnchanged)
        if output.takesFileTime, !download.isUnchanged {
            OutputPlace.setDate(of: download.path, to: download.response, now: context.time.date)
        }
        try writeHead(of: download.response)
        try writeTag(of: download.response)
        if download.isUnchanged {
            line?.withLock { $0.end() }
            sayUnchanged(download.path)
        } else if output.usesRemoteName, !output.isSilent, !settings.followsCurl {
            console.say("lade: Saved as \(download.path.escapedForDisplay()).")
        }
        if settings.followsCurl { try checkStatus(of: download.response, witness) }
    }

    /// Says on a terminal that a condition of the call holds.
    private func sayUnchanged(_ path: String?) {
        guard console.isTalkTerminal, !output.isSilent else { return }
        let kept = path.map { "\($0.escapedForDisplay()) is left as it is" } ?? "nothing is written"
        console.say("lade: It has not changed; \(kept).")
    }

    /// Writes the heads to the file that an option names for them.
    private func writeHead(of response: Response) throws(CommandError) {
        if output.headPath != nil { try dump(response.receivedHeads) }
        if let count = response.request.headRecord?.dropped, count > 0, !output.isSilent {
            console.say("lade: The oldest heads of the call are left out: \(count).")
        }
    }

    /// Writes the entity tag to its file, after the body, so that there is never a tag without its body.
    private func writeTag(of response: Response) throws(CommandError) {
        // Read as one value, written as the octets that came.
        guard let path = output.tagPath, response.headers.value(.entityTag) != nil,
            let tag = response.headers.octets("ETag").first, !tag.isEmpty
        else { return }
        var plan = FileEffect.Plan()
        (plan.acceptable, plan.replaces) = ([.successful, 304], true)
        let file = InputReader.exists(path) ? FileEffect.Existing.filled : .none
        let meaning = BodyMeaning(of: response, to: response.request.headers.contains("Range") ? .ownRange : .whole)
        let effect = FileEffect(of: response, meaning, on: file, plan)
        guard effect == .written || effect == .unchanged && file == .none else { return }
        try OutputPlace.write(Data(tag + [UInt8(ascii: "\n")]), to: path, appending: false, console)
    }

    private func dump(_ heads: Data) throws(CommandError) {
        guard let path = output.headPath else { return }
        let isNew = files.heads.withLock { $0.insert(path).inserted }
        try OutputPlace.write(heads, to: path, appending: !isNew, console)
    }

    /// Writes the heads of a call that has no response.
    private func writeHeads(of request: Request, named isNamed: Bool) throws(CommandError) {
        guard let heads = request.headRecord?.heads.joined(), !heads.isEmpty else { return }
        try dump(Data(heads))
        guard output.includesHead || request.method == .head, !isNamed else { return }
        try OutputPlace.write(Data(heads), to: "-", appending: true, console)
    }

    /// The action that resumes a download of this call, as a clause; curl continues a file only on request.
    private var resumption: String {
        settings.followsCurl && !output.continuesFile ? "the line with -C - resumes" : "the same command resumes"
    }

    /// The line about the kept bytes of a download that ended early.
    ///
    /// - Parameters:
    ///   - count: The number of kept bytes; nil for none.
    ///   - error: Why it ended.
    ///   - resumption: The action that resumes it, as a clause.
    /// - Returns: The line; nil where that is clear from the error.
    static func keptNotice(_ count: Int64?, after error: LoadingError, _ resumption: String) -> String? {
        if let count { return "lade: \(ProgressLine.bytes(count)) are kept; \(resumption)." }
        return error.isCancellation ? "lade: Nothing of the download is kept; the same command begins anew." : nil
    }

    private func options(for request: Request, _ line: Locked<ProgressLine>?) -> Download.Options {
        var options = Download.Options()
        options.mayOverwrite = mayOverwrite
        options.numbersNames = output.keepsExisting
        options.claims = files.bodies
        options.keepsPart = !output.removesOnError
        options.continuesFile = output.continuesFile
        if let condition = settings.request.timeCondition {
            options.withholds = { [time = context.time] in condition.withholds($0, now: time.date) }
        }
        // curl continues a file only when that is asked for.
        options.resumes = !settings.followsCurl || output.continuesFile
        options.asksAsGiven = settings.followsCurl
        if !output.isSilent, !output.failsWithoutBody {
            options.refused = { [console] in ServerMessage.show($0, $1, on: console) }
        }
        options.expectedDigest = output.digest
        options.lengthLimit = output.maximumSize.map(Int64.init)
        options.acceptableStatuses = [.codes(100..<300), 304]
        // The body of an error response is not written to a file, unless every status counts as success, or as with curl. For
        // curl's options, the body of an error response replaces no other body.
        if output.ignoresStatus || settings.followsCurl {
            options.otherStatuses = .codes(300..<(output.failsWithoutBody ? 400 : 1_000))
            options.otherStatusesReplace = output.ignoresStatus
        }
        if output.includesHead || request.method == .head { options.prologue = \.receivedHeads }
        if let line { options.onPiece = { received, total in line.withLock { $0.show(received, of: total) } } }
        return options
    }

    // MARK: - To the standard output, or to a device

    private func stream(
        _ request: Request,
        by loader: Loader,
        to device: Descriptor?,
        _ witness: Witness,
        _ facts: inout WriteOut.Facts
    ) async throws(CommandError) {
        // Writing to a device reports its errors; closing it adds none.
        defer { try? device?.close() }
        var load = ResumableLoad(request, by: loader)
        let response: Response
        do throws(LoadingError) {
            response = try await load.head()
        } catch {
            throw witness.failure(error)
        }
        (facts.response, facts.isUnchanged) = (response, isUnchanged(response))
        try writeHead(of: response)
        let isWanted = device == nil || isAccepted(response) || settings.followsCurl
        if !isWanted, !output.isSilent, !output.failsWithoutBody {
            ServerMessage.show(response, await load.message(), on: console)
        } else if isWanted {
            let isUnchanged = facts.isUnchanged
            let isLeftOut = isUnchanged || output.failsWithoutBody && response.status.code >= 400
            let mayBeRest = device != nil && (settings.request.firstByte ?? 0) > 0 && !settings.isUpload
            var sink = sink(for: response, device)
            if !mayBeRest { try await begin(response, in: &sink) }
            let isCopied = isLeftOut ? false : try checkRange(of: response, witness)
            // The file that gets the rest is touched only by the rest.
            if mayBeRest, isCopied { try await begin(response, in: &sink) }
            if isUnchanged {
                sayUnchanged(nil)
            } else if let selection = output.selection, isAccepted(response), response.request.method != .head {
                try await copy(selection, of: response, &load, witness)
            } else if isCopied {
                try await copy(response, of: &load, to: &sink, witness, isDevice: device != nil)
            }
            try await sink.finish()
        }
        try writeTag(of: response)
        try checkStatus(of: response, witness)
    }

    private func isAccepted(_ response: Response) -> Bool {
        output.ignoresStatus || response.exitCode == .success || beginsAtTheEnd(response)
    }

    /// Whether the response has bytes behind the part that `-C NUMBER` leaves out; false where there are none.
    ///
    /// - Throws: An error for a response that has the whole body, when a part of it is there already.
    private func checkRange(of response: Response, _ witness: Witness) throws(CommandError) -> Bool {
        guard let first = settings.request.firstByte, first > 0, !settings.isUpload, response.request.method != .head
        else {
            return true
        }
        if response.status != 416, response.begins(at: first) { return true }
        if beginsAtTheEnd(response) { return false }
        try checkStatus(of: response, witness)
        throw CommandError(
            what: "The server sends no rest from byte \(first) on.",
            advice: "Leave out -C, and fetch the whole.",
            code: .localFile
        )
    }

    /// Whether `-C NUMBER` leaves out as many bytes as the resource has.
    private func beginsAtTheEnd(_ response: Response) -> Bool {
        guard let first = settings.request.firstByte, first > 0, !settings.isUpload else { return false }
        if response.status == 416 {
            return response.headers.value(.contentRange)?.behind("bytes */").flatMap { Whole.count($0) } == first
        }
        return !response.headers.contains("Content-Range") && response.status == 200
            && response.headers.contentLength == first
    }

    /// Whether a condition of the call holds, for the server or for the command itself.
    private func isUnchanged(_ response: Response) -> Bool {
        response.confirmsCondition
            || settings.request.timeCondition?.withholds(response, now: context.time.date) == true
    }

    private func checkStatus(of response: Response, _ witness: Witness) throws(CommandError) {
        guard !isAccepted(response) else { return }
        throw witness.failure(
            LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response.request))
        )
    }

    private func begin(_ response: Response, in sink: inout any BodySink) async throws(CommandError) {
        guard output.includesHead || response.request.method == .head else { return }
        try await sink.writeHead(response)
    }

    private func sink(for response: Response, _ device: Descriptor?) -> any BodySink {
        if let device { return PipeSink(device, path: output.path) }
        guard console.laysOut else { return PipeSink(console.output) }
        return TerminalSink(console, contentType: response.headers.value(.contentType))
    }

    private func copy(
        _ response: Response,
        of load: inout ResumableLoad,
        to sink: inout any BodySink,
        _ witness: Witness,
        isDevice: Bool
    ) async throws(CommandError) {
        try check(load.length ?? 0, announced: load.length, response, witness)
        let isShown = showsProgress && !isDevice && console.output.isRegularFile
        var progress = isShown ? ProgressLine(console.talk, total: load.length, time: context.time) : nil
        defer { progress?.end() }
        var received: Int64 = 0
        while !sink.isSated, let piece = try await next(of: &load, canBeginAnew: sink.canBeginAnew, witness) {
            switch piece {
            case .bytes(let chunk):
                received += Int64(chunk.count)
                try check(received, announced: nil, response, witness)
                try await sink.write(chunk)
                progress?.show(received, of: load.length)
            case .anew(let response):
                // The body replaces a response that was to be kept, before its head or body was written.
                try checkStatus(of: response, witness)
                try check(load.length ?? 0, announced: load.length, response, witness)
            }
        }
    }

    /// Writes the selected part of a JSON response after the whole response has arrived.
    private func copy(
        _ selection: JSONSelection,
        of response: Response,
        _ load: inout ResumableLoad,
        _ witness: Witness
    ) async throws(CommandError) {
        let limit = min(JSONSelection.limit, output.maximumSize ?? .max)
        var bytes = Data()
        let tooLarge = LoadingError(.bodyTooLarge(limit: limit, announced: nil), LoadingError.Context(response.request))
        while let piece = try await next(of: &load, canBeginAnew: true, witness) {
            switch piece {
            case .bytes(let chunk): bytes.append(chunk)
            case .anew(let response):
                try checkStatus(of: response, witness)
                bytes = Data()
            }
            guard bytes.count <= limit else { throw witness.failure(tooLarge) }
        }
        let part: JSONSelection.Part
        do throws(JSONSelection.Fault) {
            part = try selection.part(of: bytes)
        } catch {
            throw .selection(error, selection.pointer)
        }
        var sink: any BodySink =
            console.laysOut
            ? TerminalSink(console, contentType: part.isJSON ? "application/json" : "text/plain")
            : PipeSink(console.output)
        try await sink.write(Data(part.text.utf8))
        try await sink.finish()
    }

    /// Writes the text of `--write-out` after a call.
    private func writeOut(
        _ facts: inout WriteOut.Facts,
        _ collector: FactCollector,
        since start: Instant
    ) throws(CommandError) {
        guard let format = output.writeOut else { return }
        collector.complete(&facts)
        facts.elapsed = start.duration(to: context.time.now)
        let (octets, talk) = format.octets(facts)
        if !talk.isEmpty { console.talk.write(String(decoding: talk, as: UTF8.self).escapedLines) }
        guard console.laysOut else { return try console.write(Data(octets)) }
        // Values from the server must not control the terminal; the line ends of the format itself are kept.
        var shown = TerminalText(.plain)
        let plain = shown.text(of: Data(octets))
        try console.write(plain)
    }

    private func next(
        of load: inout ResumableLoad,
        canBeginAnew: Bool,
        _ witness: Witness
    ) async throws(CommandError) -> ResumableLoad.Piece? {
        do throws(LoadingError) {
            return try await load.next(mayBeginAnew: canBeginAnew)
        } catch {
            throw witness.failure(error)
        }
    }

    private func check(
        _ count: Int64,
        announced: Int64?,
        _ response: Response,
        _ witness: Witness
    ) throws(CommandError) {
        guard let limit = output.maximumSize, count > limit else { return }
        let context = LoadingError.Context(response.request)
        throw witness.failure(LoadingError(.bodyTooLarge(limit: limit, announced: announced), context))
    }

    private var showsProgress: Bool { console.isTalkTerminal && !output.isSilent && !output.isVerbose }

    /// The progress line for sending a large body; nil when none is shown.
    private func uploadLine(of request: inout Request) -> Locked<ProgressLine>? {
        guard showsProgress, let body = request.body, body.length.map({ $0 > Self.largeBody }) ?? true else {
            return nil
        }
        let line = Locked(ProgressLine(console.talk, total: body.length, time: context.time, verb: "sent "))
        request.body = body.reportingProgress { progress in
            line.withLock { line in
                line.show(progress.completed, of: progress.total)
                // After the upload the progress line belongs to the response.
                if progress.completed == progress.total { line.end() }
            }
        }
        return line
    }

    // A smaller body is sent before the line could be read.
    private static let largeBody: Int64 = 256 << 10
}

extension Response {
    /// The exit code for a call with this final response: the code of its status, or success where a condition holds.
    var exitCode: ExitCode { confirmsCondition ? .success : status.exitCode }

    /// Whether the body has the bytes from a position on, by the only `Content-Range` of the head.
    fileprivate func begins(at position: Int64) -> Bool {
        let fields = headers.all("Content-Range")
        guard fields.count == 1, let (unit, range) = fields[0].cut(at: " "), let (first, rest) = range.cut(at: "-"),
            String(unit).equalsIgnoringASCIICase("bytes"), !rest.has(",")
        else { return false }
        // Some servers leave out the end, and the status of a part.
        return Whole.count(first.trimmedOfSpace) == position
    }

    /// Every head of the call as it was received.
    ///
    /// Where the transport recorded no head, one is made of status and fields.
    ///
    /// A response from the cache has a head of its own in place of the head of the 304 or the failure.
    var receivedHeads: Data {
        let heads = request.headRecord?.heads ?? []
        return heads.isEmpty ? HeadRecord.head(status, headers, version) : Data(heads.joined())
    }
}

extension String {
    /// The text with control characters escaped, and its line ends kept.
    fileprivate var escapedLines: String {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String(String.UnicodeScalarView($0)).escapedForDisplay(limit: 4_000) }.joined(separator: "\n")
    }
}
