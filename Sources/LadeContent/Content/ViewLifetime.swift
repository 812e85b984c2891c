/// The phases of a view's life, which start and cancel the loads of a ``ContentModel``.
///
/// Adapters for SwiftUI and UIKit report them where those frameworks exist. Otherwise set ``ContentModel/lifetime`` or
/// bind a sequence to it. Source: TDCContentLoading, `ViewLifetime`.
public enum ViewLifetime: Sendable, Hashable, CaseIterable {
    /// The view exists and has loaded nothing.
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
