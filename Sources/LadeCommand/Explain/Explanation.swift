#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// One call whose answer is read and dropped, and whose story is told.
struct Explanation: Sendable {
    let settings: ExplainSettings
    let context: CommandContext

    /// Makes the call and writes its story, also when it fails.
    ///
    /// - Returns: Success; everything else is an error, also a status that is none.
    func run() async throws(CommandError) -> ExitCode {
        var request = try await settings.request.request(askingBy: PasswordPrompt(interruption: context.interruption))
        settings.connection.apply(to: &request)
        settings.policy.apply(to: &request)
        request.delivery = .streamed
        let witness = try Witness(settings.output, settings.policy, context)
        defer { witness.flush() }
        let story = CallStory()
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .call,
            request,
            observers: witness.observers + [story]
        )
        let result = await outcome(of: request, account.makeLoader())
        // The last event of a body comes from a thread of the transport's, which has ended after this.
        await account.service.shutDown()
        try context.console.write("\(story.timeline)")
        switch result {
        case .success(let status):
            guard settings.output.ignoresStatus || status.exitCode == .success else {
                throw witness.failure(.unacceptableStatus(status, ErrorContext(request)))
            }
            return .success
        case .failure(let error):
            throw witness.failure(error)
        }
    }

    private func outcome(of request: Request, _ loader: Loader) async -> Result<Status, LoadingError> {
        defer { withExtendedLifetime(loader) {} }
        do throws(LoadingError) {
            let response = try await loader.load(request)
            var received = 0
            var body = response.body.makeAsyncIterator()
            while let chunk = try await body.next(isolation: #isolation) {
                received += chunk.count
                if let limit = settings.output.maximumSize, received > limit {
                    throw .bodyTooLarge(limit: limit, announced: nil, ErrorContext(request))
                }
            }
            return .success(response.status)
        } catch {
            return .failure(error)
        }
    }
}
