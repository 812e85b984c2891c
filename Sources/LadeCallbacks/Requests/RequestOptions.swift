/// How a request handle handles outcomes other than success.
public struct RequestOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes options from bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The completion of a cancelled request is called with `LoadingError.Kind.cancelled`; by default it is not called.
    public static let cancellationErrors = RequestOptions(rawValue: 1)
    /// An error status is not an error: there is neither value nor error, and the response contains the status.
    public static let httpErrorsDisabled = RequestOptions(rawValue: 2)
    /// A certificate that was probably refused because of a public WiFi's login page keeps the general error text.
    public static let friendlyWiFiMessagesDisabled = RequestOptions(rawValue: 4)
    /// The completion runs on any thread but the main one, instead of the main actor or the given executor.
    ///
    /// A completion that an initialiser without `on:` takes is bound to the main actor, and the compiler lets it touch
    /// the main actor's state. With this option it must not: it runs elsewhere. Where the option is known from the
    /// beginning, use an initialiser with `on:`, whose completions the compiler checks.
    public static let backgroundCompletion = RequestOptions(rawValue: 8)
}
