package import LadeCore

/// The `LoadingError` that an operation throws.
package func failure<Value>(_ operation: () async throws(LoadingError) -> Value) async -> LoadingError? {
    do throws(LoadingError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
