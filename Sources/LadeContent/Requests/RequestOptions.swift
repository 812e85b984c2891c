/// How a request handle deals with what is not plain success.
public struct RequestOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes options from bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A cancelled request calls back, with `LoadingError.cancelled`; without it, it never does.
    public static let cancellationErrors = RequestOptions(rawValue: 1)
    /// A refused status is no error: there is neither value nor error, and the status is in the response.
    public static let httpErrorsDisabled = RequestOptions(rawValue: 2)
    /// The refused certificate of a public WiFi's login page keeps its own text.
    public static let friendlyWiFiMessagesDisabled = RequestOptions(rawValue: 4)
    /// The completion runs on any thread instead of where it was to run.
    ///
    /// A completion that is bound to the main actor still runs there.
    public static let backgroundCompletion = RequestOptions(rawValue: 8)
}
