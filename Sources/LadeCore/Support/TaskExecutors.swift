/// On which executor a task that outlives its maker is to run.
package enum TaskExecutors {
    /// The executor that the current task prefers; nil without one, or where the system cannot tell.
    ///
    /// An unstructured task does not inherit it; yet a simulation in virtual time must see every task it started.
    package static var current: (any TaskExecutor)? {
        guard #available(macOS 26.4, iOS 26.4, watchOS 26.4, tvOS 26.4, visionOS 26.4, *) else { return nil }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
    }
}
