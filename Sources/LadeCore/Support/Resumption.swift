/// What resumes a suspended task with a value.
///
/// Checked for double and missing resumption in debug builds alone: the check costs an allocation a wait.
#if DEBUG
    @usableFromInline package typealias Resumption<Value> = CheckedContinuation<Value, Never>
#else
    @usableFromInline package typealias Resumption<Value> = UnsafeContinuation<Value, Never>
#endif

/// Suspends the current task and hands out what resumes it.
@inlinable
package func withResumption<Value>(_ body: (Resumption<Value>) -> Void) async -> Value {
    #if DEBUG
        await withCheckedContinuation { body($0) }
    #else
        await withUnsafeContinuation { body($0) }
    #endif
}
