import Lade
import LadeTesting

/// An app's interceptor that records whether calls arrive with their scope.
struct ScopeProbe: Interceptor {
    let seen: Locked<[Bool]>
    var observesScope: Bool { true }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        seen.withLock { $0.append(next.call.scope != nil) }
        return try await next(request)
    }
}
