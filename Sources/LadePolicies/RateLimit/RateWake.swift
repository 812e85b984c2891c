import LadeCore

/// The news that resumes a waiting call.
enum RateWake: Sendable {
    /// Its slot is reserved: the exchange may start, with this number.
    case granted(UInt64)
    /// Its task must run the timer of its service, until it receives other news.
    case lead
    /// It cannot start in time; the value is the total wait that would have been necessary.
    indirect case refused(Call.WaitReason, Duration)
    /// The server requests a longer delay than any call waits.
    indirect case paused(Duration)
    /// Its deadline has passed.
    case expired
    /// Its task was cancelled.
    case cancelled
}
