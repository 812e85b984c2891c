#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// The result of loading a request once: the request, the answer if one arrived, a value, an error.
///
/// A success has a value and an answer. A failure has an error, and an answer when one arrived. Both value and error
/// are nil when an unacceptable status is let through, or a parser returns nil. Both are set when a page was loaded and
/// the next page cannot be followed.
public struct Outcome<Value: Sendable, Failure: Error>: Sendable {
    /// The request.
    public var request: Request
    /// The answer, also when its status or a validator caused the failure; nil when none arrived.
    public var response: Response?
    /// The value made from the answer; nil after a failure.
    public var value: Value?
    /// The error of a failure; nil after a success.
    public var error: Failure?

    /// Makes an outcome from its parts.
    public init(request: Request, response: Response? = nil, value: Value? = nil, error: Failure? = nil) {
        self.request = request
        self.response = response
        self.value = value
        self.error = error
    }

    /// The raw body; nil when no answer arrived.
    public var data: Data? { response?.body.bytes }
}

/// The result of a ``LoadRequest`` for one of its handlers.
///
/// The error is a `LoadingError`, or the error that a validator or serialiser threw.
public typealias LoadOutcome<Value: Sendable> = Outcome<Value, any Error>

extension Outcome where Failure == any Error {
    init(request: Request, response: Response?, result: Result<Value, any Error>) {
        self.init(request: request, response: response)
        switch result {
        case .success(let value): self.value = value
        case .failure(let error): self.error = error
        }
    }

    /// The value, or the error.
    public var result: Result<Value, any Error> { Result { try get() } }

    /// Returns the value, or throws the error.
    ///
    /// - Throws: ``error``; ``ProcessingFault/emptyBody`` for an outcome without either.
    public func get() throws -> Value {
        if let error { throw error }
        guard let value else { throw ProcessingFault.emptyBody }
        return value
    }
}
