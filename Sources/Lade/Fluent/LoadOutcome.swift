#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How a ``LoadRequest`` ended for one of its handlers: the request, the answer if there was one, and a value or an error.
public struct LoadOutcome<Value: Sendable>: Sendable {
    /// What was asked for.
    public var request: Request
    /// The answer; there also when its status or a validator made it a failure, nil when none had arrived.
    public var response: Response?
    /// The value, or why there is none: a `LoadingError`, or what a validator or serialiser threw.
    public var result: Result<Value, any Error>

    /// The raw body, when there was an answer.
    public var data: Data? { response?.body.bytes }

    /// The value; nil after a failure.
    public var value: Value? { try? result.get() }

    /// Why there is no value; nil after a success.
    public var error: (any Error)? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// The value, or the error thrown.
    public func get() throws -> Value {
        try result.get()
    }
}
