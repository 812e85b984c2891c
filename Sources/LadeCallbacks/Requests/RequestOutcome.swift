/// The outcome of one run of a ``RequestHandle``.
///
/// A success has a value and a response. A failure has an error, and the response if one arrived. Only the response is
/// set for a status that ``RequestOptions/httpErrorsDisabled`` accepts, and when a parser returns nil.
public typealias RequestOutcome<Value: Sendable> = Outcome<Value, NetworkError>
