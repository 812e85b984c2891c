/// Where a view is in its life; starts and cancels the loads of a ``ContentModel``.
///
/// Adapters for SwiftUI and UIKit report it where those frameworks exist; anything else sets
/// ``ContentModel/lifetime`` or binds a sequence to it. Source: TDCContentLoading, `ViewLifetime`.
public enum ViewLifetime: Sendable, Hashable, CaseIterable {
    /// The view exists and has not loaded anything.
    case initialised
    /// The view has loaded.
    case didLoad
    /// The view is about to appear.
    case willAppear
    /// The view has appeared.
    case didAppear
    /// The view is about to disappear.
    case willDisappear
    /// The view has disappeared.
    case didDisappear
}
