#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// The result of one run of a handle, or of a ``LoadRequest``: the request, the response if one arrived, a value, an
/// error.
///
/// A success has a value and a response. A failure has an error, and a response when one arrived. The error of a handle is a
/// ``NetworkError``. The error of a ``LoadRequest`` is a `LoadingError`, or the error that a validator or processor threw. Both
/// value and error are nil when ``RequestOptions/httpErrorsDisabled`` accepts an error status, or a parser returns nil.
///
/// The handle of a page delivers its outcome in a `Pages.Page`. `outcome.page` is the requested page, and
/// `outcome.next` the one after it, nil after the last and after a failure. The error ``NetworkError/pagination(_:)``
/// comes with a value: the page was loaded, but the next one cannot be.
public struct Outcome<Value: Sendable, Failure: Error>: Sendable {
    /// The request.
    public var request: Request
    /// The response, also when its status or a validator caused the failure; nil when none arrived.
    public var response: Response?
    /// The value made from the response; nil after a failure.
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

    /// The raw body; nil when no response arrived.
    public var data: Data? { response?.body.bytes }
}

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
    /// - Throws: ``error``; `ProcessingError.emptyBody` for an outcome without either.
    public func get() throws -> Value {
        if let error { throw error }
        guard let value else { throw ProcessingError.emptyBody }
        return value
    }
}
