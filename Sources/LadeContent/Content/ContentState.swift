/// The state of content that loads asynchronously, as a view shows it.
///
/// ```swift
/// switch model.state {
/// case .unloaded: showHint()
/// case .loading: showSpinner()
/// case .success(let shows): render(shows)
/// case .empty: showEmptyPage()
/// case .error(let error): show(error)
/// }
/// ```
///
/// ``ContentSnapshot`` has further facts that are worth showing: the content from before a refresh or a failure, and
/// why a load runs. Source: TDCContentLoading, `ContentLoadingState`.
public enum ContentState<Value: Sendable>: Sendable {
    /// Nothing was requested yet.
    case unloaded
    /// A load is in progress.
    case loading
    /// A load finished with content.
    case success(Value)
    /// A load finished and found nothing.
    case empty
    /// A load failed.
    case error(any Error)

    /// Whether a load is in progress.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
    }

    /// The content of ``success(_:)``; nil in every other state.
    public var value: Value? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The error of ``error(_:)``; nil in every other state.
    public var error: (any Error)? {
        if case .error(let error) = self { error } else { nil }
    }
}

extension ContentState: Equatable where Value: Equatable {
    /// Whether the case is the same and its payload is equal.
    ///
    /// Errors are equal when they are of one type, and equal as `Equatable`. Errors of a type that is not `Equatable`
    /// are equal when their descriptions are.
    public static func == (lhs: ContentState, rhs: ContentState) -> Bool {
        switch (lhs, rhs) {
        case (.unloaded, .unloaded), (.loading, .loading), (.empty, .empty): true
        case (.success(let left), .success(let right)): left == right
        case (.error(let left), .error(let right)): left.isEqual(to: right)
        default: false
        }
    }
}

extension Error {
    fileprivate func isEqual(to other: any Error) -> Bool {
        guard type(of: self) == type(of: other) else { return false }
        guard let left = self as? any Equatable else { return String(reflecting: self) == String(reflecting: other) }
        return left.isSame(as: other)
    }
}

extension Equatable {
    fileprivate func isSame(as other: Any) -> Bool { (other as? Self) == self }
}

/// Why a load runs.
public enum LoadReason: Sendable, Hashable {
    /// There is no content yet.
    case first
    /// There is content, which the load replaces.
    case refresh
    /// The load gets the page after the loaded ones.
    case nextPage
}

/// Everything that a view shows at one instant: the state, the content and the reason of a load.
///
/// A value that changes as a whole: no observer sees a state with the content of another.
public struct ContentSnapshot<Value: Sendable>: Sendable {
    /// One of the five states.
    public internal(set) var state: ContentState<Value>
    /// The content of the state.
    ///
    /// During a load, after a failure and after a cancellation it is the content that was shown before.
    public internal(set) var content: Value?
    /// Why a load runs; nil when none does.
    public internal(set) var reason: LoadReason?
    /// Whether ``content`` came from the app's store and no load has replaced it yet.
    ///
    /// It is true while the load runs, and after the load failed, ended without a value or was cancelled.
    public internal(set) var isStale = false

    init(_ state: ContentState<Value>, content: Value? = nil) {
        self.state = state
        self.content = content
    }

    /// Whether a load is in progress.
    public var isLoading: Bool { state.isLoading }
}

extension ContentSnapshot: Equatable where Value: Equatable {}
