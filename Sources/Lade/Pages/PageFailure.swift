public import LadeCore

/// Why the pages ended before the last one, and the page to go on from (pages PA-13).
///
/// ```swift
/// do throws(PageFailure) {
///     for try await page in loader.pages(of: shows) { … }
/// } catch {
///     // Later: the same list, from the page that failed.
///     for try await page in loader.pages(of: shows, from: error.page) { … }
/// }
/// ```
public struct PageFailure: Error, Sendable {
    /// Why.
    @nonexhaustive
    public enum Cause: Error, Sendable {
        /// The page could not be loaded; retries are over.
        case loading(LoadingError)
        /// The page was fetched before: the server leads in a circle (PA-04).
        case loop
        /// The page lies on another origin, and that is not allowed.
        case otherOrigin
        /// The page lies on another origin, and the request has a body, which would be sent there.
        case bodyToOtherOrigin
        /// The page would be fetched by http and the list is fetched by https.
        case insecure
        /// The answer names a next page that cannot be followed; the text is cut and escaped.
        case invalidTarget(String)
        /// The paginator threw an error.
        case paginator(any Error)
    }

    /// The page that could not be had.
    ///
    /// For ``Cause/invalidTarget(_:)`` and ``Cause/paginator(_:)``, which name no page, it is the one before.
    public let page: Page
    /// Why.
    public let cause: Cause

    /// Puts the two together.
    package init(page: Page, cause: Cause) {
        self.page = page
        self.cause = cause
    }

    /// Whether the caller gave up, which is an outcome and not a failure.
    public var isCancellation: Bool {
        if case .loading(let error) = cause { error.isCancellation } else { false }
    }
}

extension PageFailure: CustomStringConvertible {
    /// One plain sentence with the number of the page.
    public var description: String {
        switch cause {
        case .loading(let error): "Page \(page.number): \(error)"
        case .loop: "Page \(page.number) was fetched before, so the pages never end: \(page.request)."
        case .otherOrigin: "Page \(page.number) lies on another origin, which is not followed: \(page.request)."
        case .bodyToOtherOrigin:
            "After page \(page.number) comes one on another origin, which the body is not sent to: \(page.request)."
        case .insecure: "After page \(page.number) comes one that leaves https: \(page.request)."
        case .invalidTarget(let target):
            "After page \(page.number) comes “\(Redaction(page.request).unparsable(target))”, which cannot be followed."
        case .paginator(let error):
            "What comes after page \(page.number) could not be determined: \(error)".endedByFullStop
        }
    }
}
