import LadeCore

/// What a waiting call is told.
enum RateWake: Sendable {
    /// Its slot is reserved: go.
    case granted
    /// Its task is to keep the alarm of its service, until it is told something else.
    case lead
    /// It cannot start in time; how long it would have waited in all.
    indirect case refused(WaitReason, Duration)
    /// The server wants a longer pause than anybody waits.
    indirect case paused(Duration)
    /// Its deadline is here.
    case expired
    /// Its task was cancelled.
    case cancelled
}
