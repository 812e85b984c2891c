import LadeCore

/// A value whose end is noticed.
package final class Sentinel: Request.Tag, Sendable {
    package static var defaultValue: Sentinel? { nil }

    private let onRelease: @Sendable () -> Void

    package init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { onRelease() }
}
