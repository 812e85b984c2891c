#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// One call from the request to the last byte of the answer.
struct Fetch: Sendable {
    let settings: GetSettings
    let context: CommandContext

    private var output: OutputSettings { settings.output }
    private var console: Console { context.console }

    /// Makes the call and writes the answer where it belongs.
    ///
    /// - Returns: Success; everything else is an error, also a status that is none.
    func run() async throws(CommandError) -> ExitCode {
        do throws(CommandError) {
            return try await fetch()
        } catch {
            var error = error
            if !output.tellsErrors { error.isQuiet = true }
            throw error
        }
    }

    private func fetch() async throws(CommandError) -> ExitCode {
        if let path = output.path { try FileSink.check(path, mayOverwrite: output.mayOverwrite) }
        var request = try await settings.request.request(askingBy: PasswordPrompt(interruption: context.interruption))
        settings.connection.apply(to: &request)
        settings.policy.apply(to: &request)
        request.delivery = .streamed
        let witness = try Witness(output, settings.policy, context)
        defer { witness.flush() }
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .call,
            request,
            observers: witness.observers
        )
        witness.started(request)
        do throws(CommandError) {
            // The loader is held until the body is written: a body ends with the loader it came by.
            let loader = account.makeLoader()
            defer { withExtendedLifetime(loader) {} }
            var load = ResumableLoad(request, by: loader)
            let response = try await head(of: &load, witness)
            try await deliver(response, of: &load, witness)
            await account.service.shutDown()
        } catch {
            await account.service.shutDown()
            throw error
        }
        return .success
    }

    private func head(of load: inout ResumableLoad, _ witness: Witness) async throws(CommandError) -> Response {
        do throws(LoadingError) {
            return try await load.head()
        } catch {
            throw witness.failure(error)
        }
    }

    private func deliver(
        _ response: Response,
        of load: inout ResumableLoad,
        _ witness: Witness
    ) async throws(CommandError) {
        if var sink = try sink(for: response) {
            do throws(CommandError) {
                try await begin(response, in: &sink)
                if writesBody(of: response) { try await copy(response, of: &load, to: &sink, witness) }
                try await sink.finish()
            } catch {
                sink.abandon()
                throw error
            }
            if output.usesRemoteName, !output.isSilent, let file = sink as? FileSink {
                console.talk.write("lade: Saved as \(file.path.escapedForDisplay()).\n")
            }
        }
        try checkStatus(of: response, witness)
    }

    private func isAccepted(_ response: Response) -> Bool {
        output.ignoresStatus || response.status.exitCode == .success
    }

    private func writesBody(of response: Response) -> Bool {
        !output.failsWithoutBody || response.status.code < 400
    }

    private func checkStatus(of response: Response, _ witness: Witness) throws(CommandError) {
        guard !isAccepted(response) else { return }
        throw witness.failure(.unacceptableStatus(response.status, ErrorContext(response.request)))
    }

    private func begin(_ response: Response, in sink: inout any BodySink) async throws(CommandError) {
        guard output.includesHead || response.request.method == .head else { return }
        try await sink.writeHead(Self.head(of: response))
    }

    /// Where the answer goes; nil when it goes nowhere, because a file is no place for the page of an error.
    private func sink(for response: Response) throws(CommandError) -> (any BodySink)? {
        if output.path != nil || output.usesRemoteName {
            guard isAccepted(response) else { return nil }
            return try FileSink(
                output.path ?? FileName.suggested(by: response),
                mayOverwrite: output.mayOverwrite,
                interruption: context.interruption
            )
        }
        guard console.isOutputTerminal else { return PipeSink(console.output) }
        let type = response.headers["Content-Type"]
        return TerminalSink(console, TerminalText.Kind(contentType: type, isColoured: console.usesColour))
    }

    private func copy(
        _ response: Response,
        of load: inout ResumableLoad,
        to sink: inout any BodySink,
        _ witness: Witness
    ) async throws(CommandError) {
        let length = Self.length(of: response)
        try check(length ?? 0, announced: length, response, witness)
        var progress = showsProgress(of: sink) ? ProgressLine(console.talk, total: length, time: context.time) : nil
        defer { progress?.end() }
        var received: Int64 = 0
        while !sink.isSated, let piece = try await next(of: &load, for: sink, witness) {
            switch piece {
            case .bytes(let chunk):
                received += Int64(chunk.count)
                try check(received, announced: nil, response, witness)
                try await sink.write(chunk)
                progress?.add(chunk.count)
            case .anew(let response):
                // It is in the place of an answer that was to be kept.
                try checkStatus(of: response, witness)
                let length = Self.length(of: response)
                try check(length ?? 0, announced: length, response, witness)
                try await sink.beginAnew()
                try await begin(response, in: &sink)
                received = 0
                progress?.beginAnew(total: length)
            }
        }
    }

    private func next(
        of load: inout ResumableLoad,
        for sink: any BodySink,
        _ witness: Witness
    ) async throws(CommandError) -> ResumableLoad.Piece? {
        do throws(LoadingError) {
            return try await load.next(mayBeginAnew: sink.canBeginAnew)
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
        let context = ErrorContext(response.request)
        throw witness.failure(.bodyTooLarge(limit: limit, announced: announced, context))
    }

    private func showsProgress(of sink: any BodySink) -> Bool {
        guard console.isTalkTerminal, !output.isSilent, !output.isVerbose else { return false }
        return sink is FileSink || console.output.isRegularFile
    }

    /// The length of the body as it will arrive; unknown when it is decoded on the way.
    private static func length(of response: Response) -> Int64? {
        guard response.request.method != .head, !response.headers.contains("Content-Encoding") else { return nil }
        return response.headers["Content-Length"].flatMap { Int64($0) }
    }

    /// The head as HTTP/1.1 writes it, without the reason phrase, which no version since has.
    private static func head(of response: Response) -> String {
        let version = response.version?.rawValue ?? "HTTP"
        let fields = response.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return "\(version) \(response.status)\r\n\(fields)\r\n"
    }
}
