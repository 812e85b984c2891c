#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Access to the calls of a loader.
///
/// It keeps the loader alive, so a request that waits or runs needs no other owner.
package struct LoaderAccess: Sendable {
    private let loader: Loader

    private var core: LoaderCore { loader.core }

    /// Makes the access to a loader's calls.
    package init(_ loader: Loader) {
        self.loader = loader
    }

    /// Whether nothing may be reported any more; see ``Loader/dissolve()``.
    package var isGone: Bool { core.group.isSilent }

    /// Loads the response to an endpoint's request, whatever its status, without running processors.
    @concurrent
    package func response<Value>(to endpoint: Endpoint<Value>) async throws(LoadingError) -> Response {
        var request = endpoint.prepared
        request.deliversEveryStatus = true
        return try await core.perform(request, .response, by: loader)
    }

    /// Makes the value from a response: runs the processors of the service, then those of the endpoint.
    package func value<Value>(of endpoint: Endpoint<Value>, from response: Response) throws(LoadingError) -> Value {
        try endpoint.conversion(after: core.account.service.settings.processors).make(response).value
    }
}
