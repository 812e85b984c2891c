/// How a request handle handles outcomes other than success.
public struct RequestOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes options from bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The completion of a cancelled request is called with `LoadingError.cancelled`; by default it is not called.
    public static let cancellationErrors = RequestOptions(rawValue: 1)
    /// An error status is not an error: there is neither value nor error, and the response contains the status.
    public static let httpErrorsDisabled = RequestOptions(rawValue: 2)
    /// A certificate that was probably refused because of a public WiFi's login page keeps the general error text.
    public static let friendlyWiFiMessagesDisabled = RequestOptions(rawValue: 4)
    /// The completion runs on any thread instead of the given executor.
    ///
    /// A completion that is bound to the main actor still runs there.
    public static let backgroundCompletion = RequestOptions(rawValue: 8)
}
