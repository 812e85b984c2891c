#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a request handle uses of a loader without keeping it: letting go of the loader still ends its work.
package struct LoaderAccess: Sendable {
    private let core: LoaderCore

    /// Makes the access to a loader's calls.
    package init(_ loader: Loader) {
        core = loader.core
    }

    /// Whether the loader is gone, so that nobody is to be told of anything any more.
    package var isGone: Bool { core.group.isSilent }

    /// Loads the answer to an endpoint's request, whatever its status; nothing is made of its body.
    @concurrent
    package func answer<Value>(to endpoint: Endpoint<Value>) async throws(LoadingError) -> Response {
        try await core.perform(endpoint.prepared, .anyResponse)
    }

    /// Makes the value of an answer: the processors of the service, then those of the endpoint.
    package func value<Value>(of endpoint: Endpoint<Value>, from response: Response) throws(LoadingError) -> Value {
        try endpoint.ending(after: core.account.service.settings.processors).make(response).value
    }
}

extension Response {
    /// Whether its status says anything: what did not come over HTTP has none of its own.
    package var hasStatus: Bool { version != nil || request.isHTTP }
}
