#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What one run of a request has brought: the request, the answer if there was one, a value, an error.
///
/// Success has a value and an answer. A failure has an error, and the answer when one arrived. Neither value nor error is
/// there when a refused status is let through, and when a parser makes nothing of the body. Both are there when a page was
/// loaded and the next one cannot be followed.
public struct Outcome<Value: Sendable, Failure: Error>: Sendable {
    /// What was asked for.
    public var request: Request
    /// The answer; there also when its status or a validator made it a failure, nil when none had arrived.
    public var response: Response?
    /// What was made of the answer; nil after a failure.
    public var value: Value?
    /// Why the run failed; nil after a success.
    public var error: Failure?

    /// Makes an outcome from its parts.
    public init(request: Request, response: Response? = nil, value: Value? = nil, error: Failure? = nil) {
        self.request = request
        self.response = response
        self.value = value
        self.error = error
    }

    /// The raw body, when there was an answer.
    public var data: Data? { response?.body.bytes }
}

/// How a ``LoadRequest`` ended for one of its handlers.
///
/// The error is a `LoadingError`, or what a validator or serialiser threw.
public typealias LoadOutcome<Value: Sendable> = Outcome<Value, any Error>

extension Outcome where Failure == any Error {
    init(request: Request, response: Response?, result: Result<Value, any Error>) {
        self.init(request: request, response: response)
        switch result {
        case .success(let value): self.value = value
        case .failure(let error): self.error = error
        }
    }

    /// The value, or why there is none.
    public var result: Result<Value, any Error> { Result { try get() } }

    /// The value, or the error thrown.
    ///
    /// - Throws: ``error``; ``ProcessingFault/emptyBody`` for an outcome without either.
    public func get() throws -> Value {
        if let error { throw error }
        guard let value else { throw ProcessingFault.emptyBody }
        return value
    }
}
