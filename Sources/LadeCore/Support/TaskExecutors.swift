/// The executor for a task that outlives the task that created it.
package enum TaskExecutors {
    /// The preferred executor of the current task; nil without one, or where the system does not report it.
    ///
    /// An unstructured task does not inherit it, but a simulation in virtual time must see every task that is started.
    package static var current: (any TaskExecutor)? {
        guard #available(macOS 26.4, iOS 26.4, watchOS 26.4, tvOS 26.4, visionOS 26.4, *) else { return nil }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
    }
}
