/// Resumes a suspended task with a value.
///
/// Double and missing resumption is checked in debug builds only: the check costs one allocation per wait.
#if DEBUG
    @usableFromInline package typealias Resumption<Value> = CheckedContinuation<Value, Never>
#else
    @usableFromInline package typealias Resumption<Value> = UnsafeContinuation<Value, Never>
#endif

/// Suspends the current task and passes its resumption to a closure.
@inlinable
package func withResumption<Value>(_ body: (Resumption<Value>) -> Void) async -> Value {
    #if DEBUG
        await withCheckedContinuation { body($0) }
    #else
        await withUnsafeContinuation { body($0) }
    #endif
}
