/// The exit codes of the program.
enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case usage = 1
    case timedOut = 2
    case redirection = 3
    case clientError = 4
    case serverError = 5
    case redirects = 6
    case network = 7
    case trust = 8
    case authorisation = 9
    case rateLimited = 10
    case hostDown = 11
    case partial = 12
    case decoding = 13
    case localFile = 14
    case incomplete = 15
    case digest = 16
    case interrupted = 130

    /// The meaning of the code in a few words.
    var meaning: String {
        switch self {
        case .success: "success"
        case .usage: "wrong usage, or an internal error"
        case .timedOut: "the deadline or a time-out passed"
        case .redirection: "the final status is 3xx (--ignore-status makes it 0)"
        case .clientError: "the final status is 4xx (--ignore-status makes it 0)"
        case .serverError: "the final status is 5xx or above (--ignore-status makes it 0)"
        case .redirects: "too many redirects, or a redirect that must not be followed"
        case .network: "the network or the name service failed, or the response was no HTTP"
        case .trust: "TLS failed: a certificate, a key or a pin"
        case .authorisation: "authorisation was not possible"
        case .rateLimited: "rate limited, and not allowed to wait"
        case .hostDown: "every host is down"
        case .partial: "a part was fetched; the same command resumes"
        case .decoding: "the response could not be decoded, or is larger than allowed"
        case .localFile: "a local file could not be read or written"
        case .incomplete: "a list certainly has items that were not fetched"
        case .digest: "a downloaded file has another digest than it must have"
        case .interrupted: "interrupted (143 and 129 when terminated or hung up)"
        }
    }
}
