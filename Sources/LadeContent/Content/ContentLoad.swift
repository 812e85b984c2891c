/// One load of a ``ContentModel``: an operation that returns one value, several, or none.
///
/// The operation runs outside the main actor. It must not capture the model: it is cancelled when the model is
/// released.
public struct ContentLoad<Value: Sendable>: Sendable {
    enum Kind: Sendable {
        case single(@concurrent @Sendable () async throws -> Value?)
        case many(
            @concurrent @Sendable (_ deliver: @escaping @MainActor @Sendable (Value) -> Void) async throws -> Void
        )
    }

    let kind: Kind

    /// A load that returns one value; nil leaves the model as it was before the load.
    ///
    /// - Parameter operation: Runs in a task of the model, which is cancelled with the load.
    public init(_ operation: @escaping @concurrent @Sendable () async throws -> Value?) {
        kind = .single(operation)
    }

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// A load that delivers each value of a sequence; the model stays loading until the sequence ends.
    public static func values<Values: AsyncSequence & Sendable>(
        of values: @escaping @concurrent @Sendable () async throws -> Values
    ) -> ContentLoad where Values.Element == Value {
        ContentLoad(
            .many { deliver in
                for try await value in try await values() {
                    // A sequence of the caller may have values ready after the load was cancelled.
                    try Task.checkCancellation()
                    await deliver(value)
                }
            }
        )
    }

    /// A load that ends immediately without a value.
    public static var none: ContentLoad { ContentLoad { nil } }
}
