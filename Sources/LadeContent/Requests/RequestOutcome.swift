public import Lade

/// What one run of a ``RequestHandle`` has brought.
///
/// Success has a value and a response. A failure has an error, and the response when one arrived. A status that
/// ``RequestOptions/httpErrorsDisabled`` lets through, and a parser that makes nothing, leave the response alone.
public typealias RequestOutcome<Value: Sendable> = Outcome<Value, NetworkError>
