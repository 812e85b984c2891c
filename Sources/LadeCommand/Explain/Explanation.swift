#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTraffic

/// Makes one call, discards the response, and prints the events and timings.
struct Explanation: Sendable {
    let settings: ExplainSettings
    let context: CommandContext

    /// Makes the call and prints its events, even when it fails.
    ///
    /// - Returns: Success; throws for a failure and for an unsuccessful status.
    func run() async throws(CommandError) -> ExitCode {
        var call = try await PreparedCall(settings, context)
        call.request.delivery = .streamed
        call.request.deliversEveryStatus = true
        let page = settings.pagePath.map { path in (path, Locked<[HAREntry]>([])) }
        let recorder = page.map { page in
            var recording = TrafficRecorder.Settings()
            recording.bodyLimit = 0
            return TrafficRecorder(recording) { entry in page.1.withLock { $0.append(entry) } }
        }
        defer { withExtendedLifetime(recorder) {} }
        return try await Witness.observing(settings.output, settings.policy, settings.connection, context) {
            (witness) async throws(CommandError) in
            var witness = witness
            witness.recorder = recorder
            do throws(CommandError) {
                let code = try await run(call, witness)
                try Self.write(page, of: call.request)
                return code
            } catch {
                // The failure of the call is reported, and one to write the page is not reported in addition.
                try? Self.write(page, of: call.request)
                throw error
            }
        }
    }

    /// The lines of a summary, in which waits for a shared rate limit name the fleet.
    static func naming(_ text: String, members: Int?) -> String {
        guard let members else { return text }
        let lines = text.parts(at: "\n").map { line in
            line.contains("the rate limit of ") ? "\(line), fleet of \(members)" : String(line)
        }
        return lines.joined(separator: "\n")
    }

    private static func write(_ page: (String, Locked<[HAREntry]>)?, of request: Request) throws(CommandError) {
        guard let (path, entries) = page else { return }
        try HarRun.write(WaterfallPage(entries.withLock(\.self), title: "\(request)").html, to: path)
    }

    private func run(_ call: PreparedCall, _ witness: Witness) async throws(CommandError) -> ExitCode {
        let request = call.request
        let story = Service.CallStory()
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .call,
            call,
            witness: witness,
            observers: [story]
        )
        let result = await outcome(of: request, account.makeLoader())
        // The last event of a body arrives on a transport thread, which has ended after this call.
        await witness.end(account.service, at: context.time)
        try call.finish(settings.session, context.console)
        let (text, hidden) = story.timeline.summary(from: settings.showsAll ? 0 : 0.01)
        try context.console.write(Self.naming(text, members: context.memberships.withLock(\.values.first)?.members()))
        if hidden > 0 {
            try context.console.write("\(Count.text(hidden, "row", "rows")) under 1 % left out; --all shows them.\n")
        }
        switch result {
        case .success(let response):
            guard settings.output.ignoresStatus || response.exitCode == .success else {
                throw witness.failure(LoadingError(.unacceptableStatus(response.status), LoadingError.Context(request)))
            }
            return .success
        case .failure(let error):
            throw witness.failure(error)
        }
    }

    private func outcome(of request: Request, _ loader: Loader) async -> Result<Response, LoadingError> {
        defer { withExtendedLifetime(loader) {} }
        do throws(LoadingError) {
            var load = ResumableLoad(request, by: loader)
            var response = try await load.head()
            var received = 0
            // None of the response is kept, so the body may start again.
            while let piece = try await load.next(mayBeginAnew: true) {
                switch piece {
                case .bytes(let chunk): received += chunk.count
                case .anew(let other): (response, received) = (other, 0)
                }
                if let limit = settings.output.maximumSize, received > limit {
                    throw LoadingError(.bodyTooLarge(limit: limit, announced: nil), LoadingError.Context(request))
                }
            }
            return .success(response)
        } catch {
            return .failure(error)
        }
    }
}
