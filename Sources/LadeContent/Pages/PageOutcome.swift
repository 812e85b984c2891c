public import Lade

/// What one run of a page's request has brought: as ``RequestOutcome``, with the page and the one after it.
public struct PageOutcome<Value: Sendable>: Sendable {
    /// What was made of the answer.
    public var value: Value?
    /// The page that was asked for.
    public var page: Page
    /// The page after it; nil after the last, and after a failure.
    ///
    /// It belongs to this run alone (PG-D1).
    public var nextPage: Page?
    /// The answer.
    public var response: Response?
    /// Why there is no value.
    ///
    /// ``NetworkError/pagination(_:)``, when a page was loaded but the next one cannot be told, comes with a value.
    public var error: NetworkError?

    /// Puts an outcome together.
    public init(
        value: Value? = nil,
        page: Page,
        nextPage: Page? = nil,
        response: Response? = nil,
        error: NetworkError? = nil
    ) {
        self.value = value
        self.page = page
        self.nextPage = nextPage
        self.response = response
        self.error = error
    }
}
