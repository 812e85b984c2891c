#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The view level: loads things for a screen, a job, a scope.
public final class Loader: Sendable {
    /// The most bytes of a refused answer's body that its error keeps: 64 KiB.
    public static let errorBodyLimit = 64 << 10

    private let account: Account
    // Copied for each call with a new identity.
    private let template: Call

    init(account: Account) {
        self.account = account
        let settings = account.service.settings
        template = Call(
            account: account.identifier,
            time: settings.time,
            random: settings.random,
            events: settings.observers
        )
    }

    /// Loads a response through the whole chain.
    ///
    /// - Parameter request: What to ask for. With `streamed` delivery the head is returned as soon as it is there.
    /// - Returns: A response whose status is acceptable.
    /// - Throws: `LoadingError.unacceptableStatus` with headers and the beginning of the body for a status
    ///   outside the acceptable ones; otherwise what the chain throws. Cancelling the task ends the call.
    public func load(_ request: Request) async throws(LoadingError) -> Response {
        try request.validate()
        let service = account.service
        let call = Call(id: service.nextCallID(), like: template)
        call.record(
            .callStarted(method: request.method, url: request.url.redacted(secretQueryNames: request.secretQueryNames))
        )
        do {
            let response = try await service.chain.send(request, call: call)
            try check(response, request.acceptableStatuses ?? service.settings.acceptableStatuses)
            call.record(.callFinished(status: response.status))
            return response
        } catch {
            call.record(.callFailed(error))
            throw error
        }
    }

    private func check(_ response: Response, _ acceptable: Range<Int>) throws(LoadingError) {
        guard !acceptable.contains(response.status.code) else { return }
        var context = ErrorContext(response.request)
        context.status = response.status
        context.headers = response.headers
        context.body = response.body.bytes?.prefix(Self.errorBodyLimit)
        throw .unacceptableStatus(response.status, context)
    }
}
