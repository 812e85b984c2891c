/// What one run of a request has brought.
///
/// The three parts are set as the table of `requests-pages-queues.md` §1.4 has it. Success has a value and a response. A
/// failure has an error, and the response when one arrived. A status that ``RequestOptions/httpErrorsDisabled`` lets
/// through, and a parser that makes nothing, leave the response alone.
public struct RequestOutcome<Value: Sendable>: Sendable {
    /// What was made of the answer.
    public var value: Value?
    /// The answer.
    public var response: Response?
    /// Why there is no value.
    public var error: NetworkError?

    /// Puts an outcome together.
    public init(value: Value? = nil, response: Response? = nil, error: NetworkError? = nil) {
        self.value = value
        self.response = response
        self.error = error
    }
}
