/// A text that must not be shown: a password, a token, a key.
///
/// Printing, interpolating, reflecting or dumping it shows `<redacted>`; only ``reveal()`` returns the text.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral {
    private let text: String

    /// Wraps a secret text.
    public init(_ text: String) {
        self.text = text
    }

    /// Wraps a literal, for tests and examples; real secrets do not belong in source code.
    public init(stringLiteral value: String) {
        text = value
    }

    /// The text itself.
    ///
    /// Call it only where the secret is sent.
    public func reveal() -> String {
        text
    }

    /// Whether there is no text at all.
    public var isEmpty: Bool { text.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }

    /// A mirror without children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
