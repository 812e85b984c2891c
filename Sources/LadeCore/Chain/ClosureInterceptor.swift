/// An interceptor made of a closure that may throw any error.
///
/// ```swift
/// settings.attemptInterceptors = [
///     ClosureInterceptor { request, next in
///         var signed = request
///         signed.headers.set("X-Signature", secret: try sign(request))
///         return try await next(signed)
///     }
/// ]
/// ```
public struct ClosureInterceptor: Interceptor {
    private let body: @Sendable (Request, Next) async throws -> Response

    /// Makes an interceptor.
    ///
    /// - Parameter body: Handles one request, as ``Interceptor/intercept(_:next:)`` does. A `LoadingError` that it throws
    ///   ends the call as it is, `CancellationError` as ``LoadingError/cancelled(_:)``, and every other error as
    ///   ``LoadingError/interceptionFailed(_:_:)``, which keeps it.
    public init(_ body: @escaping @Sendable (_ request: Request, _ next: Next) async throws -> Response) {
        self.body = body
    }

    /// Runs the closure.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        do {
            return try await body(request, next)
        } catch {
            throw .wrapping(error, request) { .interceptionFailed($0, $1) }
        }
    }
}
